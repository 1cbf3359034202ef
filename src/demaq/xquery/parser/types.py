"""Sequence types, item types and kind tests."""

from demaq.xquery.parser.annotations import annotations
from demaq.xquery.parser.core import Parser
from demaq.xquery.parser.tokens import Kind
from demaq.xquery.tree import (
    Annotation,
    ArrayTest,
    AtomicType,
    FunctionTest,
    ItemType,
    KindTest,
    MapTest,
    Name,
    SequenceType,
    SingleType,
)

NODE_TESTS = frozenset(
    "node text comment namespace-node element attribute schema-element schema-attribute"
    " document-node processing-instruction".split()
)
_KIND_TESTS = NODE_TESTS | {"item"}


def sequence_type(p: Parser) -> SequenceType:
    start = p.peek().start
    if p.at_words("empty-sequence", "("):
        p.take()
        p.take()
        p.expect(")")
        return SequenceType(p.span(start), None)
    item = item_type(p)
    occurrence = p.accept("?", "*", "+")
    return SequenceType(p.span(start), item, occurrence.text if occurrence else "")


def single_type(p: Parser) -> SingleType:
    start = p.peek().start
    name = p.name("the name of a type")
    optional = p.accept("?") is not None
    return SingleType(p.span(start), name, optional)


def item_type(p: Parser) -> ItemType:
    token = p.peek()
    p.deeper(token)
    try:
        return _item_type(p)
    finally:
        p.shallower()


def _item_type(p: Parser) -> ItemType:
    token = p.peek()
    if p.accept("("):
        inner = item_type(p)
        p.close(")", token)
        return inner
    if token.text == "%" and token.kind is Kind.SYMBOL:
        return _function_test(p, annotations(p))
    if p.peek(1).text == "(" and token.kind is Kind.NAME:
        if token.text == "function":
            return _function_test(p, ())
        if token.text == "map":
            return _map_test(p)
        if token.text == "array":
            return _array_test(p)
        if token.text in _KIND_TESTS:
            return kind_test(p)
    name = p.name("a type")
    if p.at("("):
        p.fail(f"`{name}` is no kind of item", token, help="kinds are `item()`, `element()`, `text()` and so on")
    return AtomicType(name.span, name)


def kind_test(p: Parser) -> KindTest:
    start = p.peek().start
    kind = p.take().text
    paren = p.expect("(")
    test = _KIND_CONTENT.get(kind, _nothing)(p, kind)
    p.close(")", paren)
    return KindTest(p.span(start), kind, *test)


_Content = tuple[Name | None, Name | None, bool, KindTest | None]


def _nothing(p: Parser, kind: str) -> _Content:  # noqa: ARG001 (one signature for all kinds)
    return None, None, False, None


def _element(p: Parser, kind: str) -> _Content:
    if p.at(")"):
        return None, None, False, None
    star = p.accept("*")
    name = Name(p.span_of(star), "*") if star else p.name("a name or `*`")
    type_name = p.name("the name of a type") if p.accept(",") else None
    nillable = type_name is not None and kind == "element" and p.accept("?") is not None
    return name, type_name, nillable, None


def _schema_name(p: Parser, kind: str) -> _Content:  # noqa: ARG001
    return p.name("the name of a declaration in a schema"), None, False, None


def _document(p: Parser, kind: str) -> _Content:  # noqa: ARG001
    if p.at("element", "schema-element") and p.peek(1).text == "(":
        return None, None, False, kind_test(p)
    return None, None, False, None


def _instruction(p: Parser, kind: str) -> _Content:  # noqa: ARG001
    token = p.peek()
    if token.kind is Kind.STRING:
        return Name(p.span_of(token), " ".join(p.string().split())), None, False, None
    if token.kind is Kind.NAME:
        return Name(p.span_of(token), p.ncname()), None, False, None
    return None, None, False, None


_KIND_CONTENT = {
    "element": _element,
    "attribute": _element,
    "schema-element": _schema_name,
    "schema-attribute": _schema_name,
    "document-node": _document,
    "processing-instruction": _instruction,
}


def _function_test(p: Parser, notes: tuple[Annotation, ...]) -> FunctionTest:
    start = notes[0].span.start if notes else p.peek().start
    p.expect("function")
    p.expect("(")
    if p.accept("*"):
        p.expect(")")
        return FunctionTest(p.span(start), notes, None, None)
    params: list[SequenceType] = []
    if not p.at(")"):
        params.append(sequence_type(p))
        while p.accept(","):
            params.append(sequence_type(p))
    p.expect(")")
    p.expect("as", help="a typed function test names its result: `function(xs:string) as xs:integer`")
    result = sequence_type(p)
    return FunctionTest(p.span(start), notes, tuple(params), result)


def _map_test(p: Parser) -> MapTest:
    start = p.take().start
    p.expect("(")
    if p.accept("*"):
        p.expect(")")
        return MapTest(p.span(start))
    name = p.name("an atomic type: the keys of a map are values")
    key = AtomicType(name.span, name)
    p.expect(",")
    value = sequence_type(p)
    p.expect(")")
    return MapTest(p.span(start), key, value)


def _array_test(p: Parser) -> ArrayTest:
    start = p.take().start
    p.expect("(")
    member = None if p.accept("*") else sequence_type(p)
    p.expect(")")
    return ArrayTest(p.span(start), member)


def type_declaration(p: Parser) -> SequenceType | None:
    """`as SequenceType`, if it is there."""
    return p.grammar.sequence_type(p) if p.accept("as") else None
