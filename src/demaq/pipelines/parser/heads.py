"""What stands in parentheses after the name of an annotation: a URI, words, and `name=value`."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from demaq.diagnostics import Span
from demaq.pipelines import codes
from demaq.pipelines.errors import PipelineSyntaxError
from demaq.pipelines.parser.core import Parser
from demaq.pipelines.parser.literals import at_literal, literal, unquoted
from demaq.pipelines.secrets import places_in_option, places_of_secrets
from demaq.pipelines.tree import Literal, Name, Option, Uri

# Everything but what ends it: so that `%20`, `?a=b&c=d`, `$config` and `*` need no quotes.
_BARE_URI = re.compile(r'[^\s,(){}"]+')
_BRACED = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class Head:
    uri: Uri | None
    options: tuple[Option, ...]


def head(p: Parser, name: Name, *, with_uri: bool) -> Head:
    if p.at("{") and _is_head_in_braces(p):
        return _braced(p, name, with_uri=with_uri)
    usage = f"`@{name}(URI, format) {{ … }}`" if with_uri else f"`@{name}(…) {{ … }}`"
    opened = p.expect("(", help=f"an annotation is written {usage}")
    return _inside(p, opened.end, ")", with_uri=with_uri)


def _is_head_in_braces(p: Parser) -> bool:
    """Only a head is followed by a second pair of braces."""
    text, start = p.source.text, p.peek().start
    first = _BRACED.match(text, start)
    return first is not None and text.startswith("{", p.lexer.skip_ignorable(first.end()))


def _braced(p: Parser, name: Name, *, with_uri: bool) -> Head:
    opened = p.take()
    found = _inside(p, opened.end, "}", with_uri=with_uri)
    p.remark(
        codes.BRACED_HEAD,
        p.span(opened.start),
        f"the head of `@{name}` stands in braces",
        help=f"braces are for the body: write `@{name}({p.source.shown(opened.end, p.last_end - 1).strip()})`",
    )
    return found


def _inside(p: Parser, start: int, closing: str, *, with_uri: bool) -> Head:
    found = uri(p, start) if with_uri else None
    options = []
    if found is None and not p.at(closing):
        options.append(_option(p))
    while p.accept(","):
        options.append(_option(p))
    if not p.at(closing):
        p.fail_expected(f"`,` or `{closing}`", help=_blank(p, found))
    p.take()
    return Head(found, tuple(options))


def _blank(p: Parser, found: Uri | None) -> str | None:
    if p.at("{"):
        return "close the head with `)` before the body"
    after_uri = found is not None and p.last_end == found.span.end
    return "a URI with blanks, commas or parentheses stands in quotes" if after_uri else None


def uri(p: Parser, start: int) -> Uri:
    """A URI, in quotes or bare."""
    place = p.lexer.skip_ignorable(start)
    p.seek(place)
    if p.source.text.startswith('"', place):
        token = p.take()
        found = Uri(p.span_of(token), unquoted(p, token))
        if not found.text.strip():
            p.fail("a URI is not empty", token)
        _hide(places_of_secrets(found))
        return found
    match = _BARE_URI.match(p.source.text, place)
    if match is None:
        span = p.lexer.span(place, min(place + 1, len(p.source.text)))
        raise PipelineSyntaxError("expected a URI", span, help="it says where facts are, such as `file:events.json`")
    p.seek(match.end())
    found = Uri(p.lexer.span(place, match.end()), match.group())
    _hide(places_of_secrets(found))
    return found


def _hide(secrets: Iterable[Span]) -> None:
    """From now on no finding shows them."""
    for span in secrets:
        span.source.hide(span.start, span.end)


def _option(p: Parser) -> Option:
    start = p.peek().start
    name = p.name("a word, or `name=value`")
    value = _value(p) if p.accept("=") else None
    found = Option(p.span(start), name, value)
    _hide(places_in_option(found))
    return found


def _value(p: Parser) -> Literal | Name:
    if at_literal(p):
        return literal(p)
    return p.name("a value")
