"""Operators between expressions."""

from dataclasses import dataclass

from demaq.xquery.tree.basic import Expr
from demaq.xquery.tree.types import SequenceType, SingleType


@dataclass(frozen=True, slots=True)
class Logical(Expr):
    """`or` or `and` between two or more operands."""

    op: str
    operands: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Comparison(Expr):
    """General (`=`), value (`eq`) or node (`is`, `<<`) comparison."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Concat(Expr):
    """`||`"""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Range(Expr):
    """`to`"""

    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Arithmetic(Expr):
    """`+ - * div idiv mod`"""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class SetOperation(Expr):
    """`union` (also written `|`), `intersect`, `except`"""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class InstanceOf(Expr):
    operand: Expr
    type: SequenceType


@dataclass(frozen=True, slots=True)
class TreatAs(Expr):
    operand: Expr
    type: SequenceType


@dataclass(frozen=True, slots=True)
class Castable(Expr):
    operand: Expr
    type: SingleType


@dataclass(frozen=True, slots=True)
class CastAs(Expr):
    operand: Expr
    type: SingleType


@dataclass(frozen=True, slots=True)
class Unary(Expr):
    """`-` or `+` before an operand"""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class SimpleMap(Expr):
    """`!`"""

    left: Expr
    right: Expr
