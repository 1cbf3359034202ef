"""Pipelines as streams, on Structured Streaming: files that come, checkpoints, crashes, and what a stream refuses."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from click.testing import CliRunner

from demaq.cli import main
from demaq.pipelines import compile_pipeline
from demaq.pipelines.errors import InputWrong, PipelineFailed
from demaq.pipelines.running import http
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.goals import GoalRefused
from demaq.pipelines.running.memory import SMALL, run_here
from demaq.pipelines.running.report import Done
from demaq.spark.pipelines.streams.progress import Checkpoint
from demaq.spark.pipelines.streams.stream import Stream
from spark.pipelines.kills import campaign, command, environment, kill_session, order, prepare, session
from unit.pipelines.running.services import service

TEXT = """
@from("file:events of today", json) { e(k: integer, v: text, at: datetime). }
@from(file:others, json, lines) { o(k: integer). }
@enrich(names.csv) { n(v: text, name: text). }
x(k, name, at) :- e(k, v, at), n(v, name).
both(k) :- e(k, _, _), o(k).
@aggregate(union, completionSize=2) { ?-x(k, name, at). }
@to(out.json) { x }
@to(out.xml) { x o }
@to(out.csv) { x }
@to(out.datalog) { x }
@to(lines.jsonl) { x e }
@to(folder/) { x }
@to(both.jsonl) { both }
@to(pairs.jsonl) { x-aggregate }
"""
GOALS = ("out.json", "out.csv", "out.datalog", "lines.jsonl", "both.jsonl", "pairs.jsonl")

Streaming = Callable[..., Stream]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "events of today").mkdir()
    (tmp_path / "others").mkdir()
    (tmp_path / "names.csv").write_text("v,name\na,Ada\nb,Bob\n", encoding="utf-8")
    (tmp_path / "p.lila").write_text(TEXT, encoding="utf-8")
    return tmp_path


@pytest.fixture(params=[SMALL, -1], ids=["memory", "spark"])
def stream(folder: Path, spark: Any, request: pytest.FixtureRequest) -> Streaming:
    def make(**options: Any) -> Stream:
        program = compile_pipeline(folder / "p.lila")
        return Stream(Endpoints(program, folder), folder / "checkpoint", spark, **{"small": request.param, **options})

    return make


def put(folder: Path, *numbers: int) -> None:
    for number in numbers:
        event = {"k": number, "v": "ab"[number % 2], "at": f"2024-05-01T00:00:0{number}Z"}
        (folder / "events of today" / f"{number:02d} 50%.json").write_text(json.dumps([event]), encoding="utf-8")
        (folder / "others" / f"{number:02d}.jsonl").write_text(f'{{"k": {number}}}\n', encoding="utf-8")


def in_batch(folder: Path) -> Mapping[str, Any]:
    """What one run gives, in another folder."""
    there = folder / "batch"
    there.mkdir()
    for name in ("events of today", "others", "names.csv"):
        (there / name).symlink_to(folder / name)
    run_here(Endpoints(compile_pipeline(folder / "p.lila"), there))
    return outcome(there)


def outcome(folder: Path) -> Mapping[str, Any]:
    found: dict[str, Any] = {name: (folder / name).read_text(encoding="utf-8") for name in GOALS}
    xml = (folder / "out.xml").read_text(encoding="utf-8")
    assert xml.startswith("<facts>\n")
    assert xml.endswith("</facts>\n")
    found["out.xml"] = sorted(re.findall("  <.*>", xml))  # which has all facts of the one relation first
    return {**found, **{path.name: path.read_text(encoding="utf-8") for path in (folder / "folder").iterdir()}}


def test_a_stream_gives_what_a_batch_gives(folder: Path, stream: Streaming) -> None:
    done: list[Done] = []
    put(folder, 1, 2, 3)
    stream(tell=done.append).run_until_idle()
    assert json.loads((folder / "out.json").read_text())[2]["name"] == "Bob"
    put(folder, 4, 5)
    stream(tell=done.append).run_until_idle()
    stream(tell=done.append).run_until_idle()  # nothing is new
    waiting = (folder / "pairs.jsonl").read_text()
    stream(tell=done.append).complete()
    assert outcome(folder) == in_batch(folder)
    assert (folder / "pairs.jsonl").read_text().startswith(waiting)
    assert [sum(each.messages.values()) for each in done] == [6, 4, 0]
    assert done[1].sent["to(pairs.jsonl)"] == 1


def test_goals_without_facts_are_those_of_a_batch(folder: Path, stream: Streaming) -> None:
    """Messages come that have none for these goals; and for others, there comes nothing at all."""
    text = (
        "@from(file:others, json, lines) { o(k: integer). }\n@aggregate(union, completionSize=2) { ?-no(k). }\n"
        "no(k) :- o(k), k > 99.\n@to(no.datalog) { no }\n@to(no.csv) { no }\n@to(no.json) { no-aggregate }\n"
    )
    (folder / "p.lila").write_text(text, encoding="utf-8")
    put(folder, 1, 2)
    stream().complete()
    there = folder / "batch"
    there.mkdir()
    (there / "others").symlink_to(folder / "others")
    run_here(Endpoints(compile_pipeline(folder / "p.lila"), there))
    for name in ("no.datalog", "no.csv", "no.json"):
        assert (folder / name).read_bytes() == (there / name).read_bytes() != b"", name


def test_messages_wait_for_those_of_the_other_source(folder: Path, stream: Streaming) -> None:
    put(folder, 1, 2, 3)
    moved = [(folder / "others" / f"0{number}.jsonl") for number in (1, 2, 3)]
    for path in moved:
        path.rename(folder / path.name)
    stream().run_until_idle()
    assert not (folder / "both.jsonl").exists() or (folder / "both.jsonl").read_text() == ""
    assert len(json.loads((folder / "out.json").read_text())) == 3
    for path in moved:
        (folder / path.name).rename(path)
    stream().run_until_idle()
    assert [json.loads(line)[0]["k"] for line in (folder / "both.jsonl").read_text().splitlines()] == [1, 2, 3]


UNUSED = """
@from("file:events of today", json) { e(k: integer). more(v). }
@from(file:others, json, lines) { o(k: integer). }
@aggregate(union, completionSize=1) { ?-e(k). ?-more(v). }
both(k) :- e(k), o(k).
again(k) :- e-aggregate(k), o(k).
@to(both.jsonl) { both }
@to(again.jsonl) { again }
"""


def test_of_a_message_that_waits_the_plan_may_need_some_relations_only(folder: Path, stream: Streaming) -> None:
    """In whichever place it is kept, and taken up again."""
    (folder / "p.lila").write_text(UNUSED, encoding="utf-8")
    event = folder / "events of today" / "1.json"
    event.write_text('{"e": [{"k": 1}], "more": [{"v": "z"}]}', encoding="utf-8")
    stream().run_until_idle()
    (folder / "others" / "1.jsonl").write_text('{"k": 1}\n', encoding="utf-8")
    stream(small=SMALL).run_until_idle()
    assert [json.loads((folder / name).read_text()) for name in ("both.jsonl", "again.jsonl")] == [[{"k": 1}]] * 2


def test_a_checkpoint_may_have_any_name(folder: Path, spark: Any) -> None:
    def go_on() -> None:
        endpoints = Endpoints(compile_pipeline(folder / "p.lila"), folder)
        Stream(endpoints, folder / "check[1] {of}", spark, small=-1).run_until_idle()

    put(folder, 1)
    (folder / "others" / "01.jsonl").rename(folder / "01.jsonl")
    go_on()
    (folder / "01.jsonl").rename(folder / "others" / "01.jsonl")
    go_on()
    assert json.loads((folder / "both.jsonl").read_text()) == [{"k": 1}]


@pytest.mark.parametrize("crash_at", ["save", "last"])
def test_a_batch_that_crashed_is_done_again(folder: Path, stream: Streaming, crash_at: str) -> None:
    put(folder, 1, 2, 3)
    stream().run_until_idle()
    put(folder, 4, 5)
    original = Checkpoint.save

    def crash(self: Checkpoint, *arguments: Any) -> None:
        """When all is written, before it is known; or when it is known, before Spark knows."""
        if crash_at == "last":
            original(self, *arguments)
        raise OSError("no power")

    with patch.object(Checkpoint, "save", crash), pytest.raises(OSError, match="no power"):
        stream().run_until_idle()
    with (folder / "out.csv").open("a") as file:
        file.write("half a li" if crash_at == "save" else "")
    stream().run_until_idle()
    stream().complete()
    assert outcome(folder) == in_batch(folder)


def test_memory_and_spark_take_turns(folder: Path, stream: Streaming) -> None:
    for number, small in enumerate((SMALL, -1, SMALL, -1)):
        put(folder, number)
        stream(small=small).run_until_idle()
    stream().complete()
    assert outcome(folder) == in_batch(folder)


def test_enrichers_are_read_again_when_they_have_changed(folder: Path, stream: Streaming) -> None:
    put(folder, 1)
    running = stream()
    running.run_until_idle()
    (folder / "names.csv").write_text("v,name\na,Ada\nb,Barbara\n", encoding="utf-8")
    put(folder, 3)
    running.run_until_idle()
    assert [fact["name"] for fact in json.loads((folder / "out.json").read_text())] == ["Bob", "Barbara"]


def test_what_cannot_be_read_is_told(folder: Path, stream: Streaming) -> None:
    put(folder, 1)
    (folder / "others" / "00.jsonl").write_text("no\n", encoding="utf-8")
    done: list[Done] = []
    stream(tell=done.append).run_until_idle()
    assert [str(wrong).rpartition("/")[2] for wrong in done[0].wrong] == [
        "00.jsonl, line 1: it is no JSON: Expecting value in column 1"
    ]
    assert json.loads((folder / "both.jsonl").read_text()) == [{"k": 1}]
    (folder / "others" / "02.jsonl").write_text("neither\n", encoding="utf-8")
    (folder / "others" / "03.jsonl").write_text("nor\nthis\n", encoding="utf-8")
    with pytest.raises(InputWrong, match=r"02.jsonl, line 1: .*; and 2 more; nothing of the batch was written"):
        stream(is_strict=True).run_until_idle()


def test_a_stream_that_crashed_when_it_was_to_be_completed_goes_on(folder: Path, stream: Streaming) -> None:
    put(folder, 1, 2, 3)
    running = stream()
    with patch.object(Path, "write_text", side_effect=OSError("no power")), pytest.raises(OSError, match="no power"):
        running.complete()
    put(folder, 4, 5)
    stream().run_until_idle()
    stream().complete()
    assert outcome(folder) == in_batch(folder)


def test_enrichers_that_cannot_be_read_are_told(folder: Path, stream: Streaming) -> None:
    (folder / "names.csv").write_text("v,name\na,Ada,too much\nb,Bob\n", encoding="utf-8")
    done: list[Done] = []
    running = stream(tell=done.append)
    for number in (1, 3):
        put(folder, number)
        running.run_until_idle()
    assert [[wrong.source for wrong in each.wrong] for each in done] == [["enrich(names.csv)"], []]
    put(folder, 4)
    with pytest.raises(InputWrong, match=r"names\.csv, line 2: "):
        stream(is_strict=True).run_until_idle()


def test_what_a_stream_refuses(folder: Path, stream: Streaming) -> None:
    (folder / "out.json").write_text("[]", encoding="utf-8")
    with pytest.raises(GoalRefused, match="is there already, and this is a new stream"):
        stream()
    (folder / "out.json").unlink()
    put(folder, 1)
    stream().complete()
    with pytest.raises(PipelineFailed, match="is complete: name another checkpoint"):
        stream()
    (folder / "p.lila").write_text(TEXT.replace("o(k).", "o(k), k > 1."), encoding="utf-8")
    with pytest.raises(PipelineFailed, match="the pipeline is another one than that of the checkpoint"):
        stream()
    (folder / "p.lila").write_text("@from(file:in) { a(x). b(x). } @to(two.json) { a b }", encoding="utf-8")
    with pytest.raises(GoalRefused, match="cannot grow as one document with the facts of 2 relations: add `lines`"):
        stream()
    (folder / "p.lila").write_text("@from(file:in/nowhere/*) { a(x). } @to(new.json) { a }", encoding="utf-8")
    (folder / "checkpoint" / "stream.json").unlink()
    (folder / "checkpoint" / "complete").unlink()
    with pytest.raises(PipelineFailed, match=r"there is no folder `.*nowhere`, in which new files"):
        stream().run_until_idle()


@pytest.mark.usefixtures("spark")
def test_the_command(folder: Path) -> None:
    def run(*options: str) -> Any:
        return CliRunner().invoke(main, ["pipeline", "run", str(folder / "p.lila"), "--stream", *options])

    put(folder, 1, 2)
    first = run("--until-idle")
    assert first.exit_code == 0
    assert first.output.startswith("from(file:events of today): 2 messages, from(file:others): 2 messages → ")
    put(folder, 3)
    data = json.loads(run("--until-idle", "--json").output)
    assert data["messages"] == {"from(file:events of today)": 1, "from(file:others)": 1}
    assert run("--complete").exit_code == 0
    assert run("--until-idle").exit_code == 2
    assert run("--until-idle", "--spark", "off").exit_code == 2
    assert run("--show", "x").exit_code == 2
    alone = CliRunner().invoke(main, ["pipeline", "run", str(folder / "p.lila"), "--until-idle"])
    assert "are for --stream" in alone.output
    assert (folder / ".demaq" / "p" / "complete").exists()


@pytest.mark.parametrize(
    ("number", "reaches_java"),
    [(signal.SIGTERM, False), (signal.SIGINT, False), (signal.SIGTERM, True), (signal.SIGINT, True)],
)
def test_a_stream_ends_in_order(tmp_path: Path, number: signal.Signals, reaches_java: bool) -> None:
    """A shell signals the group of a job, in which Java is not. A service manager signals all processes, and nothing is
    told of that, even if Java ends first. The batch before is too large for memory, so that all of Spark is in use."""
    prepare(tmp_path)
    (tmp_path / "orders" / "0.json").write_text(order(0), encoding="utf-8")
    if reaches_java:
        text = "@from(file:orders) { item(n: integer). } most(m) :- m := max(item(n)). @to(most.jsonl) { most }"
        (tmp_path / "p.lila").write_text(text, encoding="utf-8")
        items = json.dumps({"item": [{"n": n} for n in range(SMALL // 10)]})
        assert len(items) > SMALL
        (tmp_path / "orders" / "0.json").write_text(items, encoding="utf-8")
    with subprocess.Popen(
        command(tmp_path, "--stream", "--json", "--spark", "local[2]"),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["number"] == 0
            for each in session(process.pid) if reaches_java else [-process.pid]:
                os.kill(each, number)
            _, told = process.communicate(timeout=60)
        finally:
            kill_session(process.pid)
    assert (process.returncode, told) == (0, "")


def test_a_stream_that_is_killed_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """The short form; `kills.py` is the long one."""
    report = campaign(tmp_path / "stream", kills=2, seed=7)
    assert report.problems == []
    assert report.batches >= 2
    assert report.files > 10


def test_a_service_is_asked_by_a_stream(tmp_path: Path, spark: Any) -> None:
    with service() as there:
        there.document = b'{"id": 1}'
        text = f"@from({there.url}/orders, json, every=1) {{ o(id: integer). }}\n@to({there.url}/done) {{ o }}\n"
        (tmp_path / "p.lila").write_text(text, encoding="utf-8")

        def stream() -> Stream:
            return Stream(Endpoints(compile_pipeline(tmp_path / "p.lila"), tmp_path), tmp_path / "checkpoint", spark)

        stream().run_until_idle()
        stream().run_until_idle()  # nothing is new
        there.document = b'{"id": 2}'
        deadline = time.monotonic() + 60
        stream().run(0.1, lambda: len(there.posted) == 2 or time.monotonic() > deadline)
        assert [body for _, _, body in there.posted] == ['[\n  {"id": 1}\n]\n', '[\n  {"id": 2}\n]\n']
        keys = [headers["idempotency-key"] for _, headers, _ in there.posted]
        assert len(set(keys)) == 2


def test_a_service_that_enriches_is_asked_once(folder: Path, stream: Streaming) -> None:
    rules = "@from(file:others, json, lines) { o(k: integer). }\nx(k) :- o(k), n(k).\n@to(x.jsonl) { x }\n"
    with service() as there:
        text = f"@enrich({there.url}/known) {{ n(k: integer). }}\n{rules}"
        (folder / "p.lila").write_text(text, encoding="utf-8")
        running = stream()
        for number in (1, 2):
            there.document = b'{"k": %d}' % number
            put(folder, number)
            running.run_until_idle()
    assert len(there.asked) == 1
    assert (folder / "x.jsonl").read_text() == '[{"k": 1}]\n'


def test_documents_of_a_service_are_removed_when_they_are_done(tmp_path: Path, spark: Any) -> None:
    """Not before: a batch that a crash has ended reads them again."""
    with service() as there:
        text = f"@from({there.url}/orders, json) {{ o(id: integer). }}\n@to(out.jsonl) {{ o }}\n"
        (tmp_path / "p.lila").write_text(text, encoding="utf-8")

        def run(number: int) -> list[str]:
            there.document = b'{"id": %d}' % number
            endpoints = Endpoints(compile_pipeline(tmp_path / "p.lila"), tmp_path)
            Stream(endpoints, tmp_path / "checkpoint", spark).run_until_idle()
            return sorted(path.name for path in (tmp_path / "checkpoint" / "polled" / "source0").iterdir())

        assert [run(1), run(2)] == [["000000001"], ["000000002"]]
        with (
            patch.object(Checkpoint, "save", side_effect=OSError("no power")),
            pytest.raises(OSError, match="no power"),
        ):
            run(3)
        assert run(4) == ["000000004"]
    assert (tmp_path / "out.jsonl").read_text() == "".join(f'[{{"id": {number}}}]\n' for number in (1, 2, 3, 4))


def test_a_stream_goes_on_while_a_service_does_not_answer(tmp_path: Path, spark: Any) -> None:
    told: list[Done] = []
    with service() as there, patch.object(http, "_PAUSES", ()):
        there.document, there.statuses = b'{"id": 1}', [503, 503]
        text = f"@from({there.url}/orders, json, every=1) {{ o(id: integer). }}\n@to(out.jsonl) {{ o }}\n"
        (tmp_path / "p.lila").write_text(text, encoding="utf-8")
        endpoints = Endpoints(compile_pipeline(tmp_path / "p.lila"), tmp_path)
        stream = Stream(endpoints, tmp_path / "checkpoint", spark, tell=told.append)
        deadline = time.monotonic() + 60
        stream.run(0.1, lambda: (tmp_path / "out.jsonl").exists() or time.monotonic() > deadline)
    assert (tmp_path / "out.jsonl").read_text() == '[{"id": 1}]\n'
    assert [str(wrong.reason) for done in told for wrong in done.wrong] == [
        f"`{there.url}/orders` cannot be asked: it answers with 503 Service Unavailable"
    ]


FILES = ("in/b.json", "in/a/x.json", "in/a-b.json", "in/c.json/z.json", "in/_d.json", "in/_e=1/y.json", "in/g.csv")


@pytest.mark.parametrize(
    ("uri", "names", "expected"),
    [
        ("file:in, json", FILES, [2, 1, 0, 3, 6]),
        ("in/*.json", FILES, [2, 0]),
        ("in/b.json", FILES, [0]),
        ("in/[bc].json", FILES, [0]),
        ("file:_in, json", ("_in/a.json", "_in/_b.json"), [0]),
        ("file:in[1], json", ("in[1]/a[2].json", "in1/b.json"), [0]),
        ("in[1]/*.json", ("in[1]/a[2].json", "in1/b.json"), [0]),
        ("a[1].json", ("a[1].json", "a1.json"), [0]),
        ('"a{1}.json"', ("a{1}.json", "a1.json"), [0]),
        ('"a{1,2}*.json"', ("a{1,2}.json", "a1.json"), [0]),
        ("at/*.json", ("at/10:00.json", "at/10:01.json"), [0, 1]),
    ],
)
def test_a_stream_reads_the_files_that_a_run_reads(
    tmp_path: Path, spark: Any, uri: str, names: tuple[str, ...], expected: list[int]
) -> None:
    for number, name in enumerate(names):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f'{{"id": {number}}}', encoding="utf-8")
    (tmp_path / "p.lila").write_text(f"@from({uri}) {{ o(id: integer). }}\n@to(out.jsonl) {{ o }}\n", encoding="utf-8")
    endpoints = Endpoints(compile_pipeline(tmp_path / "p.lila"), tmp_path)
    Stream(endpoints, tmp_path / "checkpoint", spark).run_until_idle()
    found = (tmp_path / "out.jsonl").read_text()
    assert [json.loads(line)[0]["id"] for line in found.splitlines()] == expected
    run_here(endpoints)
    assert (tmp_path / "out.jsonl").read_text() == found


def test_a_stream_refuses_a_file_that_spark_does_not_find(tmp_path: Path, spark: Any) -> None:
    (tmp_path / "_a.json").write_text('{"id": 1}', encoding="utf-8")
    (tmp_path / "p.lila").write_text("@from(_a.json) { o(id: integer). }\n@to(out.jsonl) { o }\n", encoding="utf-8")
    endpoints = Endpoints(compile_pipeline(tmp_path / "p.lila"), tmp_path)
    with pytest.raises(PipelineFailed, match=r"`_a\.json` would not be found: a stream takes no file whose name "):
        Stream(endpoints, tmp_path / "checkpoint", spark).run_until_idle()
