"""The relational plan: a row of steps, each of which makes relations, messages, or something that leaves."""

from dataclasses import dataclass
from datetime import timedelta

from demaq.pipelines.plan.nodes import Channels, Columns, Node
from demaq.pipelines.vocabulary import Strategy


@dataclass(frozen=True, slots=True)
class Define:
    """The rows of a relation. Those that the program names are sets; what is only shared may be a bag."""

    relation: str
    node: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Recursive:
    """A relation of a fixpoint. `base` is what it has to begin with, a set.

    Each of the `rounds` reads exactly one relation of the fixpoint in the version NEW, and others in the version ALL:
    it gives all that the new facts add by one place of one rule.
    """

    relation: str
    base: Node
    rounds: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Fixpoint:
    """Relations that depend on each other, evaluated semi-naively.

    The first new facts are those of the bases. In each round, all `rounds` are evaluated; what they give and is not
    known yet are the new facts of the next round. It ends when there are none. All relations have the same channels.
    """

    relations: tuple[Recursive, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """What a message has of a relation."""

    relation: str
    node: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Gather:
    """`@aggregate`: makes the messages of the channel, each of several.

    Messages come one by one, by their arrival; of those that came at once, by their numbers, then by their channels.
    Parts with the same channels are parts of the same messages, and parts of one relation are united. Without channels,
    there is one message.

    A message takes part if it has rows of one of the parts. The first that does so opens a new message, and others go
    into it until it is complete: with `size` messages, with a message that has rows of one of `when`, or before a
    message that comes `time` or more after the first. The last one is complete when the input ends.
    """

    channel: str
    parts: tuple[Part, ...]
    strategy: Strategy
    time: timedelta | None
    size: int | None
    when: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """What a split makes messages of: one for each combination of values of the columns `by`, with all its rows."""

    relation: str
    node: Node
    by: Columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """`@split`: makes the messages of the channel, in the order of the messages of `inputs` that they are parts of,
    then of groups, then of the values of their columns. Without `inputs`, there is one message."""

    channel: str
    inputs: Channels
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """`@to`: sends the messages of `inputs` that have rows of one of the parts; one message if there are none."""

    sink: str
    inputs: Channels
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """A query: rows for a person to look at, each once."""

    text: str
    node: Node


@dataclass(frozen=True, slots=True)
class Count:
    """How many facts a relation has in all messages: the rows of the node, each once."""

    relation: str
    node: Node


Step = Define | Fixpoint | Gather | Split | Send | Answer | Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Steps in an order of evaluation: each reads only what those before it make, and sources and enrichers.

    Of channels that are `aligned`, the rows of a message are best kept in one place, if there are many messages.
    """

    name: str
    steps: tuple[Step, ...]
    aligned: frozenset[str] = frozenset()
