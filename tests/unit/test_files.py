"""Which files a name stands for."""

from pathlib import Path

import pytest

from demaq.files import FileMissing, InputInvalid, files

NAMES = ("b.json", "a/x.json", "a-b.json", "c.json/z.json", "c.json/_z.json", "_d.json", ".e.json", "_f/y.json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    return tmp_path


def found(folder: Path, name: str, *, looks_into_folders: bool = True) -> list[str]:
    every = files(str(folder / name), looks_into_folders=looks_into_folders)
    return [str(Path(each).relative_to(folder)) for _, each in every]


@pytest.mark.parametrize(
    ("name", "outside", "inside"),
    [
        (".", ["a-b.json", "a/x.json", "b.json", "c.json/z.json"], []),
        ("*.json", ["a-b.json", "b.json"], ["c.json/z.json"]),
        ("*/*.json", ["a/x.json", "c.json/z.json"], []),
        ("**/*.json", ["a-b.json", "a/x.json", "b.json", "c.json/z.json"], ["c.json/z.json"]),
        ("_f/*.json", ["_f/y.json"], []),
        ("_d.json", ["_d.json"], []),
        (".e.json", [".e.json"], []),
    ],
)
def test_many_are_sorted_by_all_of_their_names_and_hidden_ones_are_left_out(
    folder: Path, name: str, outside: list[str], inside: list[str]
) -> None:
    assert found(folder, name, looks_into_folders=False) == outside
    assert found(folder, name) == sorted([*outside, *inside])


@pytest.mark.parametrize("name", ["_*.json", ".*.json", "*.xml"])
def test_a_pattern_may_stand_for_nothing(folder: Path, name: str) -> None:
    with pytest.raises(FileMissing, match="there is no file"):
        files(str(folder / name))


def test_a_folder_without_files_is_told(tmp_path: Path) -> None:
    (tmp_path / "_x.json").write_text("", encoding="utf-8")
    with pytest.raises(InputInvalid, match="there are no files in the folder"):
        files(str(tmp_path))


def test_brackets_may_be_those_of_a_name(tmp_path: Path) -> None:
    for name in ("in[1]/a[1].json", "in[1]/b.json", "in1/a1.json", "in1/b.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    assert found(tmp_path, "in[1]/*.json") == ["in[1]/a[1].json", "in[1]/b.json"]
    assert found(tmp_path, "in[1]/a[1].json") == ["in[1]/a[1].json"]
    assert found(tmp_path, "in[12]/[ab].json") == ["in1/b.json"]
    assert found(tmp_path, "*/a[1].json") == ["in1/a1.json"]
