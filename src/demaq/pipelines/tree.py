"""The syntax tree of a pipeline. Two trees are equal if they say the same, wherever it stands."""

from dataclasses import dataclass, field

from demaq.diagnostics import Span
from demaq.pipelines.values import Value, ValueType


@dataclass(frozen=True, slots=True)
class Node:
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Name(Node):
    text: str

    def __str__(self) -> str:
        return self.text


# Expressions. What may be an argument is a term.


@dataclass(frozen=True, slots=True)
class Expr(Node):
    pass


@dataclass(frozen=True, slots=True)
class Term(Expr):
    pass


@dataclass(frozen=True, slots=True)
class Variable(Term):
    name: str


@dataclass(frozen=True, slots=True)
class Wildcard(Term):
    """`_`"""


@dataclass(frozen=True, slots=True)
class Literal(Term):
    value: Value
    type: ValueType


@dataclass(frozen=True, slots=True)
class Argument(Node):
    """`x`, or `eventCode: x`"""

    name: Name | None
    value: Term


@dataclass(frozen=True, slots=True)
class Atom(Node):
    """`gE(period, time, "Goal", pId)`"""

    relation: Name
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class FactValue(Expr):
    """`p(y)` as a value, as in `x = p(y) + 1`: the parameter of each fact."""

    atom: Atom


@dataclass(frozen=True, slots=True)
class AggregateValue(Expr):
    """`max(p(_, x))`"""

    function: Name
    atom: Atom


@dataclass(frozen=True, slots=True)
class Negative(Expr):
    """`-x`"""

    operand: Expr


@dataclass(frozen=True, slots=True)
class Arithmetic(Expr):
    """`x + 1`; the operator is one of `+ - * / div mod`."""

    operator: str
    left: Expr
    right: Expr


# Bodies


@dataclass(frozen=True, slots=True)
class TextTest(Node):
    """`contains(x, "a")`"""

    function: Name
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Negation(Node):
    """`not p(x)`, `not contains(x, "a")`"""

    inner: Atom | TextTest


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """`x < y`; the operator is one of `< > <= >= = == !=`."""

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Assignment(Node):
    """`x := y + 1`"""

    variable: Variable
    value: Expr


Condition = Atom | Negation | TextTest | Comparison | Assignment
"""One of the things between the commas of a body."""


# Annotations


@dataclass(frozen=True, slots=True)
class Uri(Node):
    """Where facts come from or go to, as it is written; `$name` stands for something configured."""

    text: str


@dataclass(frozen=True, slots=True)
class Option(Node):
    """`json`, `lines`, `completionTime=3`"""

    name: Name
    value: Literal | Name | None


@dataclass(frozen=True, slots=True)
class Column(Node):
    """A parameter of a relation that comes from outside: `pId`, or `pId: integer`."""

    name: Name
    type: Name | None


@dataclass(frozen=True, slots=True)
class Declaration(Node):
    """`gE(period, time, eventCode, pId).` in the body of an annotation"""

    relation: Name
    columns: tuple[Column, ...]


# Statements


@dataclass(frozen=True, slots=True)
class Statement(Node):
    pass


@dataclass(frozen=True, slots=True)
class Fact(Statement):
    """`match("true", 1).`; meta facts are facts, too."""

    atom: Atom


@dataclass(frozen=True, slots=True)
class Rule(Statement):
    """`head :- body.`"""

    head: Atom
    body: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Query(Statement):
    """`?-rel(args).`, alone or in the body of an annotation"""

    atom: Atom


@dataclass(frozen=True, slots=True)
class Annotation(Statement):
    """`name` is the word after `@`. The options are what stands in the head, but for the URI."""

    name: Name
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class From(Annotation):
    """`@from(URI, format) { rel(params). … }`"""

    uri: Uri
    declarations: tuple[Declaration, ...]


@dataclass(frozen=True, slots=True)
class Enrich(Annotation):
    """`@enrich(URI, format) { rel(params). … }`"""

    uri: Uri
    declarations: tuple[Declaration, ...]


@dataclass(frozen=True, slots=True)
class To(Annotation):
    """`@to(URI, format) { rel … }`; None if the body is missing."""

    uri: Uri
    relations: tuple[Name, ...] | None


@dataclass(frozen=True, slots=True)
class Aggregate(Annotation):
    """`@aggregate(strategy, completionSize=5) { ?-rel(params). … }`"""

    queries: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Split(Annotation):
    """`@split() { ?-rel(params). … }`"""

    queries: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Pipeline(Node):
    """One `.lila` file."""

    statements: tuple[Statement, ...]
