"""Facts that Spark's workers write as text are, to the byte, what is written fact by fact."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_type

from demaq.pipelines.documents import Shape
from demaq.pipelines.program import Endpoint
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.goals import write_files
from demaq.pipelines.running.memory import in_order, run_here
from demaq.pipelines.values import Value, ValueType
from demaq.pipelines.vocabulary import Format
from demaq.spark.pipelines import texts
from demaq.spark.pipelines.pipeline import Pipeline
from demaq.spark.pipelines.texts import Written, _OutOfOrder, _write
from demaq.spark.pipelines.values import MESSAGE, decoder, encoder, place, spark_type
from property.effort import scaled

_SEEDS = range(4)
_GOALS = scaled(250)  # of each seed

_ALPHABETS = ["abc", "aé😀 \x7f\x85\u2028", 'a",;|\t\\/^]-_0§é', 'a"\\\x00\x08\x1f\n\r\t,;']
_DELIMITERS = ",;\t|^]-[\\_.a0 §é"

Row = tuple[Any, ...]


# Facts, by chance


def _text(chance: Random, alphabet: str) -> str:
    return "".join(chance.choices(alphabet, k=chance.randint(0, 3)))


def _number(chance: Random) -> float:
    some = [0.0, 1.0, -2.5, 0.1, 1e16, 1e17, -1e300, 5e-324, float("inf"), float("-inf"), 2.0**53, chance.random()]
    return chance.choice(some)


def _integer(chance: Random) -> int:
    return chance.choice([0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63), chance.randint(-100, 100)])


def _decimal(chance: Random) -> Decimal:
    return Decimal(chance.choice(["0", "-0.0", "1", "1.50", "-3e2", "0.000000000000000001", "1234567890.5"]))


def _date(chance: Random) -> date:
    return chance.choice([date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 29), date(1970, 1, chance.randint(1, 3))])


def _datetime(chance: Random) -> datetime:
    micros = chance.choice([0, 1, 500_000, 999_999])
    return datetime(2024, 5, 1, tzinfo=UTC) + timedelta(days=chance.randint(-99_999, 3), microseconds=micros)


def _any(chance: Random, alphabet: str) -> Value:
    made: list[Callable[[], Value]] = [
        lambda: _text(chance, alphabet),
        lambda: _number(chance),
        lambda: _integer(chance),
        lambda: chance.random() < 0.5,
        lambda: _date(chance),
        lambda: _datetime(chance),
    ]
    return chance.choice(made)()


def _values(chance: Random, type_: ValueType) -> Callable[[], Any]:
    """What makes the values of a column, some of which lack."""
    alphabet = chance.choice(_ALPHABETS)
    made: Mapping[ValueType, Callable[[], Any]] = {
        ValueType.ANY: (
            (lambda: _any(chance, alphabet)) if chance.random() < 0.5 else (lambda: _text(chance, alphabet))
        ),
        ValueType.TEXT: lambda: _text(chance, alphabet),
        ValueType.BOOLEAN: lambda: chance.random() < 0.5,
        ValueType.NUMBER: lambda: _number(chance),
        ValueType.INTEGER: lambda: _integer(chance),
        ValueType.DECIMAL: lambda: _decimal(chance),
        ValueType.DOUBLE: lambda: _number(chance),
        ValueType.DATE: lambda: _date(chance),
        ValueType.DATETIME: lambda: _datetime(chance),
    }
    missing = chance.choice([0, 0, 0.2, 1])
    return lambda: None if chance.random() < missing else made[type_]()


def _endpoint(chance: Random) -> Endpoint:
    format_ = chance.choice([Format.JSON, Format.CSV])
    options: dict[str, Value] = {}
    if format_ is Format.JSON and chance.random() < 0.5:
        options["lines"] = True
    if format_ is Format.CSV and chance.random() < 0.5:
        options["header"] = False
    if format_ is Format.CSV and chance.random() < 0.7:
        options["delimiter"] = chance.choice(_DELIMITERS)
    return endpoint(format_, options)


def endpoint(format_: Format, options: Mapping[str, Value]) -> Endpoint:
    return Endpoint(
        uri="file:out.x",
        shown="file:out.x",
        scheme="file",
        path="out.x",
        format=format_,
        options=options,
        configured=(),
    )


@dataclass(frozen=True)
class Goal:
    """Facts with the numbers of their messages, in order; a fact may be more than once."""

    endpoint: Endpoint
    shape: Shape
    rows: list[Row]

    @classmethod
    def of(cls, endpoint: Endpoint, shape: Shape, rows: Iterable[Row]) -> "Goal":
        """The values of facts that come back from columns are those that are written."""
        encoders = [encoder(type_) for type_ in shape.types]
        encoded = [(row[0], *(encode(value) for encode, value in zip(encoders, row[1:], strict=True))) for row in rows]
        found = pa.Table.from_batches([_batch(shape, encoded)]).to_pydict().values()
        decoders = [lambda value: value, *(decoder(type_) for type_ in shape.types)]
        columns = ([decode(value) for value in column] for decode, column in zip(decoders, found, strict=True))
        sent = in_order({shape.relation: list(zip(*columns, strict=True))}, (shape,))(True)
        return cls(endpoint, shape, [(number, *row) for number, _, row in sent])

    @classmethod
    def by_chance(cls, chance: Random) -> "Goal":
        names = chance.sample(["a", "B", "x y", 'q"', "é", "d;,"], chance.randint(1, 4))
        shape = Shape("p", tuple(names), tuple(chance.choices(list(ValueType), k=len(names))))
        made = [_values(chance, type_) for type_ in shape.types]
        most = chance.choice([0, 3, 12])
        rows: list[Row] = [(chance.randint(0, most), *(make() for make in made)) for _ in range(chance.randint(0, 20))]
        return cls.of(_endpoint(chance), shape, [*rows, *chance.choices(rows, k=len(rows) // 2)] if rows else [])

    @property
    def encoded(self) -> list[Row]:
        encoders = [lambda value: value, *(encoder(type_) for type_ in self.shape.types)]
        return [tuple(encode(value) for encode, value in zip(encoders, row, strict=True)) for row in self.rows]

    def batches(self, ends: Sequence[int]) -> list[pa.RecordBatch]:
        """The facts, cut behind some of them."""
        cuts = [0, *ends, len(self.rows)]
        rows = self.encoded
        return [_batch(self.shape, rows[start:end]) for start, end in pairwise(cuts)]

    def expected(self, path: Path) -> tuple[bytes, Written]:
        once = dict(zip(map(repr, self.encoded), self.rows, strict=True)).values()
        facts = in_order({self.shape.relation: list(once)}, (self.shape,))
        messages = write_files(facts, (self.shape,), self.endpoint, path)
        return path.read_bytes(), Written(messages, len(once))


def _batch(shape: Shape, rows: Sequence[Row]) -> pa.RecordBatch:
    types = [pa.int64(), *(to_arrow_type(spark_type(type_), timezone="UTC") for type_ in shape.types)]
    arrays = [pa.array([row[at] for row in rows], type_) for at, type_ in enumerate(types)]
    return pa.record_batch(arrays, names=[MESSAGE, *map(place, range(len(shape.types)))])


class Frame:
    """In place of a data frame: batches of parts, each of which a worker would write, here or elsewhere."""

    def __init__(self, *parts: list[pa.RecordBatch], is_local: bool = True) -> None:
        self._parts = parts
        self.sparkSession = SimpleNamespace(sparkContext=SimpleNamespace(master="local" if is_local else "spark://x"))

    def select(self, *_columns: str) -> "Frame":
        return self

    def mapInArrow(self, write: Callable[..., Iterator[pa.RecordBatch]], _schema: str) -> "Frame":
        found = []
        for part, batches in enumerate(self._parts):
            context = SimpleNamespace(get=lambda part=part: SimpleNamespace(partitionId=lambda: part))
            with patch.object(texts, "TaskContext", context):
                found.append(list(write(batches)))
        return Frame(*found)

    def collect(self) -> list[SimpleNamespace]:
        return [SimpleNamespace(**row) for batches in self._parts for batch in batches for row in batch.to_pylist()]

    def toLocalIterator(self, prefetchPartitions: bool) -> Iterator[SimpleNamespace]:  # noqa: ARG002
        return iter(self.collect())


def written(frame: Frame, goal: Goal, path: Path, *, is_certain: bool = True) -> tuple[bytes, Written]:
    ordered = cast(DataFrame, frame)
    found = _write(ordered, goal.endpoint, path, goal.shape, lambda: None, is_certain=is_certain)
    return path.read_bytes(), found


# Tests without Spark


@pytest.mark.parametrize("seed", _SEEDS)
def test_the_text_of_columns_is_that_of_facts(seed: int, tmp_path: Path) -> None:
    chance, formats, types = Random(seed), set[str](), set[ValueType]()
    for _ in range(_GOALS):
        goal = Goal.by_chance(chance)
        ends = sorted(chance.choices(range(len(goal.rows) + 1), k=chance.choice([0, 1, 3, len(goal.rows)])))
        found = written(Frame(goal.batches(ends), is_local=chance.random() < 0.5), goal, tmp_path / "found.x")
        assert found == goal.expected(tmp_path / "expected.x"), (goal, ends)
        formats.add(f"{goal.endpoint.format} {sorted(goal.endpoint.options)}")
        types.update(goal.shape.types)
    assert len(formats) == 6
    assert types == set(ValueType)


@pytest.mark.parametrize("seed", _SEEDS)
def test_parts_that_begin_with_new_messages_are_put_together(seed: int, tmp_path: Path) -> None:
    chance = Random(seed)
    for number in range(_GOALS // 5):
        goal = Goal.by_chance(chance)
        numbers = [row[0] for row in goal.rows]
        starts = [at for at in range(1, len(numbers)) if numbers[at] != numbers[at - 1]]
        ends = sorted(chance.sample(starts, chance.randint(0, len(starts))))
        parts = [[batch] for batch in goal.batches(ends)]
        found = written(Frame(*parts, is_local=number % 2 == 0), goal, tmp_path / "found.x", is_certain=False)
        assert found == goal.expected(tmp_path / "expected.x"), (goal, ends)
        if len(parts) > 1 and goal.rows:
            (tmp_path / "found.x").unlink()
            with pytest.raises(_OutOfOrder):
                written(Frame(*reversed(parts), is_local=number % 2 == 0), goal, tmp_path / "found.x", is_certain=False)
            assert not (tmp_path / "found.x").exists()


def test_a_message_in_two_parts_is_out_of_order(tmp_path: Path) -> None:
    """Facts that are in both would be written twice."""
    shape = Shape("p", ("x",), (ValueType.INTEGER,))
    goal = Goal.of(endpoint(Format.JSON, {}), shape, [(0, 1), (1, 1), (1, 2)])
    first, second = goal.batches([2])
    with pytest.raises(_OutOfOrder):
        written(Frame([first], [second]), goal, tmp_path / "found.json", is_certain=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("delimiter", _DELIMITERS)
def test_values_with_the_delimiter_are_quoted(delimiter: str, tmp_path: Path) -> None:
    shape = Shape("p", ("x", "y"), (ValueType.TEXT, ValueType.ANY))
    rows = [(0, "z", f"z{delimiter}z"), (0, "z", 1)]
    for some in (rows, rows[1:]):
        goal = Goal.of(endpoint(Format.CSV, {"delimiter": delimiter}), shape, some)
        assert written(Frame(goal.batches([])), goal, tmp_path / "a.csv") == goal.expected(tmp_path / "b.csv")


@pytest.mark.parametrize(
    ("format_", "options", "text"),
    [
        (Format.JSON, {}, "[]\n"),
        (Format.JSON, {"lines": True}, ""),
        (Format.CSV, {}, "x,y\n"),
        (Format.CSV, {"header": False}, ""),
    ],
)
def test_no_facts(format_: Format, options: dict[str, Value], text: str, tmp_path: Path) -> None:
    goal = Goal.of(endpoint(format_, options), Shape("p", ("x", "y"), (ValueType.INTEGER, ValueType.TEXT)), [])
    for frame in (Frame(), Frame([]), Frame(goal.batches([0]))):
        assert written(frame, goal, tmp_path / "a.x") == (text.encode(), Written(0, 0))
    assert goal.expected(tmp_path / "b.x") == (text.encode(), Written(0, 0))


# Tests on Spark

SOURCE = "@from(file:in.jsonl) { p(k: integer, name: text, price: decimal, day: date, more). }"
JSON, LINES_OF_JSON, CSV = "@to(file:out.json)", "@to(file:out.jsonl)", '@to(file:out.csv, delimiter=";")'
LINES = "".join(
    json.dumps(
        {
            "k": number * 7 % 10,
            "name": f'{number % 3}"é;' if number % 4 == 0 else f"name {number % 3}",
            "price": number / 4,
            "day": f"2024-02-{number % 28 + 1:02d}",
            "more": [None, "x", number, True][number % 4],
        },
        ensure_ascii=False,
    )
    + "\n"
    for number in range(40)
)
SEVERAL = "".join(
    json.dumps([{"k": k * n % 5, "name": f"{n}", "price": k, "day": "2024-05-01", "more": k} for k in (3, 1, 4, 1)])
    + "\n"
    for n in range(20)
)


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """How the text of facts that Spark has was written: whether it was certain that all is in order."""
    found: list[bool] = []

    def noted(*given: Any, is_certain: bool = True) -> Written:
        found.append(is_certain)
        return _write(*given, is_certain=is_certain)

    monkeypatch.setattr(texts, "_write", noted)
    monkeypatch.setattr("demaq.spark.pipelines.pipeline.stays_inside", lambda *_: False)
    monkeypatch.setattr("demaq.pipelines.running.parts._PART", 1500)  # there are several
    return found


def run_both(spark: Any, folder: Path, text: str, lines: str) -> bytes:
    """Run a pipeline on Spark and in memory: the same file, and the same numbers. The file."""
    (folder / "in.jsonl").write_text(lines, encoding="utf-8")
    (folder / "test.lila").write_text(text, encoding="utf-8")
    pipeline = Pipeline(folder / "test.lila")
    ran = pipeline.execute(spark)
    (path,) = folder.glob("out*")
    on_spark = path.read_bytes()
    path.unlink()
    here = run_here(Endpoints(pipeline.program, folder))
    assert path.read_bytes() == on_spark
    assert (ran.sent, ran.facts, ran.messages) == (here.sent, here.facts, here.messages)
    return on_spark


@pytest.mark.parametrize(
    ("lines", "goal"), [(LINES, CSV), (SEVERAL, JSON), (SEVERAL, LINES_OF_JSON)], ids=["csv", "json", "lines"]
)
def test_what_is_in_order_is_written_as_it_is(
    spark: Any, tmp_path: Path, ways: list[bool], lines: str, goal: str
) -> None:
    rule = "r(name, k, more, day, price) :- p(k, name, price, day, more), k < 9."
    found = run_both(spark, tmp_path, f"{SOURCE} {rule} {goal} {{ r }}", lines)
    assert ways == [False]
    assert found.count(b"\n") >= 20


@pytest.mark.parametrize("goal", [JSON, LINES_OF_JSON], ids=["json", "lines"])
def test_what_is_moved_is_put_in_order_again(spark: Any, tmp_path: Path, ways: list[bool], goal: str) -> None:
    rule = "r(k, n) :- p(k, _, _, _, _), n := count(p(k, _, _, _, _))."
    found = run_both(spark, tmp_path, f"{SOURCE} {rule} {goal} {{ r }}", SEVERAL)
    assert ways == [True]
    assert found.count(b"\n") >= 20


@pytest.mark.parametrize("goal", [JSON, LINES_OF_JSON], ids=["json", "lines"])
def test_what_is_united_turns_out_to_be_out_of_order(spark: Any, tmp_path: Path, ways: list[bool], goal: str) -> None:
    rules = "r(name, k) :- p(k, name, _, _, _), k > 1. r(day, 7) :- p(_, day, _, _, _)."
    run_both(spark, tmp_path, f"{SOURCE} {rules} {goal} {{ r }}", SEVERAL)
    assert ways == [False, True]


def test_facts_of_two_sources_are_written(spark: Any, tmp_path: Path, ways: list[bool]) -> None:
    (tmp_path / "other.jsonl").write_text("".join(f'{{"j": {n % 4}, "name": "x"}}\n' for n in range(30)))
    rules = """
    @from(file:other.jsonl) { q(j: integer, name: text). }
    r(name, k) :- p(k, name, _, _, _).
    r(name, j) :- q(j, name).
    """
    run_both(spark, tmp_path, f"{SOURCE} {rules} {LINES_OF_JSON} {{ r }}", SEVERAL)
    assert ways[-1]


def test_nothing_is_left(spark: Any, tmp_path: Path, ways: list[bool]) -> None:
    rule = "r(name, k) :- p(k, name, _, _, _), k > 100."
    assert run_both(spark, tmp_path, f"{SOURCE} {rule} {JSON} {{ r }}", LINES) == b"[]\n"
    assert ways == [False]
