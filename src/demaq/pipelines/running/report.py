"""What runs have done, for people and programs."""

import json
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
        return f"{self.file}{'' if self.line is None else f', line {self.line}'}: {self.reason}"


def errors_document(wrong: Iterable[Wrong]) -> bytes:
    """What is wrong, as a document with a fact for each."""
    return json.dumps([asdict(each) for each in wrong]).encode()


def wrong_in(problems: Iterable[Problem], source: str, file: str, line: int | None) -> list[Wrong]:
    """What is wrong in a document. If that is a line of a file, what is in it is in this line."""
    return [Wrong(source, file, problem.line if line is None else line, problem.reason) for problem in problems]


@dataclass(frozen=True, slots=True)
class Shown:
    """Some facts for a person to look at, as text: of a relation, or the answers to a query; and how many there are."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str | None, ...]]
    number: int


@dataclass(slots=True)
class Ran:
    """What a run has done: where, messages that came by source, facts by relation, messages by goal; what could not be
    read, of which some is told; and what is to be looked at."""

    where: str = "memory"
    messages: dict[str, int] = field(default_factory=dict)
    facts: dict[str, int] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)
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
