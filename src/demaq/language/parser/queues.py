"""`create queue Q kind … mode … …`"""

from collections.abc import Callable

from demaq.language.parser.names import file_name
from demaq.language.tree import (
    FileOption,
    InterfaceOption,
    NumberOption,
    Option,
    QueueOption,
    QueueStatement,
    Statement,
    UsingOption,
    WordOption,
)
from demaq.xquery.parser import Kind, Parser, Token


def queue(p: Parser, start: int) -> Statement:
    name = p.name("the name of the queue")
    options = []
    while p.peek().kind is Kind.NAME and p.peek().text in _OPTIONS:
        keyword = p.take()
        options.append(_OPTIONS[keyword.text](p, keyword))
    return QueueStatement(p.span(start), name, tuple(options))


def _word(p: Parser, keyword: Token) -> Option:
    word = p.name(f"a {keyword.text}")
    return WordOption(p.span(keyword.start), keyword.text, word)


def _priority(p: Parser, keyword: Token) -> Option:
    sign = p.accept("-", "+")
    token = p.peek()
    if token.kind is not Kind.NUMBER or not token.text.isascii() or not token.text.isdigit():
        p.fail_expected("a whole number")
    p.take()
    value = int(token.text[:20])  # what is longer is out of range all the same
    negative = sign is not None and sign.text == "-"
    return NumberOption(p.span(keyword.start), keyword.text, -value if negative else value)


def _schema(p: Parser, keyword: Token) -> Option:
    file = file_name(p, "the file of the schema")
    return FileOption(p.span(keyword.start), keyword.text, file)


def _errorqueue(p: Parser, keyword: Token) -> Option:
    name = p.name("the name of a queue")
    return QueueOption(p.span(keyword.start), keyword.text, name)


def _interface(p: Parser, keyword: Token) -> Option:
    file = file_name(p, "the WSDL file of the interface")
    slashes = "a file name with slashes or blanks stands in quotes" if p.peek().text in ("/", "//", ":") else None
    p.expect("port", help=slashes or "an interface names one of its ports: `interface supplier.wsdl port CapacityPort`")
    port = p.name("the name of a port")
    return InterfaceOption(p.span(keyword.start), keyword.text, file, port)


def _using(p: Parser, keyword: Token) -> Option:
    extension = p.name("`WS-ReliableMessaging` or `WS-Security`")
    p.expect("policy", help="an extension has a policy: `using WS-Security policy wssecpol.xml`")
    policy = file_name(p, "the file of the policy")
    return UsingOption(p.span(keyword.start), keyword.text, extension, policy)


_OPTIONS: dict[str, Callable[[Parser, Token], Option]] = {
    "kind": _word,
    "mode": _word,
    "priority": _priority,
    "schema": _schema,
    "errorqueue": _errorqueue,
    "interface": _interface,
    "using": _using,
}

OPTION_NAMES = tuple(_OPTIONS)
