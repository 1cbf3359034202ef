"""The topics of Kafka, as pipelines see them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, Protocol

from demaq.pipelines.documents import Shape
from demaq.pipelines.documents.writing import pieces, text_of
from demaq.pipelines.program import Endpoint
from demaq.pipelines.running.goals import InOrder
from demaq.pipelines.vocabulary import KEY

ID = "Idempotency-Key"
"""The header of a record by which a reader can tell that it has had it before."""


@dataclass(frozen=True, slots=True)
class Record:
    """What is sent: the number of its message, the key, if it has one, and the document."""

    message: int
    key: str | None
    document: str


class Topics(Protocol):
    """Endpoints are given with what is configured in its place."""

    def check(self, endpoint: Endpoint) -> None:
        """Is the topic there? If not, an error says why, and what to do."""

    def documents(self, endpoint: Endpoint, names: Sequence[str] | None = None) -> Iterable[tuple[str, bytes]]:
        """The documents of records, and where they are: all that there are now, or those of stretches by names."""

    def put(self, endpoint: Endpoint, records: Iterable[tuple[Record, str]]) -> int:
        """Send records, each with its id; how many there are."""


@dataclass(frozen=True, slots=True, order=True)
class Stretch:
    """Records of a partition: the first offset, the one after the last, and about how many bytes they have."""

    partition: int
    first: int
    after: int
    size: int = 0

    @property
    def name(self) -> str:
        """Names are in the order of stretches.

        >>> Stretch.named(Stretch(1, 5, 7, 80).name)
        Stretch(partition=1, first=5, after=7, size=80)
        """
        return f"{self.partition:010d} {self.first:020d} {self.after:020d} {self.size}"

    @classmethod
    def named(cls, name: str) -> "Stretch":
        return cls(*map(int, name.split()))


def stretches(names: Iterable[str]) -> list[Stretch]:
    """One stretch for each partition.

    >>> stretches([Stretch(0, 5, 7, 10).name, Stretch(1, 0, 2).name, Stretch(0, 7, 9, 20).name])
    [Stretch(partition=0, first=5, after=9, size=30), Stretch(partition=1, first=0, after=2, size=0)]
    """
    found = sorted(map(Stretch.named, names))
    return [_together(list(own)) for _, own in groupby(found, lambda each: each.partition)]


def _together(found: Sequence[Stretch]) -> Stretch:
    first, after = min(each.first for each in found), max(each.after for each in found)
    return Stretch(found[0].partition, first, after, sum(each.size for each in found))


def place_of(topic: str, partition: int, offset: int) -> str:
    """Where a record is, for people."""
    return f"offset {offset} of partition {partition} of topic {topic}"


def is_blank(value: bytes | None) -> bool:
    """Is there no document in a record? It is as an empty line of a file is."""
    return value is None or not value.strip()


def records(facts: InOrder, shapes: Sequence[Shape], endpoint: Endpoint) -> Iterator[Record]:
    """A record for each message, with a document on one line, if it is JSON."""
    options = {**endpoint.options, "lines": True}
    for number, own in groupby(facts(True), itemgetter(0)):
        rows = [(which, row) for _, which, row in own]
        document = "".join(pieces(rows, endpoint.format, shapes, options)).removesuffix("\n")
        yield Record(number, _key(rows, shapes, endpoint), document)


def _key(rows: Iterable[tuple[int, tuple[Any, ...]]], shapes: Sequence[Shape], endpoint: Endpoint) -> str | None:
    """The first value of the parameter that is the key."""
    if KEY not in endpoint.options:
        return None
    places = [
        shape.names.index(name) if (name := str(endpoint.options[KEY])) in shape.names else None for shape in shapes
    ]
    values = (row[at] for which, row in rows if (at := places[which]) is not None and row[at] is not None)
    return next(map(text_of, values), None)
