"""The relational plan: expressions that give rows.

A row has a value for each column of its node; a column is a variable, with a name and a type. Columns have different
names. Rows are a bag: the same row may come several times, until a `Distinct` stands above it.

**Messages.** A message is known by its channel and its number there, from 0, in the order of arrival; no number is left
out. A node with `channels` gives rows that belong to messages, and each row carries, beside its columns, the number of
its message. This number is never named in a plan: whatever is said of rows is said of rows of one message. So a join of
two such nodes asks for the same message as well, and groups and duplicates are those of one message. A node without
channels gives rows that belong to every message, and carry no number. Joined with one, rows of messages stay what they
are.

A node with several channels stands behind a join router: its n-th message is made of the n-th of each channel. That
keeps the number, so that nothing has to be renamed: see `Pair`.

**Null.** Rows of sources, enrichers, aggregations and splits may lack values. All others have them all, since no
condition holds of null, and what is computed to null goes away.

**Numbers.** A value goes from a narrower column into a wider one by conversion: see `numbers.py`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from demaq.pipelines.program import Compare, CompareText, Expression, Term, Variable
from demaq.pipelines.values import Constant, Value
from demaq.pipelines.vocabulary import Function

Columns = tuple[Variable, ...]
Channels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Present:
    """The column has a value."""

    column: Variable


Condition = Compare | CompareText | Present


# Where rows come from


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """The facts of a relation that the messages of a channel bring: of a source, an aggregation or a split.

    `parameters` are those of the relation, `columns` the ones that are wanted, of facts for which all `conditions` over
    the parameters hold.
    """

    channel: str
    relation: str
    parameters: Columns
    columns: Columns
    conditions: tuple[Condition, ...] = ()

    @property
    def channels(self) -> Channels:
        return (self.channel,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The facts of a relation that an enricher loads, once for a run. The fields are as those of `Scan`."""

    enricher: str
    relation: str
    parameters: Columns
    columns: Columns
    conditions: tuple[Condition, ...] = ()

    @property
    def channels(self) -> Channels:
        return ()


@dataclass(frozen=True, slots=True)
class Values:
    """Rows that are known: facts of the program. Without columns, one row is where a body begins."""

    columns: Columns
    rows: tuple[tuple[Value, ...], ...]

    @property
    def channels(self) -> Channels:
        return ()


class Version(Enum):
    """Which facts of a relation are read; inside of a fixpoint there is a choice."""

    ALL = "all"  # all that are known so far
    NEW = "new"  # those that the last round found


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The rows of a relation that a step before this one defines, or the fixpoint that this is part of."""

    relation: str
    columns: Columns
    channels: Channels
    version: Version = Version.ALL


# One input


@dataclass(frozen=True, slots=True)
class Select:
    """The rows for which all conditions hold."""

    input: "Node"
    conditions: tuple[Condition, ...]

    @property
    def columns(self) -> Columns:
        return self.input.columns

    @property
    def channels(self) -> Channels:
        return self.input.channels


@dataclass(frozen=True, slots=True)
class Project:
    """Rows of other columns, each of which takes a column of the input, or is constant."""

    input: "Node"
    items: tuple[tuple[Variable, Term], ...]

    @property
    def columns(self) -> Columns:
        return tuple(column for column, _ in self.items)

    @property
    def channels(self) -> Channels:
        return self.input.channels


@dataclass(frozen=True, slots=True)
class Assign:
    """Rows with one more column, which is computed. A row where it is null goes away."""

    input: "Node"
    column: Variable
    value: Expression

    @property
    def columns(self) -> Columns:
        return (*self.input.columns, self.column)

    @property
    def channels(self) -> Channels:
        return self.input.channels


@dataclass(frozen=True, slots=True)
class Distinct:
    """Each row once (in each message)."""

    input: "Node"

    @property
    def columns(self) -> Columns:
        return self.input.columns

    @property
    def channels(self) -> Channels:
        return self.input.channels


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """For each combination of values of the columns `by` (in each message) one row: these, and what `function` makes of
    the column `over`, of which no value is null. `over` is None for `count`, which counts rows. A sum that is too large
    for its type is null; what else has no result gives no row."""

    input: "Node"
    by: Columns
    function: Function
    over: Variable | None
    result: Variable

    @property
    def columns(self) -> Columns:
        return (*self.by, self.result)

    @property
    def channels(self) -> Channels:
        return self.input.channels


@dataclass(frozen=True, slots=True)
class Spread:
    """Rows that belong to every message, as rows of each message of these channels; the input has no channels."""

    input: "Node"
    channels: Channels

    @property
    def columns(self) -> Columns:
        return self.input.columns


@dataclass(frozen=True, slots=True)
class Pair:
    """The join router: of rows of messages, those whose message has a partner of the same number in each channel. The
    channels of the input are among them. What never gets a partner is dropped."""

    input: "Node"
    channels: Channels

    @property
    def columns(self) -> Columns:
        return self.input.columns


# Several inputs


class Side(Enum):
    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class Join:
    """Each row of the left with each row of the right that has the same values in all columns of the same name.

    `broadcast` is the side that is small, and should go to wherever the rows of the other are.
    """

    left: "Node"
    right: "Node"
    broadcast: Side | None = None

    @property
    def columns(self) -> Columns:
        return united(self.left.columns, self.right.columns)

    @property
    def channels(self) -> Channels:
        return together((self.left, self.right))


@dataclass(frozen=True, slots=True)
class AntiJoin:
    """The rows of the left for which the right has none with the same values in all columns of the right.

    If the right has channels, the left has them.
    """

    left: "Node"
    right: "Node"
    broadcast: Side | None = None

    @property
    def columns(self) -> Columns:
        return self.left.columns

    @property
    def channels(self) -> Channels:
        return self.left.channels


@dataclass(frozen=True, slots=True)
class OuterJoin:
    """Like `Join` with an `Aggregate` as the right; rows of the left without a partner get the value `otherwise` in the
    right's last column, and rows that find null there go away. If the right has channels, the left has them."""

    left: "Node"
    right: "Node"
    otherwise: Constant
    broadcast: Side | None = None

    @property
    def columns(self) -> Columns:
        return united(self.left.columns, self.right.columns)

    @property
    def channels(self) -> Channels:
        return self.left.channels


@dataclass(frozen=True, slots=True)
class Union:
    """The rows of all inputs: one at least. They have the same columns, and all have channels or none."""

    inputs: tuple["Node", ...]

    @property
    def columns(self) -> Columns:
        return self.inputs[0].columns

    @property
    def channels(self) -> Channels:
        return self.inputs[0].channels


Leaf = Scan | Load | Values | Read
Node = (
    Scan
    | Load
    | Values
    | Read
    | Select
    | Project
    | Assign
    | Distinct
    | Aggregate
    | Spread
    | Pair
    | Join
    | AntiJoin
    | OuterJoin
    | Union
)

UNIT = Values((), ((),))
"""One row that binds nothing."""


def united(left: Columns, right: Columns) -> Columns:
    """The columns of the left, and those of the right that are new."""
    names = {column.name for column in left}
    return (*left, *(column for column in right if column.name not in names))


def together(nodes: Iterable[Node]) -> Channels:
    """The channels of all nodes."""
    return tuple(sorted({channel for node in nodes for channel in node.channels}))
