"""Names that several constructs share: wildcards, and the names of functions."""

from demaq.xquery.parser.core import Parser, braced_uri
from demaq.xquery.parser.tokens import NCNAME, Kind
from demaq.xquery.tree import Name

RESERVED = frozenset(
    "array attribute comment document-node element empty-sequence function if item map namespace-node node"
    " processing-instruction schema-attribute schema-element switch text typeswitch".split()
)


def wildcard(p: Parser) -> Name | None:
    """`*`, `*:local`, `prefix:*` or `Q{uri}*`, without white space inside."""
    token = p.peek()
    text = p.source.text
    if token.kind is Kind.SYMBOL and token.text == "*":
        p.take()
        local = NCNAME.match(text, token.end + 1, p.lexer.limit) if text.startswith(":", token.end) else None
        if local is None:
            return Name(p.span_of(token), "*")
        p.seek(local.end())
        return Name(p.span(token.start), local.group(), "*")
    if token.kind is Kind.NAME and ":" not in token.text and text.startswith(":*", token.end):
        p.seek(token.end + 2)
        return Name(p.span(token.start), "*", token.text)
    if token.kind is Kind.BRACED and text.startswith("*", token.end):
        uri = braced_uri(p, token)
        p.seek(token.end + 1)
        return Name(p.span(token.start), "*", None, uri)
    return None


def function_name(p: Parser, what: str) -> Name:
    """A name that is not one of the words that begin something else before a parenthesis."""
    token = p.peek()
    name = p.name(what)
    if token.text in RESERVED:
        p.fail(f"`{token.text}` cannot be the name of a function", token)
    return name
