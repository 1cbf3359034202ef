"""Very many messages come in by parts: all of them, once, in their order, whatever happens meanwhile."""

import bz2
import gzip
import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from databases import postgres
from demaq.cli import main
from demaq.cli.bulk import Progress
from demaq.cli.stores import address
from demaq.diagnostics import DemaqError
from demaq.files import InputInvalid
from demaq.model import Message, Origin
from demaq.spark import bulk, parts
from demaq.spark.bulk import Load, OnSpark, checker, load_of
from demaq.spark.checking import Checked, checked, together
from demaq.spark.gate import Shape, deployed_plan
from demaq.spark.inputs import Format, find
from demaq.spark.parts import Documents, Part, Row
from demaq.store import Selection, open_store
from spark.logs import APP, node

ROWS = [{"body": f"<m><name>n</name><number>{number}</number></m>"} for number in range(25)]
BODIES = [row["body"] for row in ROWS]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A store to which the application was deployed."""
    if request.param == "sqlite":
        found = f"sqlite:///{tmp_path / 'log.db'}"
        node(tmp_path, found).close()
        yield found
    else:
        with postgres() as found:
            node(tmp_path, found).close()
            yield found


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    node(tmp_path, url).close()
    return url


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts are small."""
    monkeypatch.setattr(parts, "MOST_ROWS", 4)
    monkeypatch.setattr(parts, "MOST_BYTES", 200)


def loaded(url: str, *files: Path | str, spark: SparkSession | None = None, **wishes: Any) -> Load:
    """The load of files, at its end."""
    with closing(open_store(url)) as store:
        load = load_of([str(file) for file in files], store, deployed_plan(store), queue="work", **wishes)
        with checker(spark, load) as check:
            load.run(check)
        return load


def messages(url: str) -> list[Message]:
    with closing(open_store(url)) as store:
        return store.select(Selection(everything=True))


def bodies(url: str) -> list[str]:
    return [message.body for message in messages(url)]


def values(message: Message) -> dict[str, tuple[str, str]]:
    return {name: (value.type, value.text) for name, value in message.properties.items() if name != "name"}


def jsonl(file: Path, rows: Sequence[dict[str, Any]] = ROWS) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def compressed(file: Path, rows: Sequence[dict[str, Any]] = ROWS) -> Path:
    text = jsonl(file.with_name("plain"), rows).read_bytes()
    if file.suffix == ".gz":  # in two pieces, as some programs write it
        file.write_bytes(gzip.compress(text[:100]) + gzip.compress(text[100:]))
    else:
        file.write_bytes(bz2.compress(text))
    return file


def table(file: Path, rows: Sequence[dict[str, Any]] = ROWS) -> Path:
    pq.write_table(pa.Table.from_pylist(list(rows)), file, row_group_size=10)
    return file


def documents(folder: Path, rows: Sequence[dict[str, Any]] = ROWS) -> Path:
    folder.mkdir()
    for number, row in enumerate(rows):
        (folder / f"{number:03}.xml").write_text(row["body"], encoding="utf-8")
    return folder


# What is loaded


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (jsonl, "rows.jsonl"),
        (compressed, "rows.ndjson.gz"),
        (compressed, "rows.json.bz2"),
        (table, "rows.parquet"),
        (documents, "xml"),
    ],
)
@pytest.mark.usefixtures("small")
def test_every_format_comes_in_by_its_order(
    spark: SparkSession, url: str, tmp_path: Path, write: Any, name: str
) -> None:
    load = loaded(url, write(tmp_path / name), spark=spark)
    assert bodies(url) == BODIES
    assert [message.properties["number"].text for message in messages(url)] == [str(n) for n in range(25)]
    assert (load.tally.messages, load.tally.refused, load.tally.is_complete) == (25, 0, True)
    assert load.tally.parts > 5


def test_executors_put_messages_aside_where_the_store_can(spark: SparkSession, url: str, tmp_path: Path) -> None:
    rows = [Row("", 0, row) for row in ROWS]
    found = checked(url, Shape(queue="work"), rows)
    is_aside = url.startswith("postgres")
    assert [bool(message.body) for message in found.messages] == [not is_aside] * 25
    assert bool(found.stages) == is_aside
    assert bodies(url) == []
    loaded(url, jsonl(tmp_path / "rows.jsonl"), spark=spark)
    assert bodies(url) == BODIES
    if is_aside:
        with closing(open_store(url)) as store:
            store.discard(found.stages)
            assert store._text_rows("select count(*) from staged", {}) == [(0,)]  # type: ignore[attr-defined]


def test_files_come_in_as_they_were_named_and_folders_sorted(sqlite: str, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    for name in ("b/2.xml", "b/1.xml", "a/3.xml", "_temporary/4.xml", "a/.hidden.xml"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"<{Path(name).stem.strip('.')[0]}m/>".replace("<", "<x"), encoding="utf-8")
    last = jsonl(tmp_path / "last.jsonl", [{"body": "<last/>"}])
    loaded(sqlite, last, folder, str(folder / "b" / "*.xml"), folder / "a" / "3.xml")
    assert bodies(sqlite) == ["<last/>", "<x3m/>", "<x1m/>", "<x2m/>", "<x1m/>", "<x2m/>", "<x3m/>"]


def test_lines_are_cut_wherever_they_end(sqlite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rows.jsonl"
    lines = [
        '\ufeff{"body": "<a/>"}',
        "",
        '{"body": "<b>ä</b>"}\r',
        "   ",
        f'{{"body": "<c>{"x" * 90}</c>"}}',
        '{"body": "<d/>"}',
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    for size in range(1, 150, 7):
        monkeypatch.setattr(parts, "MOST_BYTES", size)
        with closing(open_store(sqlite)) as store:
            what = load_of([str(file)], store, deployed_plan(store), queue="work", name=str(size)).order
        rows = [row for part in what.parts() for row in part.rows("body", 1000)]
        found = [row.values["body"] for row in rows if not row.is_blank]
        assert found == ["<a/>", "<b>ä</b>", f"<c>{'x' * 90}</c>", "<d/>"]
        assert len(rows) == 6


def test_columns_are_properties_with_types(spark: SparkSession, url: str, tmp_path: Path) -> None:
    row = {
        "text": "<m><number>1</number></m>",
        "number": 7,
        "flag": True,
        "price": Decimal("1.50"),
        "ratio": 0.5,
        "at": datetime(2007, 1, 10, 12, tzinfo=UTC),
        "day": datetime(2007, 1, 10).date(),
        "Sender": None,
        "to": None,
    }
    file = table(tmp_path / "rows.parquet", [row, {**dict.fromkeys(row), "text": "<other/>", "to": "other"}])
    loaded(url, file, spark=spark, body="text", queue_column="to", properties={"state": "new"})
    first, second = messages(url)
    assert values(first) == {
        "number": ("xs:integer", "7"),
        "flag": ("xs:boolean", "true"),
        "price": ("xs:decimal", "1.5"),
        "ratio": ("xs:double", "0.5"),
        "at": ("xs:dateTime", "2007-01-10T12:00:00Z"),
        "day": ("xs:date", "2007-01-10"),
        "state": ("xs:string", "new"),
    }
    assert (second.queue, second.origin) == ("systemErrors", Origin.ERROR)  # `state` is not defined on `other`
    assert "the property `state` is not defined on the queue `other`" in second.body


def test_lines_have_properties_and_queues_of_their_own(sqlite: str, tmp_path: Path) -> None:
    rows = [
        '{"body": "<m/>", "number": 3, "price": 0.10, "ratio": 1e3, "flag": false, "at": "2007-01-10T12:00:00Z"}',
        '{"body": "<m/>", "queue": "other"}',
        '{"body": "<m/>", "price": 12345678901234567890.123456789, "queue": null}',
    ]
    file = tmp_path / "rows.json"
    file.write_text("\n".join(rows), encoding="utf-8")
    loaded(sqlite, file)
    first, second, third = messages(sqlite)
    assert values(first) == {
        "number": ("xs:integer", "3"),
        "price": ("xs:decimal", "0.1"),
        "ratio": ("xs:double", "1000"),
        "flag": ("xs:boolean", "false"),
        "at": ("xs:dateTime", "2007-01-10T12:00:00Z"),
    }
    assert second.queue == "other"
    assert values(third) == {"price": ("xs:decimal", "12345678901234567890.123456789")}


def test_folders_tell_columns_as_spark_writes_them(spark: SparkSession, sqlite: str, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("<a/>", 1, "x"), ("<b/>", 2, None)], "body string, number bigint, state string")
    folder = tmp_path / "data"
    frame.coalesce(1).write.partitionBy("state", "number").parquet(str(folder))
    loaded(sqlite, folder, spark=spark)
    found = {message.body: {name: text for name, (_, text) in values(message).items()} for message in messages(sqlite)}
    assert found == {"<a/>": {"number": "1", "state": "x"}, "<b/>": {"number": "2"}}


# What is refused


def test_what_is_refused_is_told_with_its_place(spark: SparkSession, url: str, tmp_path: Path) -> None:
    lines = [
        '{"body": "<m/>"}',
        "",
        '{"body": "<m"}',
        "nonsense",
        "[1]",
        '{"body": "<m/>", "number": [1]}',
        '{"body": 7}',
    ]
    lines += ['{"body": "<m/>", "queue": "nowhere"}', '{"number": 1}', '{"body": "<m>\\ud800</m>"}', '{"body": "<n/>"}']
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    load = loaded(url, file, spark=spark)
    reasons = {refusal.number: refusal.reason for refusal in load.refusals}
    assert sorted(reasons) == list(range(3, 11))
    assert "not well-formed" in reasons[3]
    assert "the line is no JSON object" in reasons[4]
    assert "it is a list" in reasons[5]
    assert "`number` has no value that a property can have" in reasons[6]
    assert "`body` is no text" in reasons[7]
    assert "there is no queue `nowhere`" in reasons[8]
    assert "empty" in reasons[9]
    assert "not well-formed" in reasons[10]
    found = messages(url)
    assert [message.body for message in found if message.queue == "work"] == ["<m/>", "<n/>"]
    errors = [message for message in found if message.origin is Origin.ERROR]
    assert len(errors) == load.tally.refused == 8
    assert "nonsense" in errors[1].body


def no_utf8(*texts: bytes) -> pa.Array:
    return pa.Array.from_buffers(pa.string(), len(texts), pa.array(texts, pa.binary()).buffers())


@pytest.mark.parametrize("type_", ["timestamp", "date", "text", "body", "zone"])
def test_values_that_python_cannot_have_are_refused_and_no_other_is(sqlite: str, tmp_path: Path, type_: str) -> None:
    name, column, said = {
        "timestamp": (
            "at",
            pa.array([0, 10**18, -(10**18)], pa.timestamp("us", "UTC")),
            "a time outside the years 1 to",
        ),
        "date": (
            "day",
            pa.array([10, 3_000_000, -1_000_000], pa.date32()),
            "`day` is a time outside the years 1 to 9999",
        ),
        "text": ("state", no_utf8(b"new", b"\xff", b"a\xff").dictionary_encode(), "`state` is no UTF-8"),
        "body": ("body", no_utf8(b"<m>1</m>", b"<m>\xff</m>", b"<m>3\xff</m>"), "`body` is no UTF-8"),
        "zone": (
            "at",
            pa.array([None, 0, 0], pa.timestamp("us", "No/where")),
            "the time zone `No/where`, which is not",
        ),
    }[type_]
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"body": ["<m>1</m>", "<m>2</m>", "<m>3</m>"], name: column}), file)
    load = loaded(sqlite, file)
    assert [refusal.number for refusal in load.refusals] == [2, 3]
    assert all(said in refusal.reason for refusal in load.refusals)
    assert load.tally.is_complete
    found = messages(sqlite)
    assert [message.body for message in found if message.queue == "work"] == ["<m>1</m>"]
    assert ["&lt;m&gt;3" in message.body for message in found if message.origin is Origin.ERROR] == [False, True]


@pytest.mark.usefixtures("small")
def test_rows_are_counted_over_all_parts_of_a_file(sqlite: str, tmp_path: Path) -> None:
    rows = [*ROWS, {"body": "<m"}]
    files = [jsonl(tmp_path / "a.jsonl", rows), table(tmp_path / "b.parquet", rows)]
    load = loaded(sqlite, *files, compressed(tmp_path / "c.jsonl.gz", rows))
    assert [(Path(refusal.file).name, refusal.number) for refusal in load.refusals] == [
        ("a.jsonl", 26),
        ("b.parquet", 26),
        ("c.jsonl.gz", 26),
    ]


def test_what_is_too_long_is_not_even_read(tmp_path: Path) -> None:
    long = "x" * 5000
    line = tmp_path / "rows.jsonl"
    line.write_text(f'{{"body": "<a/>"}}\n{{"body": "<m>{long}</m>"}}\n{{"body": "<b/>"}}\n', encoding="utf-8")
    document = tmp_path / "document.xml"
    document.write_text(f"<m>{long}</m>", encoding="utf-8")
    for piece in parts.cut(find([str(line), str(document)], None)):
        for part in piece.parts(1000):
            *_, row = (row for row in part.rows("body", 1000) if row.problem)
            assert "more than 1,000 bytes" in row.problem
            assert len(row.raw) < 1100
            assert [one.values["body"] for one in part.rows("body", 1000) if not one.problem] in (["<a/>", "<b/>"], [])


def test_large_messages_are_not_checked_together() -> None:
    rows = [Row("", number, {"body": "x" * size}) for number, size in enumerate([5, 5, 20, 1, 9, 1])]
    found = [[row.number for row in some] for some in together(rows, "body", 10)]
    assert found == [[0, 1], [2], [3, 4], [5]]
    assert [len(some) for some in together([Row("", 0, {})] * 2500, "body")] == [1000, 1000, 500]


HOSTILE = """
create queue work kind basic mode persistent
create property endless as xs:integer queue work value if (/endless) then local:tail(1) else ()
create property large as xs:string queue work value if (/large) then local:double("0123456789abcdef", 30) else ()
create rule keep for work if (/kept) then do enqueue . into work
declare function local:tail($n as xs:integer) as xs:integer { if ($n lt 0) then 0 else local:tail($n + 1) };
declare function local:double($s as xs:string, $n as xs:integer) as xs:string {
  if ($n le 0) then $s else local:double($s || $s, $n - 1)
};
"""


def test_a_message_that_takes_too_much_is_refused_and_no_other_is(spark: SparkSession, tmp_path: Path) -> None:
    app = tmp_path / "app"
    app.mkdir()
    (app / "app.demaq").write_text(HOSTILE, encoding="utf-8")
    (app / "demaq.toml").write_text("[limits]\nseconds = 1\nmemory = 1258291200\n", encoding="utf-8")
    rows = [{"body": f"<m>{number}</m>"} for number in range(20)]
    rows[5], rows[13] = {"body": "<endless/>"}, {"body": "<large/>"}
    file = jsonl(tmp_path / "rows.jsonl", rows)
    url = f"sqlite:///{tmp_path / 'log.db'}"
    assert CliRunner().invoke(main, ["deploy", str(app), "--store", url]).exit_code == 0
    load = loaded(url, file, spark=spark)
    assert [refusal.number for refusal in load.refusals] == [6, 14]
    assert "more than 1 seconds" in load.refusals[0].reason
    assert [message.body for message in messages(url) if message.queue == "work"] == [
        row["body"] for number, row in enumerate(rows) if number not in (5, 13)
    ]
    assert [message.body.count("<resource/>") for message in messages(url) if message.origin is Origin.ERROR] == [1, 1]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("rows.txt", "<m/>", "Its name does not end with `.json`"),
        ("rows.jsonl", '{"text": "<m/>"}', "line 1: there is no column `body`"),
        ("rows.jsonl", '{"body": "<m/>", "id": 1}', "line 1: there is no property `id`"),
        ("rows.jsonl", '{"body": "<m/>", "name": "x"}', "line 1: the property `name` is fixed"),
        ("rows.json", '[\n{"body": "<m/>"}\n]', "line 1: the line is no JSON object"),
        ("rows.jsonl.gz", "no gzip", "cannot be read"),
        ("rows.parquet", "no Parquet", "cannot be read"),
    ],
)
def test_files_that_cannot_be_loaded_are_told_before_any_is(
    sqlite: str, tmp_path: Path, name: str, content: str, said: str
) -> None:
    file = tmp_path / name
    file.write_text(content, encoding="utf-8")
    with pytest.raises(DemaqError) as caught:
        loaded(sqlite, jsonl(tmp_path / "good.jsonl"), file)
    assert said in str(caught.value)
    assert messages(sqlite) == []


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"text": ["<m/>"]}, "there is no column `body`: there is only `text`; `--body` says which one has the XML"),
        ({"body": [7]}, "need a column `body`"),
        ({"body": ["<m/>"], "id": [1]}, "there is no property `id`"),
        ({"body": ["<m/>"], "flag": [[1]]}, "the column `flag` has no type that a property can have"),
        ({"body": ["<m/>"], "queue": ["work"], "id": [1]}, "there is no property `id`"),
    ],
)
def test_tables_that_cannot_be_loaded_are_told_before_any_is(
    sqlite: str, tmp_path: Path, columns: dict[str, list[Any]], said: str
) -> None:
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    with pytest.raises(DemaqError, match=said):
        loaded(sqlite, tmp_path / "rows.parquet")


def test_places_that_are_no_files_are_told(sqlite: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe.xml")
    for name, said in (
        ("-", "cannot be loaded"),
        ("nowhere.xml", "No such file"),
        ("*.pq", "there is no file"),
        ("empty", "no files in the folder"),
        ("pipe.xml", "is no file"),
    ):
        with pytest.raises(InputInvalid, match=said):
            loaded(sqlite, name if name == "-" else tmp_path / name)
    assert [one.format for one in find([str(tmp_path / "log.demaq")], Format.JSONL)] == [Format.JSONL]


# Once


@pytest.mark.usefixtures("small")
def test_a_load_comes_in_once_unless_it_is_asked_for_again(sqlite: str, tmp_path: Path) -> None:
    file = jsonl(tmp_path / "rows.jsonl")
    first = loaded(sqlite, file)
    second = loaded(sqlite, file)
    assert (second.before.is_complete, second.name) == (True, first.name)
    assert bodies(sqlite) == BODIES
    loaded(sqlite, file, again=True)
    assert bodies(sqlite) == BODIES * 2
    loaded(sqlite, file)
    assert bodies(sqlite) == BODIES * 2
    os.utime(file, ns=(0, 0))  # another file, as far as anybody can tell
    loaded(sqlite, file)
    assert bodies(sqlite) == BODIES * 3


@pytest.mark.usefixtures("small")
def test_a_load_with_a_name_is_of_the_same_files_wherever_they_are(sqlite: str, tmp_path: Path) -> None:
    file = jsonl(tmp_path / "rows.jsonl")
    loaded(sqlite, file, name="monday")
    file.rename(tmp_path / "moved.jsonl")
    assert loaded(sqlite, tmp_path / "moved.jsonl", name="monday").before.is_complete
    with pytest.raises(InputInvalid, match="the load `monday` was of other files"):
        loaded(sqlite, jsonl(tmp_path / "other.jsonl", ROWS[1:]), name="monday")
    assert bodies(sqlite) == BODIES


class Stop(Exception):
    pass


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("write", [jsonl, compressed, table], ids=lambda write: str(write.__name__))
def test_a_load_that_fails_in_between_goes_on(
    url: str, tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if it came in, but that was not noted any more."""
    suffix = {"jsonl": ".jsonl", "compressed": ".jsonl.gz", "table": ".parquet"}[write.__name__]
    file = write(tmp_path / f"rows{suffix}", [*ROWS, {"body": "<m"}])
    real = Load._note
    for number in (3, 2, 4):
        left = iter(range(number))

        def note(load: Load, left: Iterator[int] = left) -> None:
            if next(left, None) is None:
                raise Stop
            real(load)

        monkeypatch.setattr(Load, "_note", note)
        with pytest.raises(Stop):
            loaded(url, file)
    monkeypatch.setattr(Load, "_note", real)
    load = loaded(url, file, again=True)  # the first one is not at its end, so that it goes on
    assert load.before.parts == 6
    assert bodies(url)[:-1] == BODIES
    assert (load.tally.messages, load.tally.refused) == (25, 1)
    assert load.refusals[0].number == 26


def test_a_file_that_changes_meanwhile_ends_the_load(spark: SparkSession, sqlite: str, tmp_path: Path) -> None:
    file = jsonl(tmp_path / "rows.jsonl")
    with closing(open_store(sqlite)) as store:
        load = load_of([str(file)], store, deployed_plan(store), queue="work")
        os.utime(file, ns=(0, 0))
        with checker(spark, load) as check, pytest.raises(InputInvalid, match="has changed while it was loaded"):
            load.run(check)
    assert messages(sqlite) == []


def test_what_spark_cannot_check_is_checked_here(
    spark: SparkSession, sqlite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_self: OnSpark, _part: Part) -> Checked:
        raise RuntimeError("no executors\nat all")

    monkeypatch.setattr(OnSpark, "_on_spark", fail)
    monkeypatch.setattr(parts, "MOST_BYTES", 100)
    with closing(open_store(sqlite)) as store:
        load = load_of([str(jsonl(tmp_path / "rows.jsonl"))], store, deployed_plan(store), queue="work")
        with checker(spark, load) as check:
            load.run(check)
    assert isinstance(check, OnSpark)
    assert set(check.failures) == {"no executors"}
    assert bodies(sqlite) == BODIES


_RUN = """
import sys
from demaq.spark import parts
parts.MOST_ROWS, parts.MOST_BYTES = 50, 4000
from demaq.cli import main
main(sys.argv[1:])
"""


def command(url: str, app: Path, file: Path, *more: str) -> subprocess.Popen[str]:
    """`demaq send --bulk`, with small parts."""
    arguments = ["send", "--bulk", str(app), "work", str(file), "--store", url, *more]
    return subprocess.Popen(
        [sys.executable, "-c", _RUN, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # whoever runs the tests may ignore it
    )


def wait_for(number: int, process: subprocess.Popen[str], url: str) -> None:
    """Until so many messages are in the store, or the process has ended."""
    deadline = time.monotonic() + 120
    with closing(open_store(url)) as store:
        while process.poll() is None and store.count_waiting(number) < number and time.monotonic() < deadline:
            time.sleep(0.01)


def kill(process: subprocess.Popen[str]) -> None:
    """At once, and without a word. What it has started ends by itself."""
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate()
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive


@pytest.mark.parametrize("spark_at", ["off", "local[2]"])
def test_a_load_that_is_killed_and_given_again_comes_in_once(url: str, tmp_path: Path, spark_at: str) -> None:
    file = jsonl(tmp_path / "rows.jsonl", [{"body": f"<m><number>{number}</number></m>"} for number in range(1500)])
    app = tmp_path / "log.demaq"
    kills = 0
    for wanted in (100, 400) if spark_at == "off" else (300,):
        process = command(url, app, file, "--spark", spark_at)
        wait_for(wanted, process, url)
        kills += process.poll() is None
        kill(process)
        assert len(messages(url)) < 1500
    assert kills
    process = command(url, app, file, "--spark", spark_at)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert "were in before" in out
    assert bodies(url) == [f"<m><number>{number}</number></m>" for number in range(1500)]


# How much is in memory


def test_only_some_parts_are_ahead() -> None:
    class Slow:
        ahead = 3
        begun = 0

        def __call__(self, part: Part) -> Checked:  # noqa: ARG002
            self.begun += 1
            return Checked([], [], 1, 1)

    check = Slow()
    for number, _ in enumerate(bulk._in_order(iter([Documents("", 0)] * 20), check)):
        assert check.begun <= number + check.ahead


def test_the_driver_holds_a_fraction_of_what_is_loaded(
    spark: SparkSession, sqlite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "MOST_BYTES", 64 * 1024)
    rows = [{"body": f"<m>{os.urandom(8000).hex()}</m>"} for _ in range(500)]
    file = jsonl(tmp_path / "rows.jsonl", rows)
    del rows
    with closing(open_store(sqlite)) as store:
        load = load_of([str(file)], store, deployed_plan(store), queue="work")
        with checker(spark, load) as check:
            tracemalloc.start()
            try:
                load.run(check)
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
        assert load.tally.messages == 500
    assert peak < file.stat().st_size / 3


# The command


def demaq(*arguments: object, status: int = 0) -> tuple[str, str]:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == status, result.output
    return result.stdout, result.stderr


@pytest.fixture
def app(tmp_path: Path) -> Path:
    (tmp_path / "log.demaq").write_text(APP, encoding="utf-8")
    return tmp_path / "log.demaq"


def test_the_command_tells_what_came_in(app: Path, tmp_path: Path) -> None:
    file = jsonl(tmp_path / "rows.jsonl", [*ROWS, *[{"body": "<m"}] * 12])
    send = ("send", "--bulk", app, "work", file, "--spark", "off")
    out, err = demaq(*send, status=1)
    assert out.startswith("25 messages came in, in ")
    assert err.count("rows.jsonl, row") == 10
    assert err.endswith("…\n12 messages refused; see `demaq errors list`\n")
    out, err = demaq(*send, status=1)
    assert out.startswith("all of this is in already: 25 messages, by the load `")
    assert "--again loads it once more" in out
    assert json.loads(demaq(*send, "--json", status=1)[0]) | {"load": ""} == {
        "load": "",
        "messages": 25,
        "refused": 12,
        "before": 25,
        "seconds": 0.0,
        "refusals": [],
    }
    found = json.loads(demaq(*send, "--again", "--json", status=1)[0])
    assert (found["messages"], found["before"], len(found["refusals"])) == (25, 0, 12)
    assert found["refusals"][0] == {"file": str(file), "row": 26, "refused": found["refusals"][0]["refused"]}


def test_the_command_says_what_is_wrong(app: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = jsonl(tmp_path / "rows.jsonl")
    bodies = jsonl(tmp_path / "bodies.jsonl", [{"bodi": "<m/>", "number": 1}])
    for more, said in (
        (("--bulk", app, "wrk", file), "did you mean `work`?"),
        (("--bulk", app, "outbox", file), "outgoing gateway"),
        (("--bulk", app, "fleeting", file), "transient"),
        (("--bulk", app, "work", file, "-p", "numbr=1"), "did you mean `number`?"),
        (("--bulk", app, "work", file, "--spark", "loca"), "`loca` is no place for Spark"),
        (("--bulk", app, "work", file, "--store", "memory:"), "a store in memory"),
        (("--bulk", app, "work", bodies), "did you mean `bodi`? The columns are `bodi` and `number`; `--body` says"),
        ((app, "work", file, "--again"), "--again is for --bulk"),
        ((app, "work", file, "--load", "x"), "--load is for --bulk"),
        ((app, "work", file, "--queue-column", "x"), "--queue-column is for --bulk"),
    ):
        assert said in demaq("send", *more, status=2)[1]
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    err = demaq("send", "--bulk", app, "work", file, "--spark", "local[2]", status=2)[1]
    assert "Spark needs Java" in err
    assert "`--spark off` loads without Spark" in err


@pytest.mark.parametrize(
    ("name", "most_bytes", "is_small"),
    [
        ("rows.jsonl", 400, True),  # 25 lines of 48 bytes or so
        ("rows.jsonl", 200, False),
        ("rows.jsonl.gz", 2000, True),  # which is taken for ten times as large
        ("rows.jsonl.gz", 200, False),
    ],
)
def test_unless_it_is_named_spark_is_not_needed_and_not_started_for_a_few_parts(
    app: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, most_bytes: int, is_small: bool
) -> None:
    file = (compressed if name.endswith(".gz") else jsonl)(tmp_path / name)
    monkeypatch.setattr(parts, "MOST_BYTES", most_bytes)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))  # where none is
    err = demaq("send", "--bulk", app, "work", file)[1]
    told = "warning: Spark needs Java 17 or newer, and none was found"
    assert (told in err, "\nloading without Spark, on one core\n" in err) == (not is_small, not is_small)
    assert bodies(address(str(app), None)) == BODIES


def test_what_came_in_is_told_when_a_load_stops(app: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MOST_BYTES", 200)
    monkeypatch.setattr(Load, "_keep", _fails_at_the_third())
    file = jsonl(tmp_path / "rows.jsonl")
    err = demaq("send", "--bulk", app, "work", file, "--spark", "off", status=2)[1]
    assert "the disk is full" in err
    assert "stopped: 8 messages came in so far; the same command goes on from there" in err


def _fails_at_the_third() -> Any:
    left = iter(range(2))

    def keep(*_: object) -> None:
        if next(left, None) is None:
            raise InputInvalid("the disk is full")

    return keep


@pytest.mark.usefixtures("small")
def test_progress_on_a_terminal(sqlite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for file, about in ((jsonl(tmp_path / "rows.jsonl"), "about "), (table(tmp_path / "rows.parquet"), "")):
        with closing(open_store(sqlite)) as store:
            load = load_of([str(file)], store, deployed_plan(store), queue="work")
            progress = Progress(load, is_shown=True)
            with checker(None, load) as check:
                load.run(check, progress.draw)
            progress.end()
        assert f"of {about}2" in capsys.readouterr().err


def test_signals_end_a_load_that_goes_on_later(app: Path, tmp_path: Path) -> None:
    file = jsonl(tmp_path / "rows.jsonl", [{"body": f"<m><number>{number}</number></m>"} for number in range(8000)])
    url = f"sqlite:///{tmp_path / 'log.db'}"
    node(tmp_path, url).close()
    process = command(url, app, file, "--spark", "off")
    wait_for(100, process, url)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "the same command goes on from there" in err
    process = command(url, app, file, "--spark", "off")
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert len(messages(url)) == 8000
