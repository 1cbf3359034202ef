"""`demaq pipeline`: exit codes, and what goes where."""

import json
from pathlib import Path
from unittest.mock import patch

import pytest
from click.testing import CliRunner, Result

from demaq.cli import lila, main
from demaq.pipelines import compile_pipeline
from demaq.pipelines.running.endpoints import Endpoints

RIGHT = "@from(file:in.json) { a(x). }\nb(x) :- a(x), x > 1.\n@to(file:out.json) { b }\n"
WRONG = "@from(file:in.json) { a(x). }\n@to(file:out.json) { b }\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "right.lila").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "wrong.lila").write_text(WRONG, encoding="utf-8")
    (tmp_path / "right.txt").write_text(RIGHT, encoding="utf-8")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["pipeline", *arguments])


@pytest.mark.usefixtures("folder")
def test_check() -> None:
    assert (run("check", "right.lila").exit_code, run("check", "wrong.lila").exit_code) == (0, 1)
    report = json.loads(run("check", "wrong.lila", "--json").stdout)
    assert (report["ok"], report["errors"]) == (False, 1)
    assert report["diagnostics"][0]["line"] == 2


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("rigth.lila", "there is no file `rigth.lila`; did you mean `right.lila`?"),
        ("nowhere/x.lila", "there is no file `nowhere/x.lila`"),
        ("right.txt", "`right.txt` is no `.lila` file"),
        (".", "`.` is a folder; a pipeline is a `.lila` file"),
    ],
)
@pytest.mark.parametrize("command", ["check", "explain"])
def test_what_is_no_pipeline_is_misuse(command: str, file: str, said: str) -> None:
    result = run(command, file)
    assert result.exit_code == 2
    assert result.stderr == f"error: {said}\n"


@pytest.mark.usefixtures("folder")
def test_nothing_is_explained_while_there_are_errors() -> None:
    result = run("explain", "wrong.lila")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "error[DQ1101]" in result.stderr
    assert result.stderr.endswith("wrong: 1 error; nothing to explain\n")


@pytest.mark.usefixtures("folder")
def test_the_plan() -> None:
    result = run("explain", "right.lila", "--plan")
    assert result.exit_code == 0
    assert result.stdout == (
        "send to(file:out.json)\n  b\n    distinct\n      scan a(x) of from(file:in.json) where x > 1\n"
    )


@pytest.mark.usefixtures("folder")
def test_one_form_at_a_time() -> None:
    assert run("explain", "right.lila", "--json", "--mermaid").exit_code == 2
    assert run("explain", "right.lila", "--svg", "-", "--plan").exit_code == 2
    assert run("explain", "right.lila", "--plan", "--spark").exit_code == 2
    assert run("explain", "right.lila", "--graph", "nonsense").exit_code == 2


def test_pictures(folder: Path) -> None:
    for graph in ("routes", "dependencies"):
        result = run("explain", "right.lila", "--graph", graph, "--svg", f"{graph}.svg")
        assert result.exit_code == 0
        assert f"right: {graph}" in (folder / f"{graph}.svg").read_text(encoding="utf-8")
        mermaid = run("explain", "right.lila", "--graph", graph, "--mermaid").stdout
        assert "flowchart LR" in mermaid
    assert run("explain", "right.lila", "--svg", "no/such/folder.svg").exit_code == 2


@pytest.mark.usefixtures("folder")
def test_everything_as_json() -> None:
    data = json.loads(run("explain", "right.lila", "--json").stdout)
    assert [node["id"] for node in data["nodes"]] == ["from(file:in.json)", "b", "to(file:out.json)"]
    assert data["relations"][0]["parameters"] == [{"name": "x", "type": "number", "declared": False}]


@pytest.mark.usefixtures("folder")
def test_the_plan_as_json() -> None:
    data = json.loads(run("explain", "right.lila", "--json", "--plan").stdout)
    assert data.pop("plan") == run("explain", "right.lila", "--plan").stdout
    assert data == json.loads(run("explain", "right.lila", "--json").stdout)


@pytest.mark.usefixtures("folder")
def test_what_spark_makes_of_it_as_json() -> None:
    with patch.object(lila, "Session"), patch.object(lila, "spark_plans", return_value=iter([("b of c", "Scan\n+-")])):
        data = json.loads(run("explain", "right.lila", "--json", "--spark", "--plan").stdout)
    assert data["spark"] == {"b of c": "Scan\n+-"}
    assert data["plan"].startswith("send to(file:out.json)")


CONFIGURED = "@from(file:$name.json) { a(x: integer). }\n@to(file:out.json) { a }\n"


def test_settings_are_beside_the_pipeline_whatever_names_are_relative_to(folder: Path) -> None:
    (folder / "p.lila").write_text(CONFIGURED, encoding="utf-8")
    (folder / "demaq.toml").write_text('spark.jars = "x.jar"\n[config]\nname = "in"\n', encoding="utf-8")
    (folder / "other").mkdir()
    (folder / "other/in.json").write_text('[{"x": 1}]', encoding="utf-8")
    found = run("run", "p.lila", "--folder", "other", "--spark", "off")
    assert (found.exit_code, (folder / "other/out.json").exists()) == (0, True), found.output
    endpoints = Endpoints(compile_pipeline(folder / "p.lila"), folder / "other")
    with patch.object(lila, "Session") as session:
        lila.session_for(endpoints, "auto")
    assert session.call_args.args[1]["spark.jars"] == "x.jar"


def test_what_goes_to_the_console_is_no_json(folder: Path) -> None:
    (folder / "p.lila").write_text("@from(file:in.json) { a(x). }\n@to(console:) { a }\n", encoding="utf-8")
    (folder / "in.json").write_text('[{"x": 1}]', encoding="utf-8")
    found = run("run", "p.lila", "--spark", "off", "--json")
    assert json.loads(found.stdout)["sent"] == {"to(console:)": 1}
    assert found.stderr == "a(1)\n"
    assert run("run", "p.lila", "--spark", "off").stdout.startswith("a(1)\n")
