"""The functions of `driver.xq`, and what they give back as one string."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources

from demaq.engine.records import Failure
from demaq.model import Value


def driver_text() -> str:
    return resources.files(__package__).joinpath("driver.xq").read_text(encoding="utf-8")


def fields(text: str) -> Iterator[str]:
    """The fields of a string that `demaq:fields` made.

    >>> list(fields("1:R2:123:a:b"))
    ['R', '12', 'a:b']
    """
    position = 0
    while position < len(text):
        colon = text.index(":", position)
        end = colon + 1 + int(text[position:colon])
        yield text[colon + 1 : end]
        position = end


def joined(*texts: str) -> str:
    """The same as `demaq:fields`.

    >>> joined("R", "12", "a:b")
    '1:R2:123:a:b'
    """
    return "".join(f"{len(text)}:{text}" for text in texts)


@dataclass(frozen=True, slots=True)
class Made:
    """A message for a queue."""

    queue: str
    body: str
    properties: dict[str, Value]


@dataclass(frozen=True, slots=True)
class MadeReset:
    slicing: str
    key: Value


@dataclass(frozen=True, slots=True)
class Raised:
    """An error; `line` and `column` are those of the compiled query."""

    code: str
    description: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Needed:
    """What a rule asked for that was not loaded."""

    what: tuple[str, ...]


Action = Made | MadeReset


@dataclass(slots=True)
class RuleResult:
    """What one rule did."""

    rule: int
    actions: list[Action] = field(default_factory=list)
    raised: Raised | None = None
    needed: Needed | None = None
    failure: Failure | None = None  # known beforehand


@dataclass(slots=True)
class RunResult:
    """What the rules of a message did, and the values of indexed paths in it."""

    rules: list[RuleResult] = field(default_factory=list)
    values: list[tuple[int, str]] = field(default_factory=list)


def read_run(text: str) -> RunResult:
    result = RunResult()
    parts = fields(text)
    for part in parts:
        if part == "R":
            result.rules.append(RuleResult(int(next(parts))))
        elif part == "I":
            result.values.append((int(next(parts)) - 1, next(parts)))
        elif part == "E":
            result.rules[-1].raised = read_raised(parts)
        elif part == "N":
            _, _, *what = fields(next(parts))
            result.rules[-1].needed = Needed(tuple(what))
        elif part == "X":
            result.rules[-1].actions.append(MadeReset(next(parts), Value(next(parts), next(parts))))
        else:
            assert part == "Q", part
            result.rules[-1].actions.append(read_made(parts))
    return result


def read_made(parts: Iterator[str]) -> Made:
    queue, body, number = next(parts), next(parts), int(next(parts))
    properties = {next(parts): Value(next(parts), next(parts)) for _ in range(number)}
    return Made(queue, body, properties)


def read_raised(parts: Iterator[str]) -> Raised:
    return Raised(next(parts), next(parts), int(next(parts)), int(next(parts)))
