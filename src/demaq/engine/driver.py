"""The functions of `driver.xq`, and what they give back as one string."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources

from demaq.diagnostics import DemaqError
from demaq.engine.records import Failure
from demaq.model import Value

SEPARATOR = "\x01"  # XML cannot hold it


class FieldsInvalid(DemaqError):
    """A text has a character that XML does not allow."""


def driver_text() -> str:
    return resources.files(__package__).joinpath("driver.xq").read_text(encoding="utf-8")


def fields(text: str) -> Iterator[str]:
    """The fields of a string that `demaq:fields` made.

    >>> list(fields("2\\x01R\\x0112"))
    ['R', '12']
    """
    number, *found = text.split(SEPARATOR)
    if len(found) != int(number):
        raise FieldsInvalid("a text has the character U+0001, which XML does not allow")
    return iter(found)


def index_name(queue: str, path: str, kind: str) -> str:
    """The same as `demaq:index`.

    >>> index_name("orders", "/order/id", "t")
    'orders t9 /order/id '
    """
    return f"{queue} {kind}{len(path)} {path} "


@dataclass(slots=True)
class Made:
    """A message for a queue: the properties that it is given (None: without a value), those that were computed for it,
    and the values of indexed paths. `is_built` says that its document was built, and can be had."""

    queue: str
    body: str
    is_built: bool = False
    given: dict[str, Value | None] = field(default_factory=dict)
    computed: dict[str, str] = field(default_factory=dict)
    keys: list[tuple[int, str]] = field(default_factory=list)


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


Action = Made | MadeReset


@dataclass(slots=True)
class RuleResult:
    """What one rule did."""

    rule: int
    actions: list[Action] = field(default_factory=list)
    raised: Raised | None = None
    failure: Failure | None = None  # known beforehand


@dataclass(slots=True)
class RunResult:
    """What the rules of a message did, and the values of indexed paths in it; or what one of them raised or needs."""

    rules: list[RuleResult] = field(default_factory=list)
    values: list[tuple[int, str]] = field(default_factory=list)
    raised: Raised | None = None
    needed: tuple[str, ...] = ()


def read_run(text: str) -> RunResult:
    result = RunResult()
    parts = fields(text)
    rule = RuleResult(-1)
    made = Made("", "")
    for part in parts:
        if part == "R":
            rule = RuleResult(int(next(parts)))
            result.rules.append(rule)
        elif part in ("D", "Q"):
            made = Made(next(parts), next(parts), part == "D")
            rule.actions.append(made)
        elif part == "I":
            result.values.append((int(next(parts)), next(parts)))
        elif part == "E":
            result.raised = _read_raised(parts)
        elif part == "N":
            result.needed = tuple(next(parts) for _ in range(int(next(parts))))
        elif part == "X":
            rule.actions.append(MadeReset(next(parts), Value(next(parts), next(parts))))
        else:
            _read_property(part, parts, made)
    return result


def read_foreseen(text: str) -> Iterator[tuple[str, ...]]:
    """What rules are expected to need."""
    parts = fields(text)
    for part in parts:
        assert part == "N", part
        yield tuple(next(parts) for _ in range(int(next(parts))))


def read_added(text: str, queue: str, body: str) -> Made | Raised:
    """A message with what is added to it, or why that failed."""
    made = Made(queue, body)
    parts = fields(text)
    for part in parts:
        if part == "E":
            return _read_raised(parts)
        _read_property(part, parts, made)
    return made


def _read_property(part: str, parts: Iterator[str], made: Made) -> None:
    name = next(parts)
    if part == "K":
        made.keys.append((int(name), next(parts)))
    elif part == "V":
        made.computed[name] = next(parts)
    elif part == "P":
        made.given[name] = Value(next(parts), next(parts))
    else:
        assert part == "O", part
        made.given[name] = None


def _read_raised(parts: Iterator[str]) -> Raised:
    return Raised(next(parts), next(parts), int(next(parts)), int(next(parts)))
