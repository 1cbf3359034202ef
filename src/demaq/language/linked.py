"""The application with every name resolved: what the checks and the compiler read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from demaq.diagnostics import Span
from demaq.language.symbols import Symbols
from demaq.language.tree import ModuleSyntax, PropertyStatement, RuleStatement, ValueClause
from demaq.model import Property, Queue, Slicing
from demaq.xquery.analysis.context import StaticContext
from demaq.xquery.tree import Declaration, Expr, FunctionDecl

FunctionKey = tuple[str, int]
"""A function's expanded name and its number of arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedModule:
    name: str
    syntax: ModuleSyntax
    context: StaticContext
    prolog: tuple[Declaration, ...]
    functions: Mapping[FunctionKey, FunctionDecl]
    errorqueue: str | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkedRule:
    """`target` is None when the rule names neither a queue nor a slicing."""

    name: str
    statement: RuleStatement
    module: LinkedModule
    target: Queue | Slicing | None
    errorqueue: str | None
    body: Expr

    @property
    def span(self) -> Span:
        return self.statement.name.span

    @property
    def slicing(self) -> Slicing | None:
        return self.target if isinstance(self.target, Slicing) else None

    @property
    def queue(self) -> Queue | None:
        return self.target if isinstance(self.target, Queue) else None

    @property
    def input_queues(self) -> tuple[str, ...]:
        """The queues whose messages the rule runs for."""
        if isinstance(self.target, Slicing):
            return self.target.queues
        return () if self.target is None else (self.target.name,)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkedValue:
    """The value that a property has on certain queues."""

    property: Property
    statement: PropertyStatement
    clause: ValueClause
    queues: tuple[str, ...]
    module: LinkedModule
    value: Expr


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linked:
    root: Path
    symbols: Symbols
    modules: tuple[LinkedModule, ...]
    rules: tuple[LinkedRule, ...]
    values: tuple[LinkedValue, ...]
    complete: bool = field(default=True)  # whether every statement could be read
