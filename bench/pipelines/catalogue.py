"""Demaq, in memory and on Spark, and what it is compared with."""

from pathlib import Path

from bench.pipelines.contender import Contender

_CAMEL = Path(__file__).parent / "camel" / "target" / "lib"
_BUILD = "apt-get install maven && mvn -q package --file bench/pipelines/camel"

MEMORY, SPARK, PYTHON, PYSPARK, CAMEL = "demaq-memory", "demaq-spark", "python", "pyspark", "camel"

CONTENDERS = (
    Contender(key=MEMORY, name="Demaq, memory", module="demaq_memory"),
    Contender(key=SPARK, name="Demaq, Spark", module="demaq_spark", package="pyspark", needs_java=True),
    Contender(key=PYTHON, name="Python", module="plain_python"),
    Contender(key="polars", name="polars", module="polars_frames", package="polars"),
    Contender(key="duckdb", name="DuckDB", module="duckdb_sql", package="duckdb"),
    Contender(key=PYSPARK, name="PySpark", module="pyspark_frames", package="pyspark", needs_java=True),
    Contender(key=CAMEL, name="Camel", module="camel_routes", needs_java=True, built=(_CAMEL, _BUILD)),
)
