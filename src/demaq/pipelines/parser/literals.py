"""Constants: numbers, strings, dates, `true` and `false`."""

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from math import isfinite

from demaq.pipelines.errors import PipelineSyntaxError
from demaq.pipelines.parser.core import Parser
from demaq.pipelines.parser.tokens import Kind, Token
from demaq.pipelines.tree import Literal
from demaq.pipelines.values import Value, ValueType

_LARGEST = 2**63 - 1
_DIGITS = 38  # what a decimal of a database holds
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_BOOLEANS = {"true": True, "false": False}


def at_literal(p: Parser) -> bool:
    token = p.peek()
    negative = token.text == "-" and p.peek(1).kind is Kind.NUMBER
    return negative or token.kind in _READERS or (token.kind is Kind.NAME and token.text in _BOOLEANS)


def literal(p: Parser) -> Literal:
    """A constant; `at_literal` has said that there is one. A minus before a number belongs to it."""
    start = p.peek().start
    sign = "-" if p.accept("-") else ""
    token = p.take()
    value, type_ = _boolean(token) if token.kind is Kind.NAME else _READERS[token.kind](p, token, sign)
    return Literal(p.span(start), value, type_)


def _boolean(token: Token) -> tuple[Value, ValueType]:
    return _BOOLEANS[token.text], ValueType.BOOLEAN


def _number(p: Parser, token: Token, sign: str) -> tuple[Value, ValueType]:
    text = sign + token.text
    if "e" in text or "E" in text:
        if not isfinite(float(text)):
            p.fail("this number is too large", token, help="the largest number is about 1.8e308")
        return float(text), ValueType.DOUBLE
    if "." in text:
        if len(token.text) > _DIGITS + 1:
            p.fail(f"a decimal number has at most {_DIGITS} digits", token, help="write a double, such as `1.5e0`")
        return Decimal(text), ValueType.DECIMAL
    if len(token.text) > _DIGITS or int(token.text) > _LARGEST:
        p.fail("this whole number is too large", token, help=f"the largest is {_LARGEST}")
    return int(text), ValueType.INTEGER


def _date(p: Parser, token: Token, _sign: str) -> tuple[Value, ValueType]:
    try:
        if "T" in token.text:
            return datetime.fromisoformat(token.text), ValueType.DATETIME
        return date.fromisoformat(token.text), ValueType.DATE
    except ValueError as error:
        raise PipelineSyntaxError(
            f"there is no such date: {error}",
            p.span_of(token),
            help="a date is written `2024-05-01`, a time of it `2024-05-01T18:30:00Z`; for a difference, use spaces",
        ) from error


def _string(p: Parser, token: Token, _sign: str) -> tuple[Value, ValueType]:
    return unquoted(p, token), ValueType.TEXT


def unquoted(p: Parser, token: Token) -> str:
    """The text of a string, with its escapes resolved."""

    def resolved(match: re.Match[str]) -> str:
        if match[1] is not None:
            return chr(int(match[1], 16))
        if match[2] not in _ESCAPES:
            place = p.lexer.span(token.start + 1 + match.start(), token.start + 1 + match.end())
            known = " ".join(f"`\\{letter}`" for letter in _ESCAPES)
            raise PipelineSyntaxError(
                f"there is no escape `{match[0]}`", place, help=f"the escapes are {known} and `\\u00e4`"
            )
        return _ESCAPES[match[2]]

    text = _PAIR.sub(_joined, _ESCAPE.sub(resolved, token.text[1:-1]))
    if any("\ud800" <= character <= "\udfff" for character in text):
        p.fail("half a character stands in this string", token, help="`\\ud83d\\ude00` is one character: write both")
    return text


def _joined(pair: re.Match[str]) -> str:
    return pair.group().encode("utf-16", "surrogatepass").decode("utf-16")


_READERS: dict[Kind, Callable[[Parser, Token, str], tuple[Value, ValueType]]] = {
    Kind.NUMBER: _number,
    Kind.DATE: _date,
    Kind.STRING: _string,
}
