"""Drivers of databases, and the connector for Kafka, for Spark."""

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

from demaq.pipelines.program import Endpoint
from demaq.pipelines.running.endpoints import JDBC
from demaq.pipelines.vocabulary import KAFKA

_DRIVERS = {
    "postgresql": ("org.postgresql:postgresql:42.7.8", "org.postgresql.Driver"),
    "sqlite": ("org.xerial:sqlite-jdbc:3.50.3.0", "org.sqlite.JDBC"),
    "mysql": ("com.mysql:mysql-connector-j:9.4.0", "com.mysql.cj.jdbc.Driver"),
    "mariadb": ("org.mariadb.jdbc:mariadb-java-client:3.5.6", "org.mariadb.jdbc.Driver"),
    "sqlserver": (
        "com.microsoft.sqlserver:mssql-jdbc:13.2.0.jre11",
        "com.microsoft.sqlserver.jdbc.SQLServerDriver",
    ),
}
"""Packages of Maven Central with drivers of databases, which Spark loads if no others are set; and their classes."""

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"
"""Spark's package for Kafka, without its version, which is that of Spark."""


def _kind(endpoint: Endpoint) -> str:
    return endpoint.path.partition(":")[0].lower()


def driver_of(endpoint: Endpoint) -> str | None:
    """The class of the driver for a database, if it is known. Java finds others only if they were there at first."""
    return _DRIVERS[_kind(endpoint)][1] if _kind(endpoint) in _DRIVERS else None


def packages_for(endpoints: Iterable[Endpoint], jars: str = "") -> list[str]:
    """The packages with the drivers of databases that endpoints are in; and that for Kafka, unless it is among the jars
    that Spark is given."""
    every = list(endpoints)
    kinds = dict.fromkeys(_kind(endpoint) for endpoint in every if endpoint.scheme == JDBC)
    found = [_DRIVERS[kind][0] for kind in kinds if kind in _DRIVERS]
    is_wanted = any(endpoint.scheme == KAFKA for endpoint in every) and CONNECTOR.partition(":")[2] not in jars
    return [*found, *(_connector() if is_wanted else ())]


def _connector() -> list[str]:
    try:
        return [f"{CONNECTOR}:{version('pyspark')}"]
    except PackageNotFoundError:
        return []  # without Spark nothing runs, which is told when it should start
