"""Paths, steps, node tests and predicates."""

from dataclasses import dataclass

from demaq.xquery.tree.basic import Expr, Name, Node
from demaq.xquery.tree.types import KindTest


@dataclass(frozen=True, slots=True)
class NameTest(Node):
    """A name, or a wildcard: `*`, `p:*`, `*:local`, `Q{uri}*`."""

    name: Name


NodeTest = NameTest | KindTest


@dataclass(frozen=True, slots=True)
class AxisStep(Expr):
    """`axis::test[predicate]*`, however it was abbreviated."""

    axis: str
    test: NodeTest
    predicates: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Path(Expr):
    """Steps joined by `separators`, one fewer than the steps, after a `leading` ``""``, ``/`` or ``//``."""

    leading: str
    steps: tuple[Expr, ...]
    separators: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Filter(Expr):
    """`base[predicate]` where the base is no axis step."""

    base: Expr
    predicate: Expr
