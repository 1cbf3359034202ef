"""FLWOR expressions and their clauses, and quantified expressions."""

from dataclasses import dataclass

from demaq.xquery.tree.basic import Expr, Name, Node
from demaq.xquery.tree.types import SequenceType


@dataclass(frozen=True, slots=True)
class For(Node):
    """One binding of a `for` clause; `for $a in A, $b in B` is two of these."""

    var: Name
    type: SequenceType | None
    allowing_empty: bool
    position: Name | None
    source: Expr


@dataclass(frozen=True, slots=True)
class Let(Node):
    """One binding of a `let` clause."""

    var: Name
    type: SequenceType | None
    value: Expr


@dataclass(frozen=True, slots=True)
class WindowCondition(Node):
    """`start …` or `end …` of a window, with the variables that it binds; `only` is for `only end`."""

    current: Name | None
    position: Name | None
    previous: Name | None
    next: Name | None
    when: Expr
    only: bool = False


@dataclass(frozen=True, slots=True)
class Window(Node):
    """`for tumbling window` or `for sliding window`"""

    kind: str
    var: Name
    type: SequenceType | None
    source: Expr
    start: WindowCondition
    end: WindowCondition | None


@dataclass(frozen=True, slots=True)
class Where(Node):
    condition: Expr


@dataclass(frozen=True, slots=True)
class GroupSpec(Node):
    var: Name
    type: SequenceType | None = None
    value: Expr | None = None
    collation: str | None = None


@dataclass(frozen=True, slots=True)
class GroupBy(Node):
    specs: tuple[GroupSpec, ...]


@dataclass(frozen=True, slots=True)
class OrderSpec(Node):
    """`direction` and `empty` are "" where they are not written."""

    key: Expr
    direction: str = ""
    empty: str = ""
    collation: str | None = None


@dataclass(frozen=True, slots=True)
class OrderBy(Node):
    stable: bool
    specs: tuple[OrderSpec, ...]


@dataclass(frozen=True, slots=True)
class Count(Node):
    var: Name


@dataclass(frozen=True, slots=True)
class Flwor(Expr):
    clauses: tuple[Node, ...]
    result: Expr


@dataclass(frozen=True, slots=True)
class QuantifiedBinding(Node):
    var: Name
    type: SequenceType | None
    source: Expr


@dataclass(frozen=True, slots=True)
class Quantified(Expr):
    """`some` or `every`"""

    quantifier: str
    bindings: tuple[QuantifiedBinding, ...]
    condition: Expr
