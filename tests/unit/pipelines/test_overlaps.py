"""Goals that lie where a source reads, or where another goal lies."""

import pytest

from demaq.diagnostics import Source
from demaq.pipelines import check_pipeline, codes


@pytest.mark.parametrize(
    ("read", "written"),
    [
        ("x.csv", "file:x.csv"),
        ("file:a/x.csv", "file:b/../a//x.csv"),
        ("file:../x.csv", "file:a/../../x.csv"),
        ("file:///data/x.csv", "file:/data/x.csv"),
        ("file:$place/x.csv", "file:$place/x.csv"),
        ("file:$place", "file:$place/x.csv"),
        ("file:.", "file:out.json"),
        ("file:..", "file:out.json"),
        ("file:in", "file:in/a/out.json"),
        ("file:in/*.json", "file:in/out.json"),
        ("file:in/*.json", "file:in"),
        ("file:*/*.json", "file:out"),
        ("file:*/*.parquet", "file:out.parquet"),
        ("file:in/*, parquet", "file:in/a/b/out.json"),
        ("file:_in/*.json", "file:_in/out.json"),
        ("file:in/**/*.json", "file:in/out.json"),
        ("file:in/**/*.json", "file:in/a/b/out.json"),
        ("file:in/[ab].json", "file:in/[ab].json"),
        ("file:out/old.csv", "file:out/"),
        ("file:data.parquet/1.parquet", "file:data.parquet"),
    ],
)
def test_they_overlap(read: str, written: str) -> None:
    assert found(read, written) == [codes.OVERWRITTEN]


@pytest.mark.parametrize(
    ("read", "written"),
    [
        ("x.csv", "file:X.csv"),
        ("x.csv", "file:a/x.csv"),
        ("x.csv", "file:../x.csv"),
        ("x.csv", "file:/x.csv"),
        ("file:in", "file:inner/out.json"),
        ("file:in", "file:in/_out.json"),
        ("file:in", "file:in/.done/out.json"),
        ("file:in/*.json", "file:in/.out.json"),
        ("file:in/*.json", "file:in/_out.json"),
        ("file:in/*", "file:in/a/b/out.json"),
        ("file:in/**/*.json", "file:in/_done/out.json"),
        ("file:in/*.json", "file:in/out.csv"),
        ("file:*/*.csv", "file:out, json"),
        ("file:a/*/in.json", "file:a/in.json"),
        ("queue:x", "queue:x"),
        ("http://here/x.csv", "http://here/x.csv"),
    ],
)
def test_they_do_not(read: str, written: str) -> None:
    assert found(read, written) == []


def found(read: str, written: str) -> list[object]:
    text = f"@from({read}) {{ p(x). }} @to({written}) {{ p }}"
    return [diagnostic.code for diagnostic in check_pipeline(Source("test.lila", text)).report]


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("x.csv", "file:./a/../x.csv", True),
        ("file:out", "file:out/", True),
        ("file:out/", "file:out/a/x.csv", True),
        ("file:out/a/x.csv", "file:out", True),
        ("file:$place/x.csv", "file:$place/x.csv", True),
        ("file:out.parquet", "file:out.parquet/x.json", True),
        ("x.csv", "x.json", False),
        ("file:out", "file:output", False),
        ("x.csv", "a/x.csv", False),
        ("queue:x", "queue:x", False),
        ("http://here/x.csv", "http://here/x.csv", False),
    ],
)
def test_two_goals(one: str, other: str, is_same: bool) -> None:
    text = f"@from(in.json) {{ p(x). }} @to({one}) {{ p }} @to({other}) {{ p }}"
    found = [diagnostic.code for diagnostic in check_pipeline(Source("test.lila", text)).report]
    assert found == ([codes.SAME_GOAL] if is_same else [])
