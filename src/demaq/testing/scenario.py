"""Scenarios: given these messages, after this time, expect these messages in these queues, and no others."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lxml import etree

from demaq.diagnostics import DemaqError
from demaq.engine.durations import DurationInvalid, duration

FOLDER = "scenarios"
_START = datetime(2024, 1, 1, 9, tzinfo=UTC)


class ScenarioInvalid(DemaqError):
    """A scenario is not written as it should be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """Put messages into a queue. `refused` says that they are not to be taken in."""

    queue: str
    bodies: tuple[str, ...]
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
        root = etree.parse(str(file), etree.XMLParser(resolve_entities=False, no_network=True)).getroot()
    except (etree.XMLSyntaxError, OSError) as error:
        raise ScenarioInvalid(f"{file}: {error}") from error
    elements = [root] if root.tag == "scenario" else list(root.iterchildren("scenario"))
    if not elements:
        raise ScenarioInvalid(f'{file}: a scenario begins with <scenario name="…">')
    return [_scenario(element, file) for element in elements]


def _scenario(element: "etree._Element", file: Path) -> Scenario:
    start = element.get("start")
    try:
        begin = _START if start is None else datetime.fromisoformat(start.replace("Z", "+00:00")).astimezone(UTC)
    except ValueError as error:
        raise ScenarioInvalid(f"{file}, line {element.sourceline}: `{start}` is no time") from error
    name = element.get("name") or file.stem
    return Scenario(name=name, file=file, start=begin, steps=tuple(_steps(element, file)))


def _steps(scenario: "etree._Element", file: Path) -> Iterator[Step]:
    for element in scenario.iterchildren(tag=etree.Element):
        line = int(element.sourceline or 0)
        try:
            yield _step(element, file, line)
        except (KeyError, DurationInvalid) as error:
            missing = f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else str(error)
            raise ScenarioInvalid(f"{file}, line {line}: <{element.tag}>: {missing}") from error


def _step(element: "etree._Element", file: Path, line: int) -> Step:
    attributes = dict(element.attrib)
    if element.tag == "wait":
        return Wait(time=duration(str(attributes["for"])), line=line)
    if element.tag == "expect":
        return Expect(queue=str(attributes["queue"]), bodies=tuple(_bodies(element, file, line)), line=line)
    if element.tag != "send":
        raise ScenarioInvalid(f"{file}, line {line}: there is no step <{element.tag}>: use <send>, <wait> or <expect>")
    properties = {
        str(name): str(value) for name, value in attributes.items() if name not in ("queue", "file", "times", "refused")
    }
    bodies = tuple(_bodies(element, file, line)) * int(attributes.get("times", 1))
    return Send(
        queue=str(attributes["queue"]),
        bodies=bodies,
        properties=properties,
        refused=attributes.get("refused") == "true",
        line=line,
    )


def _bodies(element: "etree._Element", file: Path, line: int) -> Iterator[str]:
    named = element.get("file")
    if named is not None:
        place = file.parent / named
        if not place.is_file():
            raise ScenarioInvalid(f"{file}, line {line}: there is no file `{place}`")
        yield place.read_text(encoding="utf-8-sig")
    for child in element.iterchildren(tag=etree.Element):
        yield etree.tostring(child, encoding="unicode", with_tail=False)
