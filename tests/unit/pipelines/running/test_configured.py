"""What `$name` stands for in URIs."""

from pathlib import Path

import pytest

from demaq.diagnostics import Source
from demaq.pipelines import compile_pipeline
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.running.configured import configured
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.memory import run_here

TEXT = "@from(file:$place/in.json) { p(x: integer). } @to(file:$place/$name.json) { p }"


def endpoints(folder: Path) -> Endpoints:
    return Endpoints(compile_pipeline(Source("test.lila", TEXT)), folder)


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
