"""Functions, their calls, maps, arrays and lookup."""

from dataclasses import dataclass

from demaq.xquery.tree.basic import Expr, Name, Node
from demaq.xquery.tree.control import Annotation
from demaq.xquery.tree.types import SequenceType


@dataclass(frozen=True, slots=True)
class Placeholder(Expr):
    """The `?` of a partial application."""


@dataclass(frozen=True, slots=True)
class FunctionCall(Expr):
    name: Name
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class DynamicCall(Expr):
    function: Expr
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class NamedFunctionRef(Expr):
    name: Name
    arity: int


@dataclass(frozen=True, slots=True)
class Param(Node):
    name: Name
    type: SequenceType | None = None


@dataclass(frozen=True, slots=True)
class InlineFunction(Expr):
    annotations: tuple[Annotation, ...]
    params: tuple[Param, ...]
    result: SequenceType | None
    body: Expr | None


@dataclass(frozen=True, slots=True)
class Arrow(Expr):
    """`operand => function(args)`; the function is a name, a variable or any parenthesised expression."""

    operand: Expr
    function: Name | Expr
    args: tuple[Expr, ...]


LookupKey = Name | Expr | None
"""What follows the `?`: a name, a number, an expression in parentheses, or None for `*`."""


@dataclass(frozen=True, slots=True)
class Lookup(Expr):
    base: Expr
    key: LookupKey


@dataclass(frozen=True, slots=True)
class UnaryLookup(Expr):
    key: LookupKey


@dataclass(frozen=True, slots=True)
class MapEntry(Node):
    key: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class MapConstructor(Expr):
    entries: tuple[MapEntry, ...]


@dataclass(frozen=True, slots=True)
class ArrayConstructor(Expr):
    """`[a, b]` has one member an item; with `curly`, `array {…}` has one member for each item of its body."""

    curly: bool
    members: tuple[Expr, ...]
