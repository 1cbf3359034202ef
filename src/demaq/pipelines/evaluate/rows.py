"""Rows in memory, and what goes into an evaluation and comes out of it.

A row is a tuple. Where it belongs to a message, the number of the message comes first, then the values by position.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

Row = tuple[Any, ...]
Rows = Collection[Row]


@dataclass(frozen=True, slots=True)
class Messages:
    """The messages of a source: how many there are, also without facts, and their facts by relation.

    `arrivals` are the times at which they came, in order; without them, all came at once.
    """

    count: int
    facts: Mapping[str, Rows]
    arrivals: Sequence[datetime] | None = None

    @classmethod
    def of(
        cls, documents: Iterable[Mapping[str, Iterable[Row]]], arrivals: Sequence[datetime] | None = None
    ) -> "Messages":
        """Messages that are given one by one, with their facts by relation.

        >>> Messages.of([{"p": [(1,), (2,)]}, {}, {"p": [(3,)]}]).facts
        {'p': [(0, 1), (0, 2), (2, 3)]}
        """
        facts: dict[str, list[Row]] = {}
        count = 0
        for number, document in enumerate(documents):
            count = number + 1
            for relation, rows in document.items():
                facts.setdefault(relation, []).extend((number, *row) for row in rows)
        return cls(count, facts, arrivals)


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """The messages of sources, and the facts of enrichers by relation; each by the id of its node in the program.

    Values have the types of their parameters, or are None. If recursion finds more facts than `most`, that is
    `TooManyFacts`.
    """

    sources: Mapping[str, Messages] = field(default_factory=dict)
    enrichers: Mapping[str, Mapping[str, Rows]] = field(default_factory=dict)
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """What a query finds. The rows have numbers of messages if `has_messages`."""

    text: str
    columns: tuple[str, ...]
    has_messages: bool
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What leaves: for each sink, the facts of its messages by relation, with their numbers; answers; and how many
    facts relations have that are counted, and messages channels.

    Each row comes once, in no order. They are not sets, for Python would hold `True` and `1` for the same fact.
    """

    sent: Mapping[str, Mapping[str, tuple[Row, ...]]]
    answers: tuple[Answered, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)

    def messages(self, sink: str) -> Iterator[Mapping[str, tuple[Row, ...]]]:
        """What is sent to a sink, message by message, without the numbers."""
        found: dict[int, dict[str, tuple[Row, ...]]] = {}
        for relation, rows in self.sent[sink].items():
            numbered = sorted(rows, key=itemgetter(0))
            for number, own in groupby(numbered, key=itemgetter(0)):
                found.setdefault(number, {})[relation] = tuple(row[1:] for row in own)
        return (found[number] for number in sorted(found))
