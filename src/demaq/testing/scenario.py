"""Scenarios: given these messages, after this time, expect these messages in these queues, and no others."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lxml import etree

from demaq.diagnostics import DemaqError
from demaq.engine.durations import DurationInvalid, duration
from demaq.engine.xml import MessageRefused
from demaq.testing.reading import read_xml, reason

FOLDER = "scenarios"
MOST_TIMES = 100_000
"""That one step may send its messages."""
_START = datetime(2024, 1, 1, 9, tzinfo=UTC)


class ScenarioInvalid(DemaqError):
    """A scenario is not written as it should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """Put messages into a queue. `refused` says that they are not to be taken in."""

    queue: str
    bodies: tuple[str | bytes, ...]
    properties: dict[str, str] = field(default_factory=dict)
    refused: bool = False
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Let time pass. What is due meanwhile happens when it is due."""

    time: timedelta
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Expect:
    """Exactly these messages have come into a queue since it was last looked at."""

    queue: str
    bodies: tuple[str, ...]
    line: int = 0


Step = Send | Wait | Expect


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    name: str
    file: Path
    start: datetime
    steps: tuple[Step, ...]


def scenarios_of(app: Path) -> list[Scenario]:
    """The scenarios beside an application, in the order of their files."""
    root = app if app.is_dir() else app.parent
    return [scenario for file in sorted((root / FOLDER).glob("*.xml")) for scenario in read_scenarios(file)]


def read_scenarios(file: Path) -> list[Scenario]:
    """The scenarios of a file, whose root is `<scenario>` or `<scenarios>`."""
    try:
        root = read_xml(_content(file)).root
    except MessageRefused as error:
        line, why = reason(error)
        raise ScenarioInvalid(f"{_place(file, line)}: {why}") from error
    elements = [root] if root.tag == "scenario" else list(root.iterchildren("scenario"))
    if not elements:
        raise ScenarioInvalid(f'{file}: a scenario begins with <scenario name="…">')
    return [_scenario(element, file) for element in elements]


def _content(file: Path) -> bytes:
    if not file.is_file():
        raise ScenarioInvalid(f"there is no file `{file}`")
    try:
        return file.read_bytes()
    except OSError as error:
        raise ScenarioInvalid(f"`{file}` cannot be read: {error.strerror}") from error


def _place(file: Path, line: int | None) -> str:
    return f"{file}, line {line}" if line else str(file)


def _scenario(element: "etree._Element", file: Path) -> Scenario:
    start = element.get("start")
    try:
        begin = _START if start is None else datetime.fromisoformat(start.replace("Z", "+00:00")).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ScenarioInvalid(f"{_place(file, element.sourceline)}: `{start}` is no time") from error
    name = element.get("name") or file.stem
    return Scenario(name=name, file=file, start=begin, steps=tuple(_steps(element, file, begin)))


def _steps(scenario: "etree._Element", file: Path, now: datetime) -> Iterator[Step]:
    for element in scenario.iterchildren(tag=etree.Element):
        line = int(element.sourceline or 0)
        try:
            step = _step(element, file.parent, line)
            now += step.time if isinstance(step, Wait) else timedelta(0)
        except KeyError as error:
            raise ScenarioInvalid(f"{_place(file, line)}: <{element.tag}>: `{error.args[0]}` is missing") from error
        except OverflowError as error:
            raise ScenarioInvalid(f"{_place(file, line)}: <wait>: time ends with the year 9999") from error
        except (ScenarioInvalid, DurationInvalid) as error:
            raise ScenarioInvalid(f"{_place(file, line)}: <{element.tag}>: {error}") from error
        yield step


def _step(element: "etree._Element", folder: Path, line: int) -> Step:
    if element.tag == "wait":
        return Wait(time=_time(element.attrib["for"]), line=line)
    if element.tag == "expect":
        return Expect(queue=element.attrib["queue"], bodies=tuple(_expected(element, folder)), line=line)
    if element.tag == "send":
        return _send(element, folder, line)
    raise ScenarioInvalid("there is no such step: use <send>, <wait> or <expect>")


def _send(element: "etree._Element", folder: Path, line: int) -> Send:
    properties = {
        str(name): str(value)
        for name, value in element.attrib.items()
        if name not in ("queue", "file", "times", "refused")
    }
    return Send(
        queue=element.attrib["queue"],
        bodies=tuple(_sent(element, folder)) * _times(element.get("times", "1")),
        properties=properties,
        refused=element.get("refused") == "true",
        line=line,
    )


def _time(text: str) -> timedelta:
    length = duration(text)
    if length < timedelta(0):
        raise ScenarioInvalid(f"`{text}` is negative: time does not go back")
    return length


def _times(text: str) -> int:
    number = int(text) if text.isdecimal() and len(text) <= len(str(MOST_TIMES)) else 0
    if not 1 <= number <= MOST_TIMES:
        raise ScenarioInvalid(f"`times` is a whole number from 1 to {MOST_TIMES:,}, not `{text}`")
    return number


def _sent(element: "etree._Element", folder: Path) -> Iterator[str | bytes]:
    """What is in a file is sent as it is: it may be meant to be refused."""
    if (named := element.get("file")) is not None:
        yield _content(folder / named)
    yield from _inside(element)


def _expected(element: "etree._Element", folder: Path) -> Iterator[str]:
    if (named := element.get("file")) is not None:
        place = folder / named
        try:
            yield read_xml(_content(place)).text
        except MessageRefused as error:
            line, why = reason(error)
            raise ScenarioInvalid(f"`{_place(place, line)}`: {why}") from error
    yield from _inside(element)


def _inside(element: "etree._Element") -> Iterator[str]:
    for child in element.iterchildren(tag=etree.Element):
        yield etree.tostring(child, encoding="unicode", with_tail=False)
