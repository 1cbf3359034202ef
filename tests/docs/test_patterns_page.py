"""The catalogue of patterns has a section for each pattern that there is, and every section does what it says.

The pictures are those that `demaq pipeline explain --svg` draws. `DEMAQ_GOLDEN=write` draws them anew; look at them
before you commit them.
"""

import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from demaq.cli import main
from demaq.diagnostics import Source
from demaq.pipelines import Program, check_pipeline
from demaq.pipelines.analysis.ldg import dependency_graph
from demaq.pipelines.analysis.patterns import PatternKind, patterns
from docs.fences import DOCS, Block, Section, anchors, links, sections
from docs.story import tell

PAGE = DOCS / "patterns.md"
PICTURES = DOCS / "pictures" / "patterns"
SECTIONS = {found.title.lower(): found for found in sections(PAGE) if found.level == 3}
INPUTS = ("csv", "json", "jsonl", "xml")

every_kind = pytest.mark.parametrize("kind", PatternKind, ids=lambda kind: _name(kind))


def _name(kind: PatternKind) -> str:
    """What the files of a pattern are called."""
    return re.sub(r"[ /]", "-", kind.value)


def _section(kind: PatternKind) -> Section:
    return SECTIONS[kind.value]


def _pipeline(kind: PatternKind) -> Block:
    (block,) = (block for block in _section(kind).blocks if block.language == "lila")
    return block


def _program(kind: PatternKind) -> Program:
    checked = check_pipeline(Source(f"{_name(kind)}.lila", _pipeline(kind).text))
    assert not [finding.message for finding in checked.report]
    assert checked.program is not None
    return checked.program


def test_each_pattern_has_a_section() -> None:
    assert set(SECTIONS) == {kind.value for kind in PatternKind}


def test_the_table_leads_to_each_section() -> None:
    inner = {target[1:] for target in links(PAGE.read_text(encoding="utf-8")) if target.startswith("#")}
    assert inner <= anchors(PAGE)
    assert len(inner) == len(PatternKind)


@every_kind
def test_a_pipeline_has_the_pattern_of_its_section(kind: PatternKind) -> None:
    assert kind in {found.kind for found in patterns(dependency_graph(_program(kind).nodes))}


@every_kind
def test_a_pipeline_is_short(kind: PatternKind) -> None:
    lines = _pipeline(kind).text.splitlines()
    assert 5 <= len(lines) <= 12
    assert max(len(line) for line in lines) <= 120


@every_kind
def test_a_section_shows_what_goes_in_and_what_comes_out(kind: PatternKind) -> None:
    program = _program(kind)
    shown = {block.options.get("file") for block in _section(kind).blocks if block.language in INPUTS}
    sources = {source.endpoint.path for source in program.sources}
    assert shown == sources | {enricher.endpoint.path for enricher in program.enrichers}

    (console,) = (block.text for block in _section(kind).blocks if block.language == "console")
    commands = [line[2:] for line in console.splitlines() if line.startswith("$ ")]
    assert commands == [
        f"demaq pipeline run {_name(kind)}.lila",
        *(f"cat {goal.endpoint.path}" for goal in program.sinks),
    ]
    assert "in memory" in console


@every_kind
def test_a_section_can_be_tried_alone(kind: PatternKind, tmp_path: Path) -> None:
    wrong = tell(PAGE, _section(kind).blocks, tmp_path)
    assert not wrong, "\n\n".join(wrong)


@every_kind
def test_a_picture_is_what_explain_draws(kind: PatternKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(f"{_name(kind)}.lila").write_text(_pipeline(kind).text, encoding="utf-8")
    result = CliRunner().invoke(main, ["pipeline", "explain", f"{_name(kind)}.lila", "--svg", "drawn.svg"])
    assert result.exit_code == 0, result.output
    drawn = Path("drawn.svg").read_bytes()
    picture = PICTURES / f"{_name(kind)}.svg"
    if os.environ.get("DEMAQ_GOLDEN") == "write":
        picture.parent.mkdir(exist_ok=True)
        picture.write_bytes(drawn)
    assert picture.read_bytes() == drawn
    assert links(_section(kind).text) == [f"pictures/patterns/{picture.name}"]
