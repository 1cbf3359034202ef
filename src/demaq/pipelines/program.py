"""The program of a pipeline: what every back end reads, and behind which none has to look.

A message is a set of facts. Everything that follows is said of one message, and holds for each by itself; where
messages are made of others, a channel says so (see `Relation.channels`). Facts are sets: no relation holds the same
fact twice. A parameter may have no value (null), which equals nothing, not even itself.

The names of relations, parameters and variables may have hyphens, and letters of any script; those of variables that
nobody has written, `#`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from pathlib import Path

from demaq.diagnostics import Span
from demaq.pipelines.values import Constant, Value, ValueType
from demaq.pipelines.vocabulary import Format, Function, Strategy, TextRelation

# Relations


class Origin(Enum):
    """Where the facts of a relation come from. They are united if there are several origins."""

    SOURCE = "source"  # a message brings them along
    RULES = "rules"
    AGGREGATION = "aggregation"
    SPLIT = "split"
    FACTS = "facts"  # they are written in the program, and belong to every message
    ENRICHER = "enricher"  # they are loaded from elsewhere, and belong to every message


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A column of a relation.

    `type` is declared in an annotation, or follows from how the parameter is used. Values from outside are converted
    to it; a fact with one that cannot be is left out, and told. Where it is ANY, they stay as they come, and where it
    is NUMBER, they become numbers of any type. What a document lacks is null.
    No two parameters of a relation have the same name.
    """

    name: str
    type: ValueType
    is_declared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A relation: its parameters by position, and where its facts come from.

    At most one origin is a source, rules, an aggregation or a split; facts and enrichers may add to it.

    `channels` are the ids of the sources, aggregations and splits whose messages its facts are in. One channel: facts
    are in the messages of it. Several: a join router stands before the relation, and its messages are made of one
    message of each channel, the first of each, then the second of each, in the order of arrival. None: nothing but
    facts of the program and enrichers is behind it, which belong to every message; if a pipeline has no channel at all,
    there is one message.
    """

    name: str
    parameters: tuple[Parameter, ...]
    origins: tuple[Origin, ...]
    channels: tuple[str, ...]
    span: Span = field(repr=False, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.parameters)


# Rules


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a rule; every place that names it has the same type."""

    name: str
    type: ValueType


@dataclass(frozen=True, slots=True)
class Operation:
    """`+`, `-`, `*`, `/`, `div` or `mod` of two numbers, or `-` of one.

    `/` is exact (7 / 2 is 3.5), `div` gives the whole part of the quotient towards zero and `mod` what remains of it,
    with the sign of its left side. A division by zero, and what is computed with null, is null.
    """

    operator: str
    operands: tuple["Expression", ...]
    type: ValueType


Term = Variable | Constant
Expression = Variable | Constant | Operation


@dataclass(frozen=True, slots=True)
class Atom:
    """Facts of a relation, one term for each of its parameters by position.

    A fact matches if it equals every constant, every variable that is bound already, and itself where a variable
    stands twice. None matches anything, null as well; a variable or constant does not match null.
    """

    relation: str
    terms: tuple[Term | None, ...]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Each once, in the order of their first places."""
        return tuple(dict.fromkeys(term for term in self.terms if isinstance(term, Variable)))


@dataclass(frozen=True, slots=True)
class Head:
    """What a rule produces: a term for each parameter of the relation. All variables are bound by its steps."""

    relation: str
    terms: tuple[Term, ...]


# Steps of a body. A body is a row of them, in an order in which each needs only variables that those before it bind.
# It begins with one row that binds nothing; each step makes other rows of the rows before it.


@dataclass(frozen=True, slots=True)
class Join:
    """Each row with each fact that matches; binds the variables of the atom that are not bound yet."""

    atom: Atom


@dataclass(frozen=True, slots=True)
class Bind:
    """Computes a variable that is not bound yet, whose type may be wider than that of the value. A row where the value
    is null goes away."""

    variable: Variable
    value: Expression


@dataclass(frozen=True, slots=True)
class Summarise:
    """Computes a variable that is not bound yet, for each row over the facts that match the atom.

    All variables of the atom are bound already: they are what is grouped by. `over` is the position of the parameter
    that is aggregated, where None stands in the atom; it is None for `count`. Each fact counts, also if several have
    the same value there; where the value is null, a fact does not count. Over no facts, `count` and `sum` are 0, and
    the row goes away for `max`, `min` and `avg`.
    """

    variable: Variable
    function: Function
    atom: Atom
    over: int | None


@dataclass(frozen=True, slots=True)
class Compare:
    """Keeps the rows for which it holds. `operator` is one of `< > <= >= = !=`; nothing holds of null.

    Numbers are compared as numbers, whatever their types; text by its characters (Unicode code points).
    """

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class CompareText:
    """Keeps the rows for which `test(left, right)` holds, or, if negated, does not. Nothing holds of null."""

    test: TextRelation
    left: Expression
    right: Expression
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Without:
    """Keeps the rows for which no fact matches the atom; all its variables are bound already."""

    atom: Atom


Step = Join | Bind | Summarise | Compare | CompareText | Without


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """For each row that the steps leave, a fact of the head's relation. `text` is the rule as written, in one line.

    If a head has a term that is null, the fact has no value there.
    """

    head: Head
    steps: tuple[Step, ...]
    text: str
    span: Span = field(repr=False, compare=False)

    @property
    def reads(self) -> tuple[str, ...]:
        """The relations that it depends on, each once."""
        atoms = [step.atom for step in self.steps if isinstance(step, Join | Summarise | Without)]
        return tuple(dict.fromkeys(atom.relation for atom in atoms))


# Nodes: what a pipeline is made of. Ids are unique in a program, and readable; no secret is part of one.


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where facts come from or go to.

    `uri` is as written: `$name` in it stands for something configured, all of which `configured` names. Use `shown`
    where a person reads it. A URI without a scheme is the name of a file (`scheme` is `file`), and `path` is what
    follows the scheme. `format` is as written, or follows from the ending or the scheme. `options` are those of
    `ENDPOINT_OPTIONS`; a word that stands alone is True. If `is_guessed`, nothing says what the format is, as of a
    folder. `hidden` is what nobody may see, each with what is shown in its place.
    """

    uri: str
    shown: str
    scheme: str
    path: str
    format: Format
    options: Mapping[str, Value]
    configured: tuple[str, ...]
    is_guessed: bool = False
    hidden: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """`@from`: each document brings a message with facts of these relations, by the names of their parameters."""

    id: str
    endpoint: Endpoint
    relations: tuple[str, ...]
    span: Span = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Enricher:
    """`@enrich`: facts of these relations for every message; loaded once for a run."""

    id: str
    endpoint: Endpoint
    relations: tuple[str, ...]
    span: Span = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts that are written in the program, all of one relation, for every message."""

    id: str
    relation: str
    rows: tuple[tuple[Constant, ...], ...]
    span: Span = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """The rules of one relation, or of several that depend on each other.

    If it is recursive, the rules are applied until nothing new comes; relations of the processor are then read by its
    own rules, beginning with what facts and enrichers give them. No rule reads a relation of its own processor behind
    `not` or in an aggregate. `stratum` counts the negations and aggregates that must be complete before, from 0.
    """

    id: str
    relations: tuple[str, ...]
    rules: tuple[Rule, ...]
    is_recursive: bool
    stratum: int
    span: Span = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A query in an annotation: the facts that match `atom` become facts of the relation `result`, parameter by
    parameter. A variable that stands twice asks for equal values."""

    atom: Atom
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregation:
    """`@aggregate`: makes one message of several.

    The messages of all its relations come to it one by one, in the order of arrival; relations with the same channels
    are in the same messages. So channels that enter it are joined, but their messages are not. A message takes part if
    one of the selections finds facts in it; others are dropped. The new message has the facts of the `result`
    relations, of all messages or of one as `strategy` says. It is complete, and leaves, as soon as one of the
    conditions that are given holds: `time` has passed since its first message, it has `size` messages, or the message
    that came last has facts of the relation `when`. What is open when the input ends leaves then.
    """

    id: str
    selections: tuple[Selection, ...]
    strategy: Strategy
    time: timedelta | None
    size: int | None
    when: str | None
    span: Span = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """`@split`: makes several messages of one.

    Each selection makes a message for each answer: for each combination of values that its variables have in facts
    that match. The message has all matching facts with these values, as facts of `result`, and nothing else but what
    belongs to every message. So `?-item(order, _)` makes a message for each order, `?-item(o, i)` one for each fact,
    and `?-item(_, _)` one with all facts, if there are any. Messages leave by selection, then by the values of the
    variables, from left to right.
    """

    id: str
    selections: tuple[Selection, ...]
    span: Span = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """`@to`: sends the facts of these relations, message by message; a message without any is not sent.

    `channels` are those of its relations together: see `Relation.channels`.
    """

    id: str
    endpoint: Endpoint
    relations: tuple[str, ...]
    channels: tuple[str, ...]
    span: Span = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """`?-rel(args).`: the distinct values of the variables in facts that match, for a person to look at."""

    atom: Atom
    text: str
    span: Span = field(repr=False, compare=False)


Node = Source | Enricher | Facts | Processor | Aggregation | Split | Sink


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """`nodes` are in an order of evaluation: whatever one reads is complete when those before it are evaluated.

    The order is sources, enrichers and facts first, then the rest as relations depend on each other. The same nodes,
    by kind, are given by the properties. `home` is the folder that the pipeline was read from, if it was a file.
    """

    name: str
    relations: Mapping[str, Relation]
    nodes: tuple[Node, ...]
    queries: tuple[Query, ...]
    home: Path | None = field(default=None, compare=False)

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Source))

    @property
    def enrichers(self) -> tuple[Enricher, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Enricher))

    @property
    def facts(self) -> tuple[Facts, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Facts))

    @property
    def processors(self) -> tuple[Processor, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Processor))

    @property
    def aggregations(self) -> tuple[Aggregation, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Aggregation))

    @property
    def splits(self) -> tuple[Split, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Split))

    @property
    def sinks(self) -> tuple[Sink, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Sink))
