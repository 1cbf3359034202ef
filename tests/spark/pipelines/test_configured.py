"""What `$name` stands for is not shown, on Spark either."""

import json
from pathlib import Path
from typing import Any

import pytest

from demaq.pipelines.errors import PipelineFailed


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("spark:$what?password=$word", r"`spark:\$what\?password=\$word` cannot be read: .*data source.*\$what"),
        (
            "file:$what/none.parquet",
            r"`file:\$what/none.parquet` cannot be read: .*PATH_NOT_FOUND.*\$what/none.parquet",
        ),
    ],
)
def test_tables_that_cannot_be_read(
    spark: Any, pipeline: Any, monkeypatch: pytest.MonkeyPatch, uri: str, said: str
) -> None:
    monkeypatch.setenv("what", "s3cret.format")
    monkeypatch.setenv("word", "s3cret")
    with pytest.raises(PipelineFailed, match=said) as error:
        pipeline(f'@from("{uri}") {{ p(x). }} @to(file:out.json) {{ p }}').execute(spark)
    assert "s3cret" not in str(error.value)


def test_files_that_cannot_be_read(spark: Any, pipeline: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("place", f"../{tmp_path.name}/s3cret")
    (tmp_path / "s3cret").mkdir()
    (tmp_path / "s3cret/a.json").write_text("no", encoding="utf-8")
    text = "@from(file:$place) { p(x). } @from(errors:) { wrong(file). } @to(file:out.json) { wrong }"
    ran = pipeline(text).execute(spark)
    assert [str(wrong).partition(",")[0] for wrong in ran.wrong] == ["$place/a.json"]
    assert json.loads((tmp_path / "out.json").read_text()) == [{"file": "$place/a.json"}]


def test_files_that_only_workers_see(
    spark: Any, pipeline: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From file to file, without anything in between."""
    monkeypatch.setenv("place", f"../{tmp_path.name}/s3cret")
    (tmp_path / "s3cret").mkdir()
    (tmp_path / "s3cret/a.json").write_text("no", encoding="utf-8")
    (tmp_path / "s3cret/b.json").write_text('[{"x": 1}]', encoding="utf-8")
    ran = pipeline("@from(file:$place) { p(x: integer). } @to(file:out.csv) { p }").execute(spark)
    assert [str(wrong).partition(",")[0] for wrong in ran.wrong] == ["$place/a.json"]
    assert (tmp_path / "out.csv").read_text() == "x\n1\n"
