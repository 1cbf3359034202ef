"""Where facts come from and go to. For each scheme of a URI there is one way to read, and one to write."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from demaq.diagnostics import listing
from demaq.pipelines.documents import Shape, shapes_of
from demaq.pipelines.documents.writing import is_possible
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.program import Endpoint, Enricher, Program, Sink, Source
from demaq.spark.pipelines.files import Reading, named, read_files
from demaq.spark.pipelines.goals import write_files
from demaq.spark.pipelines.readable import readable
from demaq.spark.pipelines.values import MESSAGE

FILE, CONSOLE = "file", "console"
_READ, _WRITTEN = (FILE,), (FILE, CONSOLE)
_SHOWN = 20  # facts on a console


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The endpoints of a program. Names of files are relative to the folder."""

    program: Program
    folder: Path

    def check(self) -> None:
        """Can all of them be read and written? Nothing has been done yet."""
        nodes: list[Source | Enricher] = [*self.program.sources, *self.program.enrichers]
        for node in nodes:
            _check_scheme(node.endpoint, _READ, "read")
        self.check_goals()

    def check_goals(self) -> None:
        for sink in self.program.sinks:
            _check_scheme(sink.endpoint, _WRITTEN, "written")
            if sink.endpoint.scheme == FILE and not is_possible(sink.endpoint.format, self.shapes(sink)):
                raise PipelineFailed(
                    f"`{sink.endpoint.shown}` cannot have the facts of {len(sink.relations)} relations as "
                    f"{sink.endpoint.format.value}: write json, or a goal for each"
                )

    def shapes(self, node: Source | Enricher | Sink) -> tuple[Shape, ...]:
        return shapes_of(node.relations, self.program.relations)

    def path(self, endpoint: Endpoint) -> Path:
        return Path(os.path.join(self.folder, endpoint.path))

    # Reading

    def names(self, node: Source | Enricher) -> list[str]:
        """The files that are there now."""
        _check_scheme(node.endpoint, _READ, "read")
        return named(str(self.path(node.endpoint)))

    def read(
        self, spark: SparkSession, node: Source | Enricher, names: Sequence[str] | None = None, first: int = 0
    ) -> Reading:
        """All messages, or those in certain files; they are numbered from the `first`."""
        found = self.names(node) if names is None else names
        return read_files(spark, node.id, node.endpoint, self.shapes(node), found, first)

    def load(self, spark: SparkSession, enricher: Enricher) -> tuple[dict[str, DataFrame], Reading]:
        """The facts of an enricher, which belong to every message."""
        found = self.read(spark, enricher)
        return {relation: frame.drop(MESSAGE) for relation, frame in found.channel.facts.items()}, found

    # Writing

    def write(self, sink: Sink, parts: Mapping[str, DataFrame]) -> int:
        """Send messages, all at once; how many there are."""
        if sink.endpoint.scheme == FILE:
            return write_files(parts, self.shapes(sink), sink.endpoint, self.path(sink.endpoint))
        return self.print(parts)

    def print(self, parts: Mapping[str, DataFrame], show: Callable[[str], None] = print) -> int:
        for relation, frame in parts.items():
            show(relation)
            readable(frame, self.program.relations[relation]).show(_SHOWN, truncate=False)
        return reduce(DataFrame.union, [frame.select(MESSAGE) for frame in parts.values()]).distinct().count()


def _check_scheme(endpoint: Endpoint, known: tuple[str, ...], verb: str) -> None:
    if endpoint.scheme not in known:
        kinds = listing([f"{name}:" for name in known], "and")
        raise PipelineFailed(f"`{endpoint.shown}` cannot be {verb}: this version knows {kinds}")
    if endpoint.configured:
        raise PipelineFailed(f"`${endpoint.configured[0]}` in `{endpoint.shown}` is not configured")
