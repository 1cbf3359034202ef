"""Direct constructors, read as raw characters, and computed constructors."""

from demaq.xquery.errors import XQuerySyntaxError
from demaq.xquery.parser.core import Parser
from demaq.xquery.parser.references import BadReference, resolve
from demaq.xquery.parser.tokens import NCNAME, SPACE, Kind, Token
from demaq.xquery.tree import (
    CData,
    Computed,
    DirectAttribute,
    DirectComment,
    DirectElement,
    DirectPI,
    DirectText,
    Enclosed,
    Expr,
    Interpolation,
    Name,
    Node,
    Sequence,
    StringConstructor,
    StringText,
)


def direct(p: Parser) -> Expr | None:
    """`<name …>`, `<!-- … -->` or `<? … ?>`; None when the `<` is only a comparison."""
    token = p.peek()
    text = p.source.text
    if text.startswith("<!--", token.start):
        return _comment(p, token.start)
    if text.startswith("<?", token.start):
        return _instruction(p, token.start)
    return _element(p, token.start) if NCNAME.match(text, token.start + 1) else None


# Raw reading: each function takes the offset where it starts and leaves the parser after what it read.


def _element(p: Parser, start: int) -> DirectElement:
    p.deeper(Token(Kind.SYMBOL, "<", start, start + 1))
    try:
        name = _raw_name(p, start + 1)
        attributes = _attributes(p, name)
        if p.source.text.startswith("/>", p.last_end):
            p.seek(p.last_end + 2)
            content: tuple[Node, ...] = ()
        else:
            p.seek(p.last_end + 1)
            content = _content(p, name)
    finally:
        p.shallower()
    return DirectElement(p.span(start), name, attributes, content)


def _raw_name(p: Parser, start: int, what: str = "a name") -> Name:
    text = p.source.text
    first = NCNAME.match(text, start, p.lexer.limit)
    if first is None:
        raise _raw_error(p, start, f"expected {what}")
    if text.startswith(":", first.end()):
        second = NCNAME.match(text, first.end() + 1, p.lexer.limit)
        if second is not None:
            p.seek(second.end())
            return Name(p.span(start), second.group(), first.group())
    p.seek(first.end())
    return Name(p.span(start), first.group())


def _raw_error(p: Parser, start: int, message: str, *, help: str | None = None) -> XQuerySyntaxError:
    found = "the end of the text" if start >= p.lexer.limit else f"`{p.source.text[start]}`"
    return XQuerySyntaxError(f"{message}, found {found}", p.lexer.span(start, min(start + 1, p.lexer.limit)), help=help)


def _skip_space(p: Parser) -> bool:
    space = SPACE.match(p.source.text, p.last_end, p.lexer.limit)
    if space:
        p.seek(space.end())
    return space is not None


def _attributes(p: Parser, element: Name) -> tuple[DirectAttribute, ...]:
    text = p.source.text
    found: list[DirectAttribute] = []
    while True:
        spaced = _skip_space(p)
        if text.startswith((">", "/>"), p.last_end) and p.last_end < p.lexer.limit:
            break
        if not spaced:
            raise _raw_error(p, p.last_end, f"expected `>` or an attribute of `{element}`")
        found.append(_attribute(p, found))
    return tuple(found)


def _attribute(p: Parser, earlier: list[DirectAttribute]) -> DirectAttribute:
    start = p.last_end
    name = _raw_name(p, start, "an attribute, `>` or `/>`")
    if any(name == other.name for other in earlier):
        raise XQuerySyntaxError(f"the attribute `{name}` is there twice", name.span, code="XQST0040")
    _skip_space(p)
    if not p.source.text.startswith("=", p.last_end):
        raise _raw_error(p, p.last_end, f"expected `=` after the attribute `{name}`")
    p.seek(p.last_end + 1)
    _skip_space(p)
    quote = p.source.text[p.last_end : p.last_end + 1]
    if quote not in ("'", '"') or p.last_end >= p.lexer.limit:
        raise _raw_error(p, p.last_end, f"expected the value of `{name}` in quotes")
    opened = p.last_end
    p.seek(opened + 1)
    value = _attribute_value(p, quote, opened)
    return DirectAttribute(p.span(start), name, value)


def _attribute_value(p: Parser, quote: str, opened: int) -> tuple[Node, ...]:
    text = p.source.text
    parts: list[Node] = []
    run = p.last_end  # where the characters not yet put into a part begin
    position = run
    while True:
        if position >= p.lexer.limit:
            raise XQuerySyntaxError("this attribute value is not closed", p.lexer.span(opened, opened + 1))
        character = text[position]
        if text.startswith((quote * 2, "{{", "}}"), position):
            position += 2
        elif character == quote:
            _add_attribute_text(p, parts, run, position, quote)
            p.seek(position + 1)
            return tuple(parts)
        elif character == "{":
            _add_attribute_text(p, parts, run, position, quote)
            parts.append(_enclosed(p, position))
            run = position = p.last_end
        elif character in "<}":
            raise _raw_unescaped(p, position, opened)
        else:
            position += 1


_IN_ATTRIBUTES = {'"': "&quot;", "{{": "&#x7B;", "}}": "&#x7D;"}


def _add_attribute_text(p: Parser, parts: list[Node], start: int, end: int, quote: str) -> None:
    if end > start:
        raw = _text(p, start, end).replace(quote * 2, quote)
        for written, reference in _IN_ATTRIBUTES.items():
            raw = raw.replace(written, reference)
        parts.append(DirectText(p.lexer.span(start, end), raw))


def _raw_unescaped(p: Parser, position: int, opened: int | None = None) -> XQuerySyntaxError:
    """A character that is no text; in an attribute, `opened` is where the value began."""
    character = p.source.text[position]
    written = {"<": "&lt;", "}": "}}"}[character]
    help_ = f"as text it is written `{written}`"
    if opened is not None and character == "<":
        line, column = p.source.line_column(opened)
        quote = p.source.text[opened]
        help_ = f"is the `{quote}` missing that closes the value of line {line}, column {column}? {help_.capitalize()}"
    return XQuerySyntaxError(f"a `{character}` cannot stand here", p.lexer.span(position, position + 1), help=help_)


def _text(p: Parser, start: int, end: int) -> str:
    """Text as written, once it is known to be text."""
    raw = p.source.text[start:end]
    p.lexer.check_characters(start, end)
    try:
        resolve(raw)
    except BadReference as error:
        at = start + error.position
        raise error.at(p.lexer.span(at, at + 1)) from error
    return raw


def _enclosed(p: Parser, position: int) -> Enclosed:
    p.seek(position)
    body = p.enclosed(in_element=True)
    is_empty = isinstance(body, Sequence) and not body.items
    return Enclosed(p.span(position), None if is_empty else body)


def _content(p: Parser, name: Name) -> tuple[Node, ...]:
    text = p.source.text
    parts: list[Node] = []
    run = position = p.last_end
    while True:
        if position >= p.lexer.limit:
            raise XQuerySyntaxError(f"the element `{name}` is not closed", name.span, help=f"close it with `</{name}>`")
        character = text[position]
        if character not in "<{}":
            position += 1
            continue
        if text.startswith(("{{", "}}"), position):
            position += 2
            continue
        if run < position:
            parts.append(DirectText(p.lexer.span(run, position), _text(p, run, position)))
        if text.startswith("</", position):
            _end_tag(p, position, name)
            return tuple(parts)
        if character == "}":
            raise _raw_unescaped(p, position)
        parts.append(_child(p, position))
        run = position = p.last_end


def _child(p: Parser, position: int) -> Node:
    text = p.source.text
    if text[position] == "{":
        return _enclosed(p, position)
    if text.startswith("<![CDATA[", position):
        return _cdata(p, position)
    if text.startswith("<!--", position):
        return _comment(p, position)
    if text.startswith("<?", position):
        return _instruction(p, position)
    if NCNAME.match(text, position + 1):
        return _element(p, position)
    raise _raw_unescaped(p, position)


def _end_tag(p: Parser, position: int, opened: Name) -> None:
    name = _raw_name(p, position + 2, f"`</{opened}>`")
    if name != opened:
        line, column = opened.span.source.line_column(opened.span.start)
        raise XQuerySyntaxError(
            f"the element `{opened}` is closed by `</{name}>`",
            name.span,
            code="XQST0118",
            help=f"`{opened}` was opened at line {line}, column {column}; close it with `</{opened}>`",
        )
    _skip_space(p)
    if not p.source.text.startswith(">", p.last_end) or p.last_end >= p.lexer.limit:
        raise _raw_error(p, p.last_end, f"expected `>` after `</{name}`")
    p.seek(p.last_end + 1)


def _until(p: Parser, start: int, opening: str, closing: str, what: str) -> str:
    begin = start + len(opening)
    end = p.source.text.find(closing, begin, p.lexer.limit)
    if end < 0:
        raise XQuerySyntaxError(
            f"this {what} is not closed", p.lexer.span(start, begin), help=f"close it with `{closing}`"
        )
    p.lexer.check_characters(begin, end)
    p.seek(end + len(closing))
    return p.source.text[begin:end]


def _cdata(p: Parser, start: int) -> CData:
    content = _until(p, start, "<![CDATA[", "]]>", "CDATA section")
    return CData(p.span(start), content)


def _comment(p: Parser, start: int) -> DirectComment:
    content = _until(p, start, "<!--", "-->", "XML comment")
    if "--" in content or content.endswith("-"):
        raise XQuerySyntaxError("`--` cannot stand inside an XML comment", p.span(start))
    return DirectComment(p.span(start), content)


def _instruction(p: Parser, start: int) -> DirectPI:
    content = _until(p, start, "<?", "?>", "processing instruction")
    target = NCNAME.match(content)
    if target is None or target.group().lower() == "xml":
        raise XQuerySyntaxError("a processing instruction begins with its name, which is not `xml`", p.span(start))
    data = content[target.end() :]
    if data and not SPACE.match(data):
        raise XQuerySyntaxError("a space is missing after the name of the processing instruction", p.span(start))
    return DirectPI(p.span(start), target.group(), data.lstrip(" \t\n"))


# Computed constructors


def computed(p: Parser) -> Expr | None:
    """`element name {…}`, `element {name} {…}`, `text {…}` and so on."""
    token = p.peek()
    following = p.peek(1)
    named = token.text in ("element", "attribute", "processing-instruction", "namespace")
    if following.text == "{" and following.kind is Kind.SYMBOL:
        return _computed_by_expression(p) if named else _computed_unnamed(p)
    if not named or following.kind not in (Kind.NAME, Kind.BRACED):
        return None
    if p.peek(2 if following.kind is Kind.NAME else 3).text != "{":
        return None
    p.take()
    qualified = token.text in ("element", "attribute")
    name = p.name() if qualified else Name(p.span_of(p.peek()), p.ncname())
    content = p.enclosed()
    return Computed(p.span(token.start), token.text, name, content)


def _computed_by_expression(p: Parser) -> Expr:
    kind = p.take()
    brace = p.take()
    name = p.expr()
    p.close("}", brace)
    content = p.enclosed()
    return Computed(p.span(kind.start), kind.text, name, content)


def _computed_unnamed(p: Parser) -> Expr:
    kind = p.take()
    content = p.enclosed()
    return Computed(p.span(kind.start), kind.text, None, content)


# String constructors


def string_constructor(p: Parser) -> Expr:
    """The text between double backquotes, with expressions between backquoted braces."""
    opened = p.take()
    text = p.source.text
    parts: list[Node] = []
    run = opened.end
    while True:
        closing = text.find("]``", run, p.lexer.limit)
        inner = text.find("`{", run, p.lexer.limit)
        if closing < 0:
            p.fail("this string constructor is not closed", opened, help="close it with ]``")
        end = closing if inner < 0 or closing < inner else inner
        if end > run:
            p.lexer.check_characters(run, end)
            parts.append(StringText(p.lexer.span(run, end), text[run:end]))
        if end == closing:
            p.seek(closing + 3)
            return StringConstructor(p.span(opened.start), tuple(parts))
        parts.append(_interpolation(p, inner))
        run = p.last_end


def _interpolation(p: Parser, start: int) -> Interpolation:
    p.seek(start + 2)
    body = None if p.at("}") else p.expr()
    p.expect("}")
    if not p.source.text.startswith("`", p.last_end):
        raise _raw_error(p, p.last_end, "expected a backquote after `}`")
    p.seek(p.last_end + 1)
    return Interpolation(p.span(start), body)
