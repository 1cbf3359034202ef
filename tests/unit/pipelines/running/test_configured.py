"""What `$name` stands for in URIs."""

from pathlib import Path
from unittest.mock import patch

import pytest

from demaq.diagnostics import DemaqError, Source
from demaq.pipelines import compile_pipeline
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.running import http
from demaq.pipelines.running.configured import configured, resolved, seen
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.memory import run_here

TEXT = "@from(file:$place/in.json) { p(x: integer). } @to(file:$place/$name.json) { p }"


def endpoints(folder: Path, text: str = TEXT) -> Endpoints:
    return Endpoints(compile_pipeline(Source("test.lila", text)), folder)


def test_the_environment_comes_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "demaq.toml").write_text('name = "x"\n[config]\nplace = "there"\nname = "out"\n', encoding="utf-8")
    (tmp_path / "here").mkdir()
    (tmp_path / "here/in.json").write_text('[{"x": 1}]', encoding="utf-8")
    monkeypatch.setenv("place", "here")
    ran = run_here(endpoints(tmp_path))
    assert (tmp_path / "here/out.json").exists()
    assert ran.sent == {"to(file:$place/$name.json)": 1}  # and not what they stand for


def test_what_is_not_configured_is_told(tmp_path: Path) -> None:
    with pytest.raises(PipelineFailed, match=r"`\$place` in `file:\$place/in.json` is not configured: set it in"):
        run_here(endpoints(tmp_path))


@pytest.mark.parametrize("text", ["config = 1", "[config]\nplace = 1", "[config"])
def test_a_file_that_is_wrong(text: str, tmp_path: Path) -> None:
    (tmp_path / "demaq.toml").write_text(text, encoding="utf-8")
    with pytest.raises(PipelineFailed, match=r"demaq\.toml"):
        configured(tmp_path)


@pytest.fixture
def hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose name nobody may see, with a file that cannot be read."""
    (tmp_path / "s3cret").mkdir()
    (tmp_path / "s3cret/broken.json").write_text("no", encoding="utf-8")
    monkeypatch.setenv("place", f"../{tmp_path.name}/s3cret")
    monkeypatch.setenv("end", "n")
    monkeypatch.setenv("word", "s3cret/more")
    monkeypatch.setenv("blank", "s3cret more")
    return tmp_path


@pytest.mark.parametrize("uri", ["$place", "$place/*.json", "$place/broken.json", "$place/broke$end.json"])
def test_files_that_cannot_be_read_are_shown_as_they_are_written(uri: str, hidden: Path) -> None:
    text = f"@from(file:{uri}) {{ p(x). }} @from(errors:) {{ wrong(file). }} @to(wrong.jsonl) {{ wrong }}"
    (wrong,) = run_here(endpoints(hidden, text)).wrong
    shown = uri if uri.endswith("$end.json") else "$place/broken.json"
    assert str(wrong).startswith(f"{shown}, line 1: it is no JSON")
    assert (hidden / "wrong.jsonl").read_text(encoding="utf-8") == f'[{{"file": "{shown}"}}]\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "@from(file:$place/x.json) { p(x). } @to(console:) { p }",
            r"^there is no file `\$place/x\.json`: .* in the folder `\$place`$",
        ),
        ("@from(file:in.json) { p(x). } @to(file:$place) { p }", r"^`\$place` has other files, such as `broken"),
        ("@from(http:$place/x) { p(x). } @to(console:) { p }", r"^`http:\$place/x` is no address of a service: "),
        ("@from(http://ann:$word@h/) { p(x). } @to(console:) { p }", r"^`http://ann:\$word@h/` is no address .*%2F"),
        ("@from(http://[$word]/) { p(x). } @to(console:) { p }", r"^`http://\[\$word\]/` is no address"),
        ("@from(http://127.0.0.1:99999/) { p(x). } @to(console:) { p }", "is no address of a service"),
        ("@from(http://h/$blank) { p(x). } @to(console:) { p }", r"^`http://h/\$blank` cannot be asked: a blank in"),
    ],
)
def test_what_is_configured_is_in_no_message(text: str, said: str, hidden: Path) -> None:
    (hidden / "in.json").write_text('[{"x": 1}]', encoding="utf-8")
    with patch.object(http, "_PAUSES", ()), pytest.raises(DemaqError, match=said) as error:
        run_here(endpoints(hidden, text))
    assert "s3cret" not in str(error.value)


def test_the_ending_of_what_is_configured_comes_too_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in.json").write_text('[{"x": 1}]', encoding="utf-8")
    text = "@from(file:in.json) { p(x). } @to(file:$goal) { p }"
    for goal, words in (("out.csv", "csv"), ("out.jsonl", "json, lines")):
        monkeypatch.setenv("goal", goal)
        with pytest.raises(PipelineFailed, match=f"taken for json, .* something else: write `{words}` behind it"):
            run_here(endpoints(tmp_path, text))
        run_here(endpoints(tmp_path, text.replace("$goal", f"$goal, {words}")))
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == "x\n1\n"
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8") == '[{"x": 1}]\n'


@pytest.mark.parametrize("value", ["postgresql://h/db?password=s3cret", "jdbc:postgresql://h/db?password=s3cret"])
def test_what_is_configured_may_say_the_scheme_once_more(value: str, tmp_path: Path) -> None:
    (source,) = compile_pipeline(Source("test.lila", "@from(jdbc:$db) { p(x). } @to(console:) { p }")).sources
    found = resolved(source.endpoint, {"db": value}, tmp_path)
    assert (found.uri, found.path) == ("jdbc:postgresql://h/db?password=s3cret", "postgresql://h/db?password=s3cret")
    assert "s3cret" not in seen(f"{found.uri} and {value}", found)
