"""The log as a table of Spark."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import reduce
from operator import eq, ge, gt, le, lt
from pathlib import Path
from struct import pack, unpack
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
)
from pyspark.sql.types import DataType, DecimalType, DoubleType, FloatType, LongType, StructType

from databases import postgres
from demaq.diagnostics import DemaqError
from demaq.spark.reader import PushingReader, Range
from demaq.spark.source import DemaqSource
from demaq.spark.values import TYPES, reading
from demaq.store import open_store
from spark.logs import START, filled


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("log")
    if request.param == "sqlite":
        filled(folder, f"sqlite:///{folder / 'log.db'}")
        yield f"sqlite:///{folder / 'log.db'}"
    else:
        with postgres() as address:
            filled(folder, address)
            yield address


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def priced(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A log with numbers of many digits."""
    folder = tmp_path_factory.mktemp("priced")
    with ExitStack() as open_:
        url = f"sqlite:///{folder / 'log.db'}" if request.param == "sqlite" else open_.enter_context(postgres())
        filled(folder, url, [f"<m><price>{price}</price><ratio>{price}</ratio></m>" for price in PRICES])
        yield url


def as_float(value: float) -> float:
    """As a `float` of Spark has it."""
    (found,) = unpack("f", pack("f", value))
    return float(found)


def read(spark: SparkSession, url: str, **options: str) -> DataFrame:
    return spark.read.format("demaq").options(store=url, **options).load()


# Columns


def test_properties_are_typed_columns(spark: SparkSession, url: str) -> None:
    found = read(spark, url, queue="work")
    types = dict(found.dtypes)
    assert list(types)[:11] == [
        *("id", "position", "queue", "created", "processed", "cause", "rule", "origin", "state", "retained", "version")
    ]
    assert {name: types[name] for name in list(types)[11:]} == {
        "name": "string",
        "number": "bigint",
        "flag": "boolean",
        "price": "decimal(38,18)",
        "ratio": "double",
        "at": "timestamp",
        "day": "date",
        "property_state": "string",  # `state` is taken
        "body": "string",
    }
    rows = {row["id"]: row for row in found.toArrow().to_pylist()}
    assert len(rows) == 7
    first = rows[1]
    assert (first["position"], first["queue"], first["created"], first["processed"]) == (1, "work", START, START)
    assert (first["cause"], first["rule"], first["origin"], first["state"]) == (None, None, "outside", "completed")
    assert (first["retained"], first["version"]) == (True, 1)
    assert (first["name"], first["number"], first["flag"], first["price"]) == ("a", 7, True, Decimal("1.5"))
    assert (first["ratio"], first["day"], first["property_state"]) == (0.5, date(2007, 1, 10), "odd")
    assert first["at"] == datetime(2007, 1, 11, 4, 30, tzinfo=UTC)
    assert first["body"].startswith("<m><name>a</name>")
    assert rows[2]["ratio"] == float("inf")
    assert rows[3]["at"] == datetime(2006, 1, 1, tzinfo=UTC)
    assert rows[3]["number"] is None  # too large for the type
    assert rows[6]["price"] == Decimal("0.000000000000000001")
    last = rows[max(rows)]
    assert (last["state"], last["position"], last["processed"], last["name"]) == ("waiting", None, None, None)
    assert (rows[5]["state"], rows[4]["flag"]) == ("failed", None)


def test_all_queues_have_their_properties_in_a_map(spark: SparkSession, url: str) -> None:
    found = read(spark, url)
    assert dict(found.dtypes)["properties"] == "map<string,string>"
    rows = {row["id"]: row for row in found.collect()}
    assert rows[2]["properties"]["number"] == "-3"
    assert rows[4]["properties"] == {}
    assert {row["queue"] for row in rows.values()} == {"work", "other", "errors"}


def test_columns_and_their_types_can_be_named(spark: SparkSession, url: str) -> None:
    named = read(spark, url, queue="work", columns="number, id, properties")
    assert named.columns == ["number", "id", "properties"]
    wide = spark.read.format("demaq").options(store=url, queue="work").schema("id bigint, number decimal(38,0)")
    assert {row["id"]: row["number"] for row in wide.load().collect()}[3] == Decimal("99999999999999999999")


@pytest.mark.parametrize(
    ("digits", "text", "value"),
    [
        ((38, 18), "10000000000", "10000000000"),
        ((38, 18), "-12345678901.5", "-12345678901.5"),
        ((38, 18), "12345678901234567890.123456789012345678", "12345678901234567890.123456789012345678"),
        ((38, 18), "99999999999999999999.9999999999999999994", "99999999999999999999.999999999999999999"),
        ((38, 18), "99999999999999999999.9999999999999999995", None),  # rounded, it has too many digits
        ((38, 0), "9" * 38, "9" * 38),
        ((38, 0), "-" + "9" * 38, "-" + "9" * 38),
        ((38, 0), "9" * 38 + ".4", "9" * 38),
        ((38, 0), "9" * 38 + ".5", None),
        ((38, 0), "1" + "0" * 38, None),
        ((38, 38), "0." + "9" * 38, "0." + "9" * 38),
        ((4, 1), "999.95", None),
    ],
)
def test_decimals_are_read_with_all_their_digits(digits: tuple[int, int], text: str, value: str | None) -> None:
    assert reading(DecimalType(*digits))(text) == (None if value is None else Decimal(value))


def test_large_decimals_are_added_and_counted(spark: SparkSession, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'log.db'}"
    prices = ("1.04", "12345678901.5", "0.1", "123456789012345678901234567890")
    filled(tmp_path, address, [f"<m><price>{price}</price></m>" for price in prices])
    (found,) = read(spark, address, queue="work").selectExpr("sum(price)", "count(price)").collect()
    assert tuple(found) == (Decimal("12345678902.64"), 3)
    wide = spark.read.format("demaq").options(store=address, queue="work").schema("id bigint, price decimal(38,0)")
    assert {row["id"]: row["price"] for row in wide.load().collect()}[4] == Decimal(prices[-1])


def test_other_tables(spark: SparkSession, url: str) -> None:
    slices = {tuple(row) for row in read(spark, url, table="slices").collect()}
    assert {("names", "a", 1, 1), ("names", "B", 2, 2), ("names", "ä", 3, 3), ("names", "a", 5, 5)} < slices
    (error,) = read(spark, url, table="errors").collect()
    assert (error["time"].astimezone(UTC), error["kind"], error["rule"]) == (START, "evaluation", "fail")
    assert (error["queue"], error["message"], error["errorQueue"]) == ("work", 5, "errors")
    assert "zero" in error["description"]
    assert (error["file"], error["line"] > 1, error["state"]) == ("log.demaq", True, "completed")
    causes = {(row["cause"], row["rule"], row["queue"]) for row in read(spark, url, table="causes").collect()}
    assert causes == {(4, "copy", "other"), (5, "fail", "errors")}


# Filters

CLAUSES = [
    *("id <> 2", "not (position > 2)", "state <> 'waiting'", "created > '2007-01-10T12:00:00Z'", "queue > 'w'"),
    *("name > 'a'", "name is null", "number = 9007199254740992", "number is null", "not flag", "price >= 1.5"),
    *("ratio > 0.4", "at = '2007-01-11T04:30:00Z'", "id = 1 or number = -3"),
]


def test_filters_mean_the_same_in_the_store_as_in_spark(spark: SparkSession, url: str) -> None:
    log = read(spark, url, queue="work")
    (expected,) = log.selectExpr(*(f"count_if({clause})" for clause in CLAUSES)).collect()
    pushed = [
        read(spark, url, queue="work", pushdown="true").where(clause).selectExpr(f"{number} as clause")
        for number, clause in enumerate(CLAUSES)
    ]
    found = reduce(DataFrame.union, pushed).groupBy("clause").count().collect()
    counts = {row["clause"]: row["count"] for row in found}
    assert {clause: counts.get(n, 0) for n, clause in enumerate(CLAUSES)} == dict(zip(CLAUSES, expected, strict=True))


def test_filters_on_the_message_are_left_to_the_store(spark: SparkSession, url: str) -> None:
    where = "queue = 'work' and position > 1 and state = 'completed' and created >= '2007-01-10' and id in (1, 2, 3)"
    found = read(spark, url, pushdown="true").where(where)
    assert "Filter" not in found._jdf.queryExecution().optimizedPlan().toString()
    assert sorted(row["id"] for row in found.collect()) == [2, 3]


def test_unless_it_is_asked_for_a_filter_does_not_reach_other_queries(spark: SparkSession, url: str) -> None:
    """With Spark 4.3.0, a filter that was pushed would."""
    log = read(spark, url)
    assert (log.where("id = 2").count(), log.count()) == (1, 9)
    both = log.where("id = 2").union(log.where("id = 3"))
    assert sorted(row["id"] for row in both.collect()) == [2, 3]


def test_with_pushdown_spark_still_gives_wrong_rows_for_a_second_use(spark: SparkSession, url: str) -> None:
    """For this alone `pushdown` is off by default: the test fails when a version of Spark has mended it."""
    log = read(spark, url, pushdown="true")
    assert log.where("id = 2").count() == 1
    assert log.count() != 9, (
        "this Spark no longer keeps a pushed filter for the next. If the oldest one that pyproject.toml allows does "
        "not: let `pushdown` be `true` by default, in spark/source.py and for every view of spark/views.py; "
        "and take the warning out of docs/reference/data-source.md"
    )


def reader(url: str, **options: str) -> PushingReader:
    source = DemaqSource({"store": url, "queue": "work", "pushdown": "true", **options})
    found = source.reader(source.schema())
    assert isinstance(found, PushingReader)
    return found


def rows_read(url: str, *filters: Filter) -> tuple[list[int], list[Filter]]:
    """What the store gives, and what Spark has still to look at."""
    found = reader(url)
    left = found.pushFilters(list(filters))
    parts = found.partitions()
    return sorted(n for part in parts for rows in found.read(part) for n in rows.column("id").to_pylist()), left


@pytest.mark.parametrize(
    ("filters", "read_", "left"),
    [
        ([EqualTo(("id",), 3)], {3}, 0),
        ([LessThan(("created",), START)], set(), 0),
        ([GreaterThan(("created",), START + timedelta(minutes=1))], {9}, 0),
        ([In(("state",), ("failed", "waiting"))], {5, 9}, 0),
        ([EqualTo(("name",), "a")], {1, 5}, 1),
        ([EqualTo(("number",), 7), IsNotNull(("number",))], {1}, 2),
        ([Not(EqualTo(("queue",), "work"))], set(), 0),
        ([EqualNullSafe(("position",), None)], {9}, 0),
        ([IsNull(("number",))], {1, 2, 3, 4, 5, 6, 9}, 1),  # also what does not fit is null
        ([EqualTo(("body",), "<m/>")], {1, 2, 3, 4, 5, 6, 9}, 1),
        ([Not(In(("id",), (1, 2)))], {1, 2, 3, 4, 5, 6, 9}, 1),
    ],
)
def test_what_the_store_gives(url: str, filters: list[Filter], read_: set[int], left: int) -> None:
    found, rest = rows_read(url, *filters)
    assert set(found) == read_
    assert len(rest) == left
    assert all(any(one is filter_ for filter_ in filters) for one in rest)


TINY = f"0.{'0' * 319}1"
PRICES = [
    "1.04",
    "1.05",
    "0.95",
    "0.1",
    "-1.04",
    "12345678901.5",
    "0.0000000000000000005",
    "16777217",
    "16777216",
    TINY,
]
AS_TYPES: list[tuple[str, DataType, list[float | Decimal]]] = [
    ("price", DecimalType(10, 1), [Decimal("1.0"), Decimal("1.1"), Decimal("-1.0"), Decimal("0.0")]),
    ("price", DecimalType(38, 18), [Decimal("1E-18"), Decimal("0.0"), Decimal("12345678901.5")]),
    ("price", DecimalType(12, 0), [Decimal(1), Decimal(12345678902)]),
    ("price", LongType(), [16777217, 16777216]),
    ("ratio", FloatType(), [as_float(0.1), as_float(1.04), 16777216.0, 0.0]),
    ("ratio", DoubleType(), [0.1, 16777217.0]),
    ("price", DoubleType(), [0.1, 1e-320]),
]


@pytest.mark.parametrize(("name", "type_", "values"), AS_TYPES)
def test_filters_find_what_a_narrower_type_has_rounded(
    priced: str, name: str, type_: DataType, values: list[float | Decimal]
) -> None:
    schema = StructType().add("id", LongType()).add(name, type_)
    all_ = read_with(priced, schema)
    for compare in (EqualTo, LessThan, LessThanOrEqual, GreaterThan, GreaterThanOrEqual, In):
        for value in values:
            filter_: Any = compare((name,), (value,) if compare is In else value)  # type: ignore[arg-type]
            given = read_with(priced, schema, filter_)
            assert ids_of(given, name, filter_) == ids_of(all_, name, filter_)
            assert compare is not EqualTo or 0 < len(ids_of(given, name, filter_)) <= len(given) < len(all_)


def read_with(url: str, schema: StructType, *filters: Filter) -> list[dict[str, Any]]:
    reader_ = DemaqSource({"store": url, "queue": "work", "pushdown": "true"}).reader(schema)
    assert isinstance(reader_, PushingReader)
    assert len(reader_.pushFilters(list(filters))) == len(filters)  # Spark looks again
    return [row for part in reader_.partitions() for rows in reader_.read(part) for row in rows.to_pylist()]


COMPARE = {EqualTo: eq, LessThan: lt, LessThanOrEqual: le, GreaterThan: gt, GreaterThanOrEqual: ge}


def ids_of(rows: list[dict[str, Any]], name: str, filter_: Any) -> set[int]:
    """The rows that are left when Spark has looked at a filter."""
    there = [(row["id"], row[name]) for row in rows if row[name] is not None]
    if isinstance(filter_, In):
        return {number for number, value in there if value in filter_.value}
    return {number for number, value in there if COMPARE[type(filter_)](value, filter_.value)}


def test_bodies_are_not_read_unless_they_are_wanted(url: str) -> None:
    source = DemaqSource({"store": url, "queue": "work", "columns": "id, number"})
    assert [field.name for field in source.schema()] == ["id", "number"]
    found = source.reader(source.schema())
    (batch,) = [rows for part in found.partitions() for rows in found.read(part)]
    assert batch.schema.names == ["id", "number"]


# Partitions


@pytest.mark.parametrize("number", ["1", "3", "50"])
def test_each_row_is_in_one_partition(url: str, number: str) -> None:
    found = reader(url, partitions=number)
    parts = found.partitions()
    assert 1 <= len(parts) <= int(number)
    ids = [n for part in parts for rows in found.read(part) for n in rows.column("id").to_pylist()]
    assert sorted(ids) == [1, 2, 3, 4, 5, 6, 9]


def test_partitions_follow_filters_on_ids(url: str) -> None:
    found = reader(url, partitions="2")
    found.pushFilters([GreaterThan(("id",), 5)])
    bounds = [(part.low, part.high) for part in found.partitions() if isinstance(part, Range)]
    assert (bounds[0][0], bounds[-1][1]) == (5, 9)


def test_a_queue_without_messages_is_empty(spark: SparkSession, url: str) -> None:
    assert read(spark, url, queue="outbox").count() == 0


# Misuse


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "needs the option `store`"),
        ({"store": "memory:"}, "Spark cannot read the store `memory:`"),
        ({"store": "URL", "queue": "wrk"}, "there is no queue `wrk`: did you mean `work`?"),
        (
            {"store": "URL", "table": "rows"},
            "there is no table `rows`: write `causes`, `errors`, `messages` or `slices`",
        ),
        ({"store": "URL", "table": "slices", "queue": "work"}, "the table `slices` is not that of a queue"),
        ({"store": "URL", "path": "wrk"}, "there is no queue `wrk`: did you mean `work`?"),
        ({"store": "URL", "path": "work", "queue": "other"}, "two queues are named, `other` and `work`: name one"),
        ({"store": "URL", "paths": '["work","other"]'}, "several queues cannot be read together: name one queue"),
        ({"store": "URL", "columns": "id, boddy"}, "there is no column `boddy`: did you mean `body`?"),
        ({"store": "URL", "partition": "2"}, "has no option `partition` here: did you mean `partitions`?"),
        ({"store": "sqlite:////nowhere/log.db"}, "cannot be opened"),
    ],
)
def test_misuse_is_told(url: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(DemaqError) as caught:
        DemaqSource({name: url if value == "URL" else value for name, value in options.items()}).schema()
    assert said in str(caught.value)


def test_columns_of_messages_keep_their_types(url: str) -> None:
    source = DemaqSource({"store": url})
    with pytest.raises(DemaqError, match="the column `id` has the type bigint"):
        source.reader(StructType().add("id", "string"))
    with pytest.raises(DemaqError, match="the option `partitions` is a number, at least 1"):
        DemaqSource({"store": url, "partitions": "0"}).reader(source.schema())
    with pytest.raises(DemaqError, match="the option `pushdown` is `false` or `true`, not `yes`"):
        DemaqSource({"store": url, "pushdown": "yes"}).reader(source.schema())
    with pytest.raises(DemaqError, match="the option `maxRowsPerBatch` is a number, at least 1, not `0`"):
        DemaqSource({"store": url, "maxRowsPerBatch": "0"}).streamReader(source.schema())


@pytest.mark.parametrize(
    "type_", ["array<string>", "map<string,string>", "struct<a:int>", "interval day to second", "binary", "variant"]
)
def test_types_that_no_property_is_read_as_are_refused(spark: SparkSession, url: str, type_: str) -> None:
    wanted = spark.read.format("demaq").options(store=url, queue="work").schema(f"id bigint, price {type_}")
    with pytest.raises(AnalysisException, match=r"no property is read as .*: the types are tinyint, .* date, string"):
        wanted.load().collect()


def test_every_type_that_is_named_is_read(spark: SparkSession, url: str) -> None:
    columns = [spark.read.format("demaq").options(store=url, queue="work").schema(f"price {type_}") for type_ in TYPES]
    for type_, source in zip(TYPES, columns, strict=True):
        assert source.load().dtypes == [("price", "decimal(10,0)" if type_ == "decimal" else type_)]
        assert len(source.load().toArrow()) == 7


def test_a_queue_may_be_named_where_other_formats_have_a_path(spark: SparkSession, url: str) -> None:
    named = spark.read.format("demaq").option("store", url).load("work")
    assert named.columns == read(spark, url, queue="work").columns
    assert {row.queue for row in named.collect()} == {"work"}


def test_several_queues_are_refused(spark: SparkSession, url: str) -> None:
    assert {row.queue for row in spark.read.format("demaq").option("store", url).load(["work"]).collect()} == {"work"}
    for more in ({}, {"queue": "work"}, {"table": "slices"}):
        with pytest.raises(AnalysisException, match="several queues cannot be read together: name one queue"):
            spark.read.format("demaq").options(store=url, **more).load(["work", "other"])


def test_spark_tells_misuse(spark: SparkSession, url: str) -> None:
    with pytest.raises(AnalysisException, match="there is no queue `wrk`: did you mean `work`"):
        read(spark, url, queue="wrk")


def test_a_store_where_nothing_was_deployed(spark: SparkSession, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'log.db'}"
    open_store(address).close()
    assert read(spark, address).count() == 0
