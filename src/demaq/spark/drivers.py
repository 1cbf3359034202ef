"""Drivers of databases, for Spark."""

from collections.abc import Iterable

from demaq.pipelines.program import Endpoint
from demaq.pipelines.running.endpoints import JDBC

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


def _kind(endpoint: Endpoint) -> str:
    return endpoint.path.partition(":")[0].lower()


def driver_of(endpoint: Endpoint) -> str | None:
    """The class of the driver for a database, if it is known. Java finds others only if they were there at first."""
    return _DRIVERS[_kind(endpoint)][1] if _kind(endpoint) in _DRIVERS else None


def packages_for(endpoints: Iterable[Endpoint]) -> list[str]:
    """The packages with the drivers of databases that endpoints are in."""
    kinds = dict.fromkeys(_kind(endpoint) for endpoint in endpoints if endpoint.scheme == JDBC)
    return [_DRIVERS[kind][0] for kind in kinds if kind in _DRIVERS]
