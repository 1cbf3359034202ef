"""Rows that a stream adds to tables of databases, once.

Spark writes the rows of a batch into a table beside, over several connections. Then, in one transaction, they are put
into the table that is meant, and it is noted in the table `demaq_streams` which batch it was. A batch that is done
again, since something crashed, finds its note.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from demaq.pipelines.program import Endpoint
from demaq.spark.pipelines.tables import database_options

_NOTES = "demaq_streams"
_BESIDE = "demaq_rows_"


@dataclass(frozen=True, slots=True)
class Once:
    """Which messages of a stream these are: a name for the stream and its goal, and the number of the batch; or those
    of the end."""

    name: str
    number: int
    is_end: bool = False

    @property
    def key(self) -> tuple[str, int]:
        """By which somebody else knows them."""
        return self.name, self.number


def add_to_database(frame: DataFrame, endpoint: Endpoint, relation: str, once: Once) -> None:
    """Add rows to a table, unless they are there already. Spark makes the table if it can, and there is none."""
    spark, options = frame.sparkSession, database_options(endpoint, relation)
    key = hashlib.sha256(f"{once.name}, {relation}".encode()).hexdigest()
    table, beside = options["dbtable"], f"{_BESIDE}{key[:16]}"
    frame.limit(0).write.format("jdbc").options(**options).mode("append").save()
    columns = _columns(spark, options, frame.columns)
    with _connected(spark, options) as connection:
        if _noted(connection, key) >= once.number:
            return
        _run(connection, f"drop table if exists {beside}")
        _run(connection, _empty_copy(table, beside, columns, options["url"]))
        connection.commit()
    frame.write.format("jdbc").options(**{**options, "dbtable": beside}).mode("append").save()
    with _connected(spark, options) as connection:
        _run(connection, f"insert into {table} ({columns}) select {columns} from {beside}")
        if not _run(connection, f"update {_NOTES} set batch = {once.number} where stream = '{key}'"):
            _run(connection, f"insert into {_NOTES} (stream, batch) values ('{key}', {once.number})")
        connection.commit()
        _run(connection, f"drop table {beside}")
        connection.commit()


def _columns(spark: SparkSession, options: dict[str, str], names: list[str]) -> str:
    """The columns with these names, as they are called in the table, whatever their case."""
    known = spark.read.format("jdbc").options(**options).load().columns
    there = {name.lower(): name for name in known}
    quote = _jvm(spark).org.apache.spark.sql.jdbc.JdbcDialects.get(options["url"]).quoteIdentifier
    return ", ".join(quote(there.get(name.lower(), name)) for name in names)


def _empty_copy(table: str, copy: str, columns: str, url: str) -> str:
    """Columns of a copy are of the same types, whatever Spark thinks of them."""
    if url.lower().startswith("jdbc:sqlserver:"):
        return f"select {columns} into {copy} from {table} where 1 = 0"
    return f"create table {copy} as select {columns} from {table} where 1 = 0"


def _noted(connection: Any, key: str) -> int:
    """The last batch of which all rows are there; -1 if there is none."""
    try:
        found = connection.createStatement().executeQuery(f"select batch from {_NOTES} where stream = '{key}'")
        return int(found.getLong(1)) if found.next() else -1
    except Py4JJavaError:  # there is no such table; if it is anything else, it is told now
        connection.rollback()
        _run(connection, f"create table {_NOTES} (stream varchar(64) not null primary key, batch decimal(19) not null)")
        connection.commit()
        return -1


@contextmanager
def _connected(spark: SparkSession, options: dict[str, str]) -> Iterator[Any]:
    """A connection of Spark's, for one transaction."""
    jvm = _jvm(spark)
    wanted = jvm.org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions(jvm.PythonUtils.toScalaMap(options))
    dialect = jvm.org.apache.spark.sql.jdbc.JdbcDialects.get(options["url"])
    connection = dialect.createConnectionFactory(wanted).apply(-1)
    try:
        connection.setAutoCommit(False)
        yield connection
    finally:
        connection.close()


def _run(connection: Any, statement: str) -> int:
    return int(connection.createStatement().executeUpdate(statement))


def _jvm(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm
