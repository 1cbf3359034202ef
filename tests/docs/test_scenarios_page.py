"""The page on scenarios has every step and attribute that a scenario may have."""

from datetime import datetime
from pathlib import Path

import pytest

from demaq.testing import ScenarioInvalid, read_scenarios
from docs.fences import DOCS, code_spans, section, sections, table

PAGE = DOCS / "reference" / "scenarios.md"
TITLES = {"scenario": "The file", "send": "send", "wait": "wait", "expect": "expect"}


def _attributes(element: str) -> list[str]:
    return [code_spans(row[0])[0] for row in table(section(PAGE, TITLES[element]).text) if "`" in row[0]]


def _read(text: str, folder: Path) -> None:
    (folder / "message.xml").write_text("<m/>", encoding="utf-8")
    file = folder / "scenario.xml"
    file.write_text(text, encoding="utf-8")
    read_scenarios(file)


def test_steps() -> None:
    assert {found.title for found in sections(PAGE) if found.level == 3} == {"send", "wait", "expect"}


@pytest.mark.parametrize(("element", "needed"), [("send", "queue"), ("wait", "for"), ("expect", "queue")])
def test_what_is_needed_is_said_to_be(element: str, needed: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioInvalid, match=f"`{needed}` is missing"):
        _read(f"<scenario><{element}/></scenario>", tmp_path)
    rows = {code_spans(row[0])[0]: row[1] for row in table(section(PAGE, element).text) if "`" in row[0]}
    assert [name for name, meaning in rows.items() if "needed" in meaning] == [needed]


def test_attributes() -> None:
    assert _attributes("scenario") == ["name", "start"]
    assert _attributes("send") == ["queue", "file", "times", "refused"]
    assert _attributes("wait") == ["for"]
    assert _attributes("expect") == ["queue", "file"]


def test_attributes_mean_something(tmp_path: Path) -> None:
    (tmp_path / "message.xml").write_text("<m/>", encoding="utf-8")
    file = tmp_path / "scenario.xml"
    file.write_text(
        """<scenario name="n" start="2020-02-02T20:20:00Z">
          <send queue="q" file="message.xml" times="2" refused="true" colour="red"/>
          <wait for="PT1M"/>
          <expect queue="q" file="message.xml"/>
        </scenario>""",
        encoding="utf-8",
    )
    (scenario,) = read_scenarios(file)
    assert (scenario.name, scenario.start.isoformat()) == ("n", "2020-02-02T20:20:00+00:00")
    send, wait, expect = scenario.steps
    assert vars_of(send) == {"queue": "q", "bodies": 2, "properties": {"colour": "red"}, "refused": True}
    assert wait.time.total_seconds() == 60  # type: ignore[union-attr]
    assert len(expect.bodies) == 1  # type: ignore[union-attr]


def vars_of(step: object) -> dict[str, object]:
    found = {name: getattr(step, name) for name in ("queue", "bodies", "properties", "refused")}
    return {**found, "bodies": len(found["bodies"])}


def test_the_time_at_which_scenarios_begin(tmp_path: Path) -> None:
    file = tmp_path / "scenario.xml"
    file.write_text("<scenario/>", encoding="utf-8")
    (scenario,) = read_scenarios(file)
    assert isinstance(scenario.start, datetime)
    assert scenario.start.strftime("%H %d %B %Y") == "09 01 January 2024"
    (row,) = (row for row in table(section(PAGE, "The file").text) if row[0] == "`start`")
    assert "nine o'clock on 1 January 2024" in row[1]
