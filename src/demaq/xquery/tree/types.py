"""Sequence types and what they are made of."""

from dataclasses import dataclass

from demaq.xquery.tree.basic import Name, Node


@dataclass(frozen=True, slots=True)
class ItemType(Node):
    """What one item may be."""


@dataclass(frozen=True, slots=True)
class AtomicType(ItemType):
    name: Name


@dataclass(frozen=True, slots=True)
class KindTest(ItemType):
    """`item()`, `node()`, `element(name, type?)` and so on.

    `name` is the element, attribute or instruction; `inner` the test inside `document-node(…)`.
    """

    kind: str
    name: Name | None = None
    type: Name | None = None
    nillable: bool = False
    inner: "KindTest | None" = None


@dataclass(frozen=True, slots=True)
class SequenceType(Node):
    """An item type and how many: `""`, `?`, `*`, `+`. No item type means `empty-sequence()`."""

    item: ItemType | None
    occurrence: str = ""


@dataclass(frozen=True, slots=True)
class SingleType(Node):
    """The target of a cast."""

    name: Name
    optional: bool = False


@dataclass(frozen=True, slots=True)
class FunctionTest(ItemType):
    """`function(*)` has neither parameters nor a result."""

    annotations: tuple[Node, ...]
    params: tuple[SequenceType, ...] | None
    result: SequenceType | None


@dataclass(frozen=True, slots=True)
class MapTest(ItemType):
    """`map(*)` has neither key nor value."""

    key: AtomicType | None = None
    value: SequenceType | None = None


@dataclass(frozen=True, slots=True)
class ArrayTest(ItemType):
    """`array(*)` has no member."""

    member: SequenceType | None = None
