"""Enrichers for workers that evaluate by themselves: they are small, and each worker has them all.

This process reads them: it has to have them anyway, and a job of Spark would take longer than that.
"""

import pyarrow as pa

from demaq.pipelines.program import Enricher
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.report import Wrong
from demaq.spark.pipelines.columnar import Tables
from demaq.spark.pipelines.files import PartsReader
from demaq.spark.pipelines.values import MESSAGE


def enrichers_of(endpoints: Endpoints) -> tuple[Tables, list[Wrong]]:
    """The facts of all enrichers, which are files and belong to every message; and what could not be read, in order."""
    tables: dict[tuple[str, str], pa.Table] = {}
    wrong: list[Wrong] = []
    for node in endpoints.program.enrichers:
        found, problems = _read(node, endpoints)
        tables.update(found)
        wrong += problems
    return tables, sorted(wrong, key=lambda each: (each.source, each.file or "", each.line or 0))


def _read(node: Enricher, endpoints: Endpoints) -> tuple[Tables, list[Wrong]]:
    reader = PartsReader(node.id, endpoints.names(node), endpoints.resolved(node.endpoint), endpoints.shapes(node))
    found = [reader.read(pa.record_batch([[number]], names=["part"])) for number in range(reader.parts)]
    nothing = reader.read(pa.record_batch([pa.array([], pa.int64())], names=["part"]))
    tables = {
        name: pa.concat_tables([each.facts[name] for each in (nothing, *found)]).drop_columns([MESSAGE])
        for name in nothing.facts
    }
    wrong = [
        Wrong(node.id, file, None if line is None else line + reader.lines_before(number), reason)
        for number, each in enumerate(found)
        for file, line, reason in each.problems
    ]
    return tables, wrong
