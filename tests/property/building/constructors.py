"""Direct, computed and string constructors. What is raw text is put together from pieces that may stand there."""

from collections.abc import Callable

from demaq.xquery import tree as t
from property.building.core import AT, Build, Builder, nothing

_ANYWHERE = ("text", " ", "\n  ", "&lt;", "&amp;", "&#10;", "&#x1F600;", "]]>", "(: c :)", "'", ">", "é")
_IN_ELEMENT = (*_ANYWHERE, '"', "{{", "}}")
_IN_ATTRIBUTE = (*_ANYWHERE, "&quot;", "&#x7B;", "&#x7D;")
_COMMENTS = ("", "-", "a", " {no} ", "<b>", "a-b", "\n")
_INSTRUCTIONS = ("", "a='b'", "?", "{no}", "two  words ", "\u00a0x")
_CDATA = ("", "]", "]]", "<a> & {b}", "\n")
_STRING_TEXT = ("a", "`", "]", "]`", "``", "{", "}", "}}", "\n", "`` [", "`[")


def raw(b: Build, pieces: tuple[str, ...]) -> t.DirectText:
    return t.DirectText(AT, "".join(b.many(lambda b: b.pick(pieces), 1)))


def mixed(b: Build, text: Callable[[Build], t.Node], other: Callable[[Build], t.Node]) -> tuple[t.Node, ...]:
    """Text and other parts, no text next to text."""
    parts: list[t.Node] = []
    for _ in range(b.pick(range(4))):
        text_last = bool(parts) and isinstance(parts[-1], t.DirectText | t.StringText)
        parts.append(other(b) if text_last or b.flag() else text(b))
    return tuple(parts)


def direct_element(b: Build) -> t.DirectElement:
    names = {str(name): name for name in b.many(Build.qname)}
    attributes = tuple(direct_attribute(b, name) for name in names.values())
    content = mixed(b, lambda b: raw(b, _IN_ELEMENT), content_part)
    return t.DirectElement(AT, b.qname(), attributes, content)


def direct_attribute(b: Build, name: t.Name) -> t.DirectAttribute:
    return t.DirectAttribute(AT, name, mixed(b, lambda b: raw(b, _IN_ATTRIBUTE), enclosed))


def enclosed(b: Build) -> t.Enclosed:
    body = b.maybe(Build.expr)
    return t.Enclosed(AT, None if body == nothing(b) else body)


def content_part(b: Build) -> t.Node:
    forms = (enclosed, cdata, comment, instruction, direct_element)
    if b.depth <= 0 or b.budget <= 0:
        return b.pick(forms[:-1])(b)
    b.depth -= 1
    b.budget -= 1
    built = b.pick(forms)(b)
    b.depth += 1
    return built


def cdata(b: Build) -> t.CData:
    return t.CData(AT, b.pick(_CDATA))


def comment(b: Build) -> t.DirectComment:
    text = "a".join(b.many(lambda b: b.pick(_COMMENTS), 1, 2))
    return t.DirectComment(AT, f"{text} " if text.endswith("-") else text)


def instruction(b: Build) -> t.DirectPI:
    return t.DirectPI(AT, b.local(), b.pick(_INSTRUCTIONS))


def computed(b: Build) -> t.Computed:
    kind = b.pick(("element", "attribute", "document", "text", "comment", "processing-instruction", "namespace"))
    if kind in ("document", "text", "comment"):
        return t.Computed(AT, kind, None, b.maybe(Build.expr))
    if b.flag():
        return t.Computed(AT, kind, b.expr(), b.maybe(Build.expr))
    name = b.name() if kind in ("element", "attribute") else t.Name(AT, b.local())
    return t.Computed(AT, kind, name, b.maybe(Build.expr))


def string_constructor(b: Build) -> t.StringConstructor:
    return t.StringConstructor(AT, mixed(b, string_text, interpolation))


def string_text(b: Build) -> t.StringText:
    text = "".join(b.many(lambda b: b.pick(_STRING_TEXT), 1))
    while "`{" in text or "]``" in text or text.endswith("]`"):  # these would begin and end something
        text = text.replace("`{", "{").replace("]`", "`")
    return t.StringText(AT, text)


def interpolation(b: Build) -> t.Interpolation:
    return t.Interpolation(AT, b.maybe(Build.expr))


TABLE: dict[type[t.Expr], Builder] = {
    t.DirectElement: direct_element,
    t.DirectComment: comment,
    t.DirectPI: instruction,
    t.Computed: computed,
    t.StringConstructor: string_constructor,
}
