"""Conditionals, switches, try/catch, and the expressions that only wrap another."""

from dataclasses import dataclass

from demaq.xquery.tree.basic import Expr, Literal, Name, Node
from demaq.xquery.tree.types import SequenceType


@dataclass(frozen=True, slots=True)
class If(Expr):
    """`otherwise` is None only where an extension of the grammar lets `else` be absent."""

    condition: Expr
    then: Expr
    otherwise: Expr | None


@dataclass(frozen=True, slots=True)
class SwitchCase(Node):
    values: tuple[Expr, ...]
    result: Expr


@dataclass(frozen=True, slots=True)
class Switch(Expr):
    operand: Expr
    cases: tuple[SwitchCase, ...]
    default: Expr


@dataclass(frozen=True, slots=True)
class Case(Node):
    """One case of a typeswitch; the default has no types."""

    var: Name | None
    types: tuple[SequenceType, ...]
    result: Expr


@dataclass(frozen=True, slots=True)
class TypeSwitch(Expr):
    operand: Expr
    cases: tuple[Case, ...]
    default: Case


@dataclass(frozen=True, slots=True)
class Catch(Node):
    """What to do for the errors with these names, which may be wildcards."""

    errors: tuple[Name, ...]
    body: Expr | None


@dataclass(frozen=True, slots=True)
class Try(Expr):
    body: Expr | None
    catches: tuple[Catch, ...]


@dataclass(frozen=True, slots=True)
class Validate(Expr):
    """`mode` is "", `lax` or `strict`; or there is a type."""

    mode: str
    type: Name | None
    body: Expr


@dataclass(frozen=True, slots=True)
class Ordered(Expr):
    """`ordered {…}` or `unordered {…}`"""

    mode: str
    body: Expr | None


@dataclass(frozen=True, slots=True)
class Pragma(Node):
    name: Name
    content: str


@dataclass(frozen=True, slots=True)
class Extension(Expr):
    pragmas: tuple[Pragma, ...]
    body: Expr | None


@dataclass(frozen=True, slots=True)
class Annotation(Node):
    name: Name
    values: tuple[Literal, ...] = ()
