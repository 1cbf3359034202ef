"""Spark SQL over the log: one view for each table, and one for each queue."""

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from demaq.diagnostics import DemaqError, did_you_mean
from demaq.engine.versions import latest_plan
from demaq.spark.parts import UNREADABLE, why_unreadable
from demaq.spark.reader import opened
from demaq.spark.source import activate, register
from demaq.spark.starting import loss
from demaq.spark.tables import TABLES, Table, queue_table, table_of
from demaq.store import Store

_COUNT = re.compile(r"count\s*\(\s*\*\s*\)", re.IGNORECASE)
_ALL_COLUMNS = re.compile(
    r"\*|\bbody\b|\btable\b|\bnatural\b|\bdesc(ribe)?\b|\bshow\b|\bunion\b|\|>|^\s*from\b", re.IGNORECASE
)
_SCAN = "RelationV2["
_PLANS = "org.apache.spark.sql.catalyst.plans.logical"
_LOOKING = ("Show", "Describe", "Explain")  # commands that change nothing
_DOING = ("InsertIntoDir", "UnresolvedExecuteImmediate", "Call")  # what Spark does not take for commands, but is
_UNKNOWN = "TABLE_OR_VIEW_NOT_FOUND"
_LOGGER = "SQLQueryContextLogger"
_CODE = re.compile(r"^\[[\w.]+\]\s*")
_STATE = re.compile(r"\s*SQLSTATE:.*$", re.DOTALL)


class QueryFailed(DemaqError):
    """Spark could not run a query; the text is what it says about it."""


class QueryRefused(DemaqError):
    """What was asked is no query: it would change something."""


@dataclass(frozen=True, slots=True)
class View:
    """A view: of a table, or of the messages of a queue."""

    name: str
    table: Table
    queue: str | None = None

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Names and types."""
        return [(column.name, column.type.simpleString()) for column in self.table.columns]


@dataclass(frozen=True, slots=True)
class Answer:
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    numbers: tuple[int, ...]  # the columns that have numbers


def views(store: Store) -> list[View]:
    """The views of a log. A queue that is called like a table has a view with a longer name."""
    found = [View(name, table_of(name, store)) for name in TABLES]
    taken = set(TABLES)
    plan = latest_plan(store)
    for queue in sorted({*(() if plan is None else plan.queues), *store.ledger()}):
        name = queue
        while name.lower() in taken:
            name = f"queue_{name}"
        taken.add(name.lower())
        found.append(View(name, queue_table(queue, plan), queue))
    return found


def views_at(url: str) -> list[View]:
    with opened(url) as store:
        return views(store)


def answer(spark: SparkSession, url: str, query: str) -> Answer:
    """What a query gives; raises `QueryFailed` or `QueryRefused`. Views that it does not name are not made."""
    try:
        found = _found(spark, url, query)
    except PySparkException as error:
        raise QueryFailed(_unknown_view(error, url) or said(str(error))) from error
    except (Py4JError, OSError, EOFError, pa.ArrowException) as error:
        reason = loss(spark, ask=True)
        if reason is None:
            raise
        raise QueryFailed(f"Spark is gone: {reason}") from error
    columns = [_values(name, column) for name, column in zip(found.schema.names, found.columns, strict=True)]
    numeric = [number for number, field in enumerate(found.schema) if _is_number(str(field.type))]
    return Answer(tuple(found.schema.names), tuple(zip(*columns, strict=True)), tuple(numeric))


def _found(spark: SparkSession, url: str, query: str) -> pa.Table:
    own = spark.newSession()
    logging.getLogger(_LOGGER).disabled = True  # it would print what is raised
    try:
        register(own)
        _check(own, query)
        return _asked(own, url, query).toArrow()
    finally:
        logging.getLogger(_LOGGER).disabled = False
        activate(spark)  # which raises an error if Java has ended


def _check(spark: SparkSession, query: str) -> None:
    """Spark would run a command as soon as it is told, and each time."""
    plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(query)
    if any(_is_command(spark, node) for node in _nodes(plan)):
        raise QueryRefused("this is no query, and would change something: ask with SELECT, SHOW, DESCRIBE or EXPLAIN")


def _nodes(plan: Any) -> Iterator[Any]:
    yield plan
    children = plan.children()
    for number in range(children.size()):
        yield from _nodes(children.apply(number))


def _is_command(spark: SparkSession, node: Any) -> bool:
    name: str = node.getClass().getSimpleName()
    kinds = [f"{_PLANS}.{kind}" for kind in ("Command", "ParsedStatement")]
    is_one = any(is_instance_of(spark.sparkContext._gateway, node, kind) for kind in kinds)
    return name in _DOING or (is_one and not name.startswith(_LOOKING))


def _asked(spark: SparkSession, url: str, query: str) -> DataFrame:
    named = [view for view in views_at(url) if view.name.lower() in query.lower()]
    for view in named:
        _make(spark, url, view, query)
    asked = spark.sql(query)
    if len(named) == 1 and _scans(asked) == 1:
        _make(spark, url, named[0], query, pushdown=True)
        asked = spark.sql(query)
    return asked


def _scans(asked: DataFrame) -> int:
    """How often a query reads the log. Only if it does so once, the store can look at the filters."""
    plan: str = asked._jdf.queryExecution().optimizedPlan().toString()
    return plan.count(_SCAN)


def _make(spark: SparkSession, url: str, view: View, query: str, *, pushdown: bool = False) -> None:
    source = spark.read.format("demaq").options(store=url, table=view.table.name, pushdown=pushdown)
    if view.queue is not None:
        source = source.option("queue", view.queue)
    names = needed([name for name, _ in view.columns], query)
    source.schema(view.table.narrowed(names).schema).load().createOrReplaceTempView(f"`{view.name}`")


def needed(columns: Sequence[str], query: str) -> list[str]:
    """The columns that a query may need: all, but bodies only if it can be about them.

    >>> needed(["id", "body"], "select count(*) from messages"), needed(["id", "body"], "select * from messages")
    (['id'], ['id', 'body'])
    """
    if _ALL_COLUMNS.search(_COUNT.sub("", query)):
        return list(columns)
    return [name for name in columns if name != "body"]


def _values(name: str, column: pa.ChunkedArray) -> list[Any]:
    try:
        values = column.to_pylist()
    except UNREADABLE as error:
        raise QueryFailed(
            f"the column `{name}` has a value that {why_unreadable(error)}, so that it cannot be shown: "
            "ask for times as text, with `cast(… as string)`, and for other text with `hex(…)`"
        ) from error
    return [None if one is None else dict(one) for one in values] if pa.types.is_map(column.type) else values


def _is_number(type_: str) -> bool:
    return type_.startswith(("int", "uint", "float", "double", "decimal"))


def _unknown_view(error: PySparkException, url: str) -> str | None:
    """Which view was perhaps meant, if a query names one that there is not."""
    if error.getCondition() != _UNKNOWN:
        return None
    name = (error.getMessageParameters() or {})["relationName"].replace("`", "")
    return f"there is no view `{name}`: {did_you_mean(name, [view.name for view in views_at(url)], 'views')}"


def said(text: str) -> str:
    """What Spark says, as one sentence.

    >>> said("[TABLE_OR_VIEW_NOT_FOUND] There is no `x`. Check it. SQLSTATE: 42P01; line 1 pos 14;\\n'Project [*]")
    'There is no `x`. Check it.'
    """
    first = _STATE.sub("", text).strip()
    last = first.splitlines()[-1].strip() if "Traceback (most recent call last)" in first else first
    return _CODE.sub("", " ".join(last.split()))
