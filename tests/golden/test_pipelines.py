"""Golden cases of pipelines: `expected.txt` is what `demaq pipeline check` prints for the `.lila` file of a folder.

Where there is an `explained.txt`, it is what `demaq pipeline explain` prints, so that graphs, patterns and routes are
specified, too; and where there are `routes.svg` and `dependencies.svg`, as for the figures of the paper, what it draws.
`DEMAQ_GOLDEN=write` writes the expected texts anew; read the difference before you commit it.
"""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from demaq.cli import main
from demaq.diagnostics import Code
from demaq.pipelines import codes

CASES = sorted((Path(__file__).parent / "pipelines").glob("*/*.lila"))
EXPLAINED = [case for case in CASES if (case.parent / "explained.txt").exists()]
GRAPHS = ("routes", "dependencies")
DRAWN = [(case, graph) for case in CASES for graph in GRAPHS if (case.parent / f"{graph}.svg").exists()]


def _printed(case: Path, command: str) -> str:
    result = CliRunner().invoke(main, ["pipeline", command, case.name])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return f"{result.output}exit {result.exit_code}\n"


def _compare(printed: str, expected: Path) -> None:
    if os.environ.get("DEMAQ_GOLDEN") == "write":
        expected.write_text(printed, encoding="utf-8")
    assert printed == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.parent.name)
def test_check_prints_what_is_expected(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case.parent)
    _compare(_printed(case, "check"), case.parent / "expected.txt")


@pytest.mark.parametrize("case", EXPLAINED, ids=lambda case: case.parent.name)
def test_explain_prints_what_is_expected(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case.parent)
    _compare(_printed(case, "explain"), case.parent / "explained.txt")


@pytest.mark.parametrize(
    ("case", "graph"), DRAWN, ids=lambda value: value if isinstance(value, str) else value.parent.name
)
def test_explain_draws_what_is_expected(
    case: Path, graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(case.parent)
    picture = tmp_path / "drawn.svg"
    result = CliRunner().invoke(main, ["pipeline", "explain", case.name, "--graph", graph, "--svg", str(picture)])
    assert result.exit_code == 0, result.output
    _compare(picture.read_text(encoding="utf-8"), case.parent / f"{graph}.svg")


@pytest.mark.parametrize("code", codes.ALL, ids=lambda code: code.name)
def test_every_code_has_a_case(code: Code) -> None:
    assert any(f"[{code.name}]" in (case.parent / "expected.txt").read_text(encoding="utf-8") for case in CASES)
