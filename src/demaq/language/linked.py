"""The application with every name resolved: what the checks and the compiler read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from demaq.diagnostics import Span
from demaq.language.analysis.bindings import Bindings
from demaq.language.symbols import Symbols
from demaq.language.tree import ModuleSyntax, PropertyStatement, RuleStatement, ValueClause
from demaq.model import Property, Queue, Slicing
from demaq.xquery.analysis.context import StaticContext
from demaq.xquery.tree import Declaration, Expr, FunctionDecl, Node

FunctionKey = tuple[str, int]
"""A function's expanded name and its number of arguments."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkedFunction:
    """A function of a module, with all nodes of its body."""

    declaration: FunctionDecl
    body: Expr
    nodes: tuple[Node, ...]
    bindings: Bindings


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkedModule:
    name: str
    syntax: ModuleSyntax
    context: StaticContext
    prolog: tuple[Declaration, ...]
    functions: Mapping[FunctionKey, LinkedFunction]
    errorqueue: str | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkedRule:
    """`target` is None when the rule names neither a queue nor a slicing; `nodes` are all those of the body."""

    name: str
    statement: RuleStatement
    module: LinkedModule
    target: Queue | Slicing | None
    errorqueue: str | None
    body: Expr
    nodes: tuple[Node, ...]
    bindings: Bindings
    functions: tuple[LinkedFunction, ...]  # those that the body may call, directly or through others

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

    def all_nodes(self) -> Iterator[Node]:
        """Everything that may be evaluated when the rule runs: the body's nodes, and those of the functions."""
        yield from self.nodes
        for function in self.functions:
            yield from function.nodes

    def bodies(self) -> Iterator[tuple[Expr, Bindings]]:
        """The body, and those of the functions, each with the values of its variables."""
        yield self.body, self.bindings
        for function in self.functions:
            yield function.body, function.bindings


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkedValue:
    """The value that a property has on certain queues."""

    property: Property
    statement: PropertyStatement
    clause: ValueClause
    queues: tuple[str, ...]
    module: LinkedModule
    value: Expr
    nodes: tuple[Node, ...]
    functions: tuple[LinkedFunction, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Linked:
    root: Path
    symbols: Symbols
    modules: tuple[LinkedModule, ...]
    rules: tuple[LinkedRule, ...]
    values: tuple[LinkedValue, ...]
    complete: bool = field(default=True)  # whether every statement could be read
