"""The data source `demaq`: the log in Spark, to read and to write."""

from dataclasses import replace

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from demaq.diagnostics import did_you_mean, listing
from demaq.spark.gate import Shape, check_columns, deployed_plan, spark_columns
from demaq.spark.reader import LogReader, LogStreamReader, Place, PushingReader, opened
from demaq.spark.tables import SourceInvalid, Table, table_of
from demaq.spark.values import reading
from demaq.spark.writer import LogStreamWriter, LogWriter, Target

_READING = ("store", "queue", "table", "columns", "pushdown", "partitions", "startingPosition", "maxRowsPerBatch")
_WRITING = ("store", "queue", "query", "batch", "onRefused")
_OF_SPARK = ("path", "checkpointlocation", "paths")


def register(spark: SparkSession) -> None:
    """Let a session use the format `demaq`."""
    activate(spark)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    spark.dataSource.register(DemaqSource)


def activate(spark: SparkSession) -> None:
    """Make a session that of this thread, where Spark looks for formats."""
    assert spark._jvm is not None
    spark._jvm.SparkSession.setActiveSession(spark._jsparkSession)


class DemaqSource(DataSource):
    """`spark.read.format("demaq").option("store", URL).option("queue", "crm").load()`"""

    @classmethod
    def name(cls) -> str:
        return "demaq"

    # Reading

    def schema(self) -> StructType:
        self._check_options(_READING)
        return self._table().schema

    def reader(self, schema: StructType) -> LogReader:
        place = self._place(schema)
        return PushingReader(place) if self._choice("pushdown", ("false", "true")) == "true" else LogReader(place)

    def streamReader(self, schema: StructType) -> LogStreamReader:
        place = self._place(schema)
        if place.table.stored != "message":
            raise SourceInvalid(f"the table `{place.table.name}` cannot be read as a stream")
        start = self.options.get("startingPosition", "0")
        return LogStreamReader(
            place,
            None if start == "latest" else self._number("startingPosition", 0),
            self._number("maxRowsPerBatch", least=1),
        )

    def _table(self) -> Table:
        with opened(self._needed("store")) as store:
            table = table_of(self.options.get("table", "messages"), store, self._queue())
        columns = self.options.get("columns")
        return table if columns is None else table.narrowed(name.strip() for name in columns.split(","))

    def _place(self, schema: StructType) -> Place:
        """With the columns that are wanted, in their order. Properties have the types that are asked for."""
        self._check_options(_READING)
        with opened(self._needed("store")) as store:
            url = store.url
            table = table_of(self.options.get("table", "messages"), store, self._queue())
        columns = []
        for field in schema:
            column = table.column(field.name)
            if column.property is None and column.type != field.dataType:
                wanted = column.type.simpleString()
                raise SourceInvalid(f"the column `{column.name}` has the type {wanted}: cast it in the query instead")
            if column.property is not None:
                reading(field.dataType)  # which it may refuse
            columns.append(replace(column, name=field.name, type=field.dataType))
        assert url is not None
        return Place(url, replace(table, columns=tuple(columns)), self._number("partitions", least=1))

    # Writing

    def writer(self, schema: StructType, overwrite: bool) -> LogWriter:
        target, batch = self._target(schema, overwrite), self._number("batch")
        if target.query is not None and batch is None:
            raise SourceInvalid(
                "number the batches of a query with the option `batch`: those that the store has already do not come "
                "in again; without the option `query`, every write comes in"
            )
        if target.query is None and batch is not None:
            raise SourceInvalid(
                "name the query that the batch is of with the option `query`: by both, the store knows what it has "
                "already; without the option `batch`, every write comes in"
            )
        return LogWriter(target, batch or 0)

    def streamWriter(self, schema: StructType, overwrite: bool) -> LogStreamWriter:
        if "query" not in self.options:
            raise SourceInvalid(
                "name the query with the option `query`: by this name and the number of a batch the store knows "
                "what it has already, so that everything comes in exactly once"
            )
        if "batch" in self.options:
            raise SourceInvalid("Spark numbers the batches of a stream: leave out the option `batch`")
        return LogStreamWriter(self._target(schema, overwrite))

    def _target(self, schema: StructType, overwrite: bool) -> Target:
        self._check_options(_WRITING)
        if overwrite:
            raise SourceInvalid('messages are never overwritten: write with the mode "append"')
        on_refused = self._choice("onRefused", ("log", "fail"))
        queue = self._queue() or self._needed("queue")
        with opened(self._needed("store")) as store:
            url = store.url
            check_columns(spark_columns(schema), Shape(queue=queue), deployed_plan(store))
        assert url is not None
        return Target(url, queue, self.options.get("query"), is_strict=on_refused == "fail")

    # Options

    def _queue(self) -> str | None:
        """It may also be named where other formats have a path: `load("crm")`."""
        if self.options.get("paths"):  # of `load([…])`
            raise SourceInvalid(
                "several queues cannot be read together: name one queue, and put frames together with union"
            )
        named = {value for value in (self.options.get("queue"), self.options.get("path")) if value}
        if len(named) > 1:
            raise SourceInvalid(f"two queues are named, {listing(sorted(named), 'and')}: name one")
        return next(iter(named), None)

    def _needed(self, name: str) -> str:
        value = self.options.get(name)
        if not value:
            raise SourceInvalid(f"the data source `demaq` needs the option `{name}`")
        return str(value)

    def _number(self, name: str, missing: int | None = None, least: int = 0) -> int | None:
        value = self.options.get(name)
        if value is None:
            return missing
        if not value.isascii() or not value.isdigit() or int(value) < least:
            raise SourceInvalid(f"the option `{name}` is a number, at least {least}, not `{value}`")
        return int(value)

    def _choice(self, name: str, choices: tuple[str, ...]) -> str:
        """One of several words, of which the first is meant where there is none."""
        value = str(self.options.get(name, choices[0])).lower()
        if value not in choices:
            raise SourceInvalid(f"the option `{name}` is {listing(choices, 'or')}, not `{value}`")
        return value

    def _check_options(self, known: tuple[str, ...]) -> None:
        for name in self.options:
            if name.lower() not in {*(one.lower() for one in known), *_OF_SPARK}:
                raise SourceInvalid(
                    f"the data source `demaq` has no option `{name}` here: {did_you_mean(name, known, 'options')}"
                )
