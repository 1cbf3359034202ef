"""Sequence types, item types and kind tests."""

from demaq.xquery import tree as t
from property.building.core import AT, Build


def sequence_type(b: Build) -> t.SequenceType:
    if b.pick(range(8)) == 7:
        return t.SequenceType(AT, None)
    return t.SequenceType(AT, item_type(b), b.pick(("", "?", "*", "+")))


def single_type(b: Build) -> t.SingleType:
    return t.SingleType(AT, b.type_name(), b.flag())


def item_type(b: Build) -> t.ItemType:
    if b.depth <= 0:
        return atomic_type(b)
    b.depth -= 1
    built = b.pick((atomic_type, item, kind_test, function_test, map_test, array_test))(b)
    b.depth += 1
    return built


def atomic_type(b: Build) -> t.AtomicType:
    return t.AtomicType(AT, b.type_name())


def item(b: Build) -> t.KindTest:  # noqa: ARG001
    return t.KindTest(AT, "item")


def function_test(b: Build) -> t.FunctionTest:
    notes = b.many(annotation, most=1)
    if b.flag():
        return t.FunctionTest(AT, notes, None, None)
    return t.FunctionTest(AT, notes, b.many(sequence_type, most=2), sequence_type(b))


def map_test(b: Build) -> t.MapTest:
    return t.MapTest(AT) if b.flag() else t.MapTest(AT, atomic_type(b), sequence_type(b))


def array_test(b: Build) -> t.ArrayTest:
    return t.ArrayTest(AT, b.maybe(sequence_type))


def kind_test(b: Build) -> t.KindTest:
    """What a step may test; `item()` is a type only."""
    return b.pick((simple_kind, element_or_attribute, schema_kind, document, instruction))(b)


def simple_kind(b: Build) -> t.KindTest:
    return t.KindTest(AT, b.pick(("node", "text", "comment", "namespace-node")))


def element_or_attribute(b: Build) -> t.KindTest:
    kind = b.pick(("element", "attribute"))
    if b.flag():
        return t.KindTest(AT, kind)
    name = t.Name(AT, "*") if b.flag() else b.name()
    type_name = b.type_name() if b.flag() else None
    return t.KindTest(AT, kind, name, type_name, kind == "element" and type_name is not None and b.flag())


def schema_kind(b: Build) -> t.KindTest:
    if t.Validate in b.words.without:  # where there are no schemas
        return simple_kind(b)
    return t.KindTest(AT, b.pick(("schema-element", "schema-attribute")), b.name())


def document(b: Build) -> t.KindTest:
    inner = element_or_attribute(b)
    if inner.kind == "attribute":
        return t.KindTest(AT, "document-node")
    return t.KindTest(AT, "document-node", None, None, False, inner)


def instruction(b: Build) -> t.KindTest:
    name = b.pick((None, b.local(), "no name", ""))
    return t.KindTest(AT, "processing-instruction", None if name is None else t.Name(AT, name))


def annotation(b: Build) -> t.Annotation:
    return t.Annotation(AT, b.name(), b.many(literal, most=2))


def literal(b: Build) -> t.Literal:
    return t.Number(AT, b.pick(b.words.numbers)) if b.flag() else t.String(AT, b.string())
