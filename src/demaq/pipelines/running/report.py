"""What runs have done, for people and programs."""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

from demaq.pipelines.documents import Problem
from demaq.pipelines.errors import InputWrong

SHOWN = 20  # facts, and things that are wrong


@dataclass(frozen=True, slots=True)
class Wrong:
    """Something that could not be read."""

    source: str
    file: str | None
    line: int | None
    reason: str

    def __str__(self) -> str:
        return f"{_seen(self.file)}{'' if self.line is None else f', line {self.line}'}: {self.reason}"


def _seen(file: str | None) -> str | None:
    """The name of a file as people see it from here; documents that are no files have no such name."""
    if file is None or not os.path.isabs(file):
        return file
    relative = os.path.relpath(file)
    return file if relative.startswith(os.pardir) else relative


def errors_document(wrong: Iterable[Wrong]) -> bytes:
    """What is wrong, as a document with a fact for each."""
    return json.dumps([asdict(each) for each in wrong]).encode()


def wrong_in(problems: Iterable[Problem], source: str, file: str, line: int | None) -> list[Wrong]:
    """What is wrong in a document. If that is a line of a file, what is in it is in this line."""
    return [Wrong(source, file, problem.line if line is None else line, problem.reason) for problem in problems]


@dataclass(frozen=True, slots=True)
class Shown:
    """Facts for a person to look at, as text: of a relation, or the answers to a query.

    `number` is how many there are in all messages. Of those that are different, `rows` are the first, and `more` is how
    many more there are. A query without variables has no rows, but says whether it `holds`.
    """

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str | None, ...]]
    number: int
    more: int = 0
    holds: bool | None = None


@dataclass(frozen=True, slots=True)
class Unmet:
    """Messages of a channel that found no partner in others, where they meet."""

    channel: str
    others: tuple[str, ...]
    messages: int


@dataclass(slots=True)
class Ran:
    """What a run has done: where, messages that came by source, facts by relation, messages by goal, and facts that a
    goal took, by relation; messages that found no partner; what could not be read, of which some is told; and what is
    to be looked at."""

    where: str = "memory"
    messages: dict[str, int] = field(default_factory=dict)
    facts: dict[str, int] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)
    taken: dict[str, dict[str, int]] = field(default_factory=dict)
    unmet: list[Unmet] = field(default_factory=list)
    wrong: list[Wrong] = field(default_factory=list)
    wrong_number: int = 0
    shown: list[Shown] = field(default_factory=list)


@dataclass(slots=True)
class Done:
    """What a batch of a stream has done: messages that came by source, messages that were sent by goal; and what could
    not be read."""

    number: int
    seconds: float = 0.0
    messages: dict[str, int] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)
    wrong: list[Wrong] = field(default_factory=list)
    wrong_number: int = 0


def refusal(found: Ran | Done, written: str = "nothing was written") -> InputWrong:
    """To be raised if nothing may be wrong: the first thing that is, how many more there are, and what was written."""
    more = found.wrong_number - 1
    return InputWrong(f"{found.wrong[0]};{f' and {more} more;' if more > 0 else ''} {written}")
