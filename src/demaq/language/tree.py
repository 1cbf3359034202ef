"""The syntax tree of an application: statements, and the actions that may stand in XQuery."""

from dataclasses import dataclass

from demaq.diagnostics import Span
from demaq.xquery.tree import Declaration, Expr, Name, Node

# Actions


@dataclass(frozen=True, slots=True)
class WithProperty(Node):
    """`with P value E`"""

    name: Name
    value: Expr


@dataclass(frozen=True, slots=True)
class Enqueue(Expr):
    """`do enqueue E into Q with …`"""

    body: Expr
    queue: Name
    properties: tuple[WithProperty, ...]


@dataclass(frozen=True, slots=True)
class Reset(Expr):
    """`do reset`, or `do reset S key E`"""

    slicing: Name | None
    key: Expr | None


@dataclass(frozen=True, slots=True)
class EventParameter(Node):
    name: Name
    value: Expr


@dataclass(frozen=True, slots=True)
class Raise(Expr):
    """`do raise event N(P := E, …)`"""

    event: Name
    parameters: tuple[EventParameter, ...]


ACTIONS = (Enqueue, Reset, Raise)

# Statements


@dataclass(frozen=True, slots=True)
class FileName(Node):
    """A file of the application, named as a string or, like `supplier.wsdl`, bare."""

    path: str


@dataclass(frozen=True, slots=True)
class Statement(Node):
    """One definition."""

    name: Name


@dataclass(frozen=True, slots=True)
class Option(Node):
    """An option of a queue as written: which one, and what it says."""

    keyword: str


@dataclass(frozen=True, slots=True)
class WordOption(Option):
    """`kind`, `mode`"""

    word: Name


@dataclass(frozen=True, slots=True)
class NumberOption(Option):
    """`priority`"""

    value: int


@dataclass(frozen=True, slots=True)
class FileOption(Option):
    """`schema`"""

    file: FileName


@dataclass(frozen=True, slots=True)
class QueueOption(Option):
    """`errorqueue`"""

    queue: Name


@dataclass(frozen=True, slots=True)
class InterfaceOption(Option):
    """`interface … port …`"""

    file: FileName
    port: Name


@dataclass(frozen=True, slots=True)
class UsingOption(Option):
    """`using … policy …`"""

    extension: Name
    policy: FileName


@dataclass(frozen=True, slots=True)
class QueueStatement(Statement):
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class ValueClause(Node):
    """`queue Q, … value E`; without a value the property is only allowed on the queues."""

    queues: tuple[Name, ...]
    value: Expr | None


@dataclass(frozen=True, slots=True)
class PropertyStatement(Statement):
    type: Name
    modes: tuple[Name, ...]
    clauses: tuple[ValueClause, ...]


@dataclass(frozen=True, slots=True)
class SlicingStatement(Statement):
    property: Name


@dataclass(frozen=True, slots=True)
class CollectionStatement(Statement):
    pattern: FileName


@dataclass(frozen=True, slots=True)
class PipelineStatement(Statement):
    file: FileName


@dataclass(frozen=True, slots=True)
class RuleStatement(Statement):
    target: Name
    errorqueue: Name | None
    body: Expr


@dataclass(frozen=True, slots=True)
class ModuleSyntax(Node):
    """One `.demaq` file; `heading` is where it says its name, or its beginning."""

    heading: Span
    name: str
    errorqueue: Name | None
    prolog: tuple[Declaration, ...]
    statements: tuple[Statement, ...]
