"""Files as goals: what cannot be written is told in a sentence, and what is packed when it is read is so, too."""

import bz2
import errno
import gzip
from pathlib import Path
from unittest.mock import patch

import pytest

from demaq.diagnostics import Source
from demaq.pipelines import compile_pipeline
from demaq.pipelines.documents import Shape
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.goals import GoalRefused
from demaq.pipelines.running.memory import in_order, run_here
from demaq.pipelines.running.packing import opened
from demaq.pipelines.running.report import Ran
from demaq.pipelines.values import ValueType


def endpoints(folder: Path, goal: str) -> Endpoints:
    return Endpoints(compile_pipeline(Source("test.lila", f"p(1). @to({goal}) {{ p }}")), folder)


def run(folder: Path, goal: str) -> Ran:
    return run_here(endpoints(folder, goal))


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        ("folder.json", "/folder.json` is a folder, and the goal a file: name another file, or a folder without"),
        ("file.txt/x.json", "/file.txt` is a file, and no folder for a goal: name another folder"),
        ("file.txt/in/x.json", "/file.txt` is a file, and no folder for a goal: name another folder"),
        ("file.txt/messages/", "/file.txt` is a file, and no folder for a goal: name another folder"),
        ("/proc/x.json", "^`/proc/x.json` cannot be written: .*; name a goal in another folder"),
        ("/proc/messages/", "^`/proc/messages.* cannot be written: .*; name a goal in another folder"),
    ],
)
def test_what_cannot_be_written_is_told(goal: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "file.txt").write_text("dear", encoding="utf-8")
    with pytest.raises(GoalRefused, match=said):
        run(tmp_path, f"file:{goal}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.txt", "folder.json"]
    made = endpoints(tmp_path, f"file:{goal}")
    with pytest.raises(GoalRefused, match=said):
        made.add(made.program.sinks[0], lambda _by_message: [(0, 0, (1,))], {}, ("a stream", 0))


def test_a_disk_that_is_full_is_told(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    with patch("os.chmod", side_effect=full), pytest.raises(GoalRefused, match="cannot be written: no space left on"):
        run(tmp_path, "file:out.json")
    assert list(tmp_path.iterdir()) == []


SHAPES = (Shape("p", ("x",), (ValueType.INTEGER,)),)
UNPACK = {".gz": gzip.decompress, ".bz2": bz2.decompress}
FACTS = "@from(file:in.json) { p(x: integer). q(x: integer). }"


@pytest.mark.parametrize("ending", UNPACK)
@pytest.mark.parametrize("goal", ["out.json", "out.jsonl", "out.csv", "out.xml", "out.datalog"])
@pytest.mark.parametrize("document", ['{"p": [{"x": 1}, {"x": 2}]}', '{"q": [{"x": 1}]}'])
def test_what_can_be_read_packed_is_written_so(goal: str, ending: str, document: str, tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text(document, encoding="utf-8")
    text = f"{FACTS} @to({goal}) {{ p }} @to({goal}{ending}) {{ p }}"
    run_here(Endpoints(compile_pipeline(Source("test.lila", text)), tmp_path))
    plain = (tmp_path / goal).read_bytes()
    assert UNPACK[ending]((tmp_path / f"{goal}{ending}").read_bytes()) == plain
    (tmp_path / goal).unlink()
    text = f"@from({goal}{ending}) {{ p(x: integer). }} @to({goal}) {{ p }}"
    assert run_here(Endpoints(compile_pipeline(Source("test.lila", text)), tmp_path)).wrong == []
    assert (tmp_path / goal).read_bytes() == plain


@pytest.mark.parametrize("ending", UNPACK)
@pytest.mark.parametrize("goal", ["out.jsonl", "out.csv", "out.datalog"])
def test_packed_files_grow(goal: str, ending: str, tmp_path: Path) -> None:
    packed, plain = (endpoints(tmp_path, name) for name in (f"{goal}{ending}", goal))
    lengths: dict[str, dict[str, int]] = {goal: {}, ending: {}}
    batches: list[list[tuple[int, int]]] = [[(0, 1)], [], [(1, 2), (2, 3)]]
    for number, batch in enumerate(batches):
        for made, name in ((packed, ending), (plain, goal)):
            before = dict(lengths[name])
            for _ in range(2):  # the second time, as if it had crashed
                lengths[name] = dict(before)
                made.add(made.program.sinks[0], in_order({"p": batch}, SHAPES), lengths[name], ("s", number))
    assert UNPACK[ending]((tmp_path / f"{goal}{ending}").read_bytes()) == (tmp_path / goal).read_bytes()
    assert (tmp_path / goal).read_text(encoding="utf-8").count("3") == 1


@pytest.mark.parametrize("goal", ["out.json.gz", "out.xml.bz2"])
def test_packed_files_with_an_end_do_not_grow(goal: str, tmp_path: Path) -> None:
    with pytest.raises(GoalRefused, match=r"cannot grow, since it is packed, and has an end: add `lines`, name a"):
        endpoints(tmp_path, goal).check_growing(is_new=True)


def content(path: Path) -> bytes:
    with opened(str(path)) as file:
        return file.read()


GOALS = ["out.json", "out.jsonl", "out.csv", "out.xml", "out.datalog", "out.csv.gz", "out.jsonl.bz2"]


@pytest.mark.parametrize("goal", GOALS)
def test_a_stream_without_messages_writes_what_a_run_writes(goal: str, tmp_path: Path) -> None:
    """And so it does when some come at last."""
    made, lengths, path = endpoints(tmp_path, goal), dict[str, int](), tmp_path / goal
    (sink,) = made.program.sinks
    for batch in ([], [], [(0, 1)], [], [(1, 2)]):
        made.add(sink, in_order({"p": batch}, SHAPES), lengths, ("s", 0))
        if not batch and not lengths[sink.id]:
            found = path.read_bytes()
            made.write(sink, in_order({}, SHAPES))
            assert path.read_bytes() == found
    found = content(path)
    made.write(sink, in_order({"p": [(0, 1), (1, 2)]}, SHAPES))
    assert content(path) == found


@pytest.mark.parametrize("goal", ["out.json", "out.datalog", "folder/"])
def test_goals_that_a_stream_had_nothing_for_are_there_in_the_end(goal: str, tmp_path: Path) -> None:
    made = endpoints(tmp_path, goal)
    made.write_what_is_missing()
    path = tmp_path / goal
    found = sorted(path.iterdir()) if path.is_dir() else path.read_bytes()
    made.write_what_is_missing()
    made.write(made.program.sinks[0], in_order({}, SHAPES))
    assert (sorted(path.iterdir()) if path.is_dir() else path.read_bytes()) == found


def test_what_a_stream_was_writing_when_it_was_killed_is_not_left_behind(tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    made = endpoints(tmp_path, "folder/")
    (sink,) = made.program.sinks
    facts = in_order({"p": [(0, 1)]}, SHAPES)
    with patch("os.replace", side_effect=Killed), pytest.raises(Killed):
        made.add(sink, facts, {}, ("s", 0))
    left = list((tmp_path / "folder").iterdir())
    assert len(left) == 1  # else this test shows nothing
    made.add(sink, facts, {}, ("s", 0))
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["000000.json"]
    left[0].write_bytes(b"[")
    made.write(sink, facts)  # a run that takes the place of the stream
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["000000.json"]
