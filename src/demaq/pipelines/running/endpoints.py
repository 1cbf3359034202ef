"""Where facts come from and go to. For each scheme of a URI there is one way to read, and one to write."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from demaq.diagnostics import listing
from demaq.pipelines.documents import Shape, shapes_of
from demaq.pipelines.documents.writing import is_possible, text_of
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.program import Endpoint, Enricher, Program, Sink, Source
from demaq.pipelines.running.configured import configured, resolved
from demaq.pipelines.running.goals import InOrder, add_files, add_to_file, check_goal, is_one_file, write_files
from demaq.pipelines.running.parts import named
from demaq.pipelines.running.queues import Queues
from demaq.pipelines.running.report import SHOWN
from demaq.pipelines.vocabulary import Format

FILE, CONSOLE, JDBC, SPARK, QUEUE = "file", "console", "jdbc", "spark", "queue"
_READ, _WRITTEN = (FILE, JDBC, QUEUE, SPARK), (CONSOLE, FILE, JDBC, SPARK)


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The endpoints of a program. Names of files are relative to the folder."""

    program: Program
    folder: Path
    queues: Queues | None = None
    show: Callable[[str], object] = print

    def resolved(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint with what is configured in its place: not to be shown."""
        return resolved(endpoint, configured(self.folder)) if endpoint.configured else endpoint

    @property
    def incoming(self) -> list[Source | Enricher]:
        return [*self.program.sources, *self.program.enrichers]

    @property
    def tables(self) -> list[Endpoint]:
        """Those that only Spark can read and write."""
        every = [node.endpoint for node in self.incoming] + [sink.endpoint for sink in self.program.sinks]
        return [endpoint for endpoint in every if is_table(endpoint)]

    def check(self) -> None:
        """Can all of them be read and written? Nothing has been done yet."""
        for node in self.incoming:
            self._check(node.endpoint, _READ, "read")
            if node.endpoint.scheme == QUEUE:
                self.queues_of(node)
        for sink in self.program.sinks:
            self._check(sink.endpoint, _WRITTEN, "written")
            if sink.endpoint.scheme != CONSOLE and not is_possible(sink.endpoint.format, self.shapes(sink)):
                raise PipelineFailed(
                    f"`{sink.endpoint.shown}` cannot have the facts of {len(sink.relations)} relations as "
                    f"{sink.endpoint.format.value}: write json, or a goal for each"
                )

    def shapes(self, node: Source | Enricher | Sink) -> tuple[Shape, ...]:
        return shapes_of(node.relations, self.program.relations)

    def path(self, endpoint: Endpoint) -> Path:
        return Path(os.path.join(self.folder, self.resolved(endpoint).path))

    def names(self, node: Source | Enricher) -> list[str]:
        """The files that are there now."""
        self._check(node.endpoint, _READ, "read")
        if node.endpoint.scheme == QUEUE:
            return []
        return named(str(self.path(node.endpoint)))

    def queues_of(self, node: Source | Enricher) -> Queues:
        """Where the messages of its queue are."""
        if self.queues is None:
            raise PipelineFailed(f"`{node.endpoint.shown}` is in a store: name it, with `--store`")
        return self.queues

    def write(self, sink: Sink, facts: InOrder) -> int:
        """Send messages, all at once; how many there are."""
        if sink.endpoint.scheme == FILE:
            return write_files(facts, self.shapes(sink), sink.endpoint, self.path(sink.endpoint))
        return self._print(sink, facts)

    def check_growing(self, *, is_new: bool) -> None:
        """Can a stream write all goals? A new one begins with nothing."""
        for sink in self.program.sinks:
            if sink.endpoint.scheme == FILE:
                check_goal(sink.endpoint, self.shapes(sink), self.path(sink.endpoint), is_new=is_new)

    def add(self, sink: Sink, facts: InOrder, lengths: dict[str, int]) -> int:
        """Send further messages of a stream; how many. `lengths` says how long files are, before and then after."""
        if sink.endpoint.scheme != FILE:
            return self._print(sink, facts)
        path, shapes = self.path(sink.endpoint), self.shapes(sink)
        if not is_one_file(sink.endpoint, path):
            return add_files(facts, shapes, sink.endpoint, path)
        length = lengths.get(sink.id, 0)
        number, lengths[sink.id] = add_to_file(facts, shapes, sink.endpoint, path, length)
        return number

    def _print(self, sink: Sink, facts: InOrder) -> int:
        """Some facts of each relation, for people."""
        numbers: set[int] = set()
        shapes = self.shapes(sink)
        counts = [0] * len(shapes)
        for number, which, values in facts(False):
            numbers.add(number)
            counts[which] += 1
            if counts[which] <= SHOWN:
                self.show(f"{shapes[which].relation}({', '.join(map(text_of, values))})")
        for shape, count in zip(shapes, counts, strict=True):
            if count > SHOWN:
                self.show(f"and {count - SHOWN} more facts of {shape.relation}")
        return len(numbers)

    def _check(self, endpoint: Endpoint, known: tuple[str, ...], verb: str) -> None:
        if endpoint.scheme not in known:
            kinds = listing([f"{name}:" for name in known], "and")
            raise PipelineFailed(f"`{endpoint.shown}` cannot be {verb}: this version knows {kinds}")
        self.resolved(endpoint)


def is_table(endpoint: Endpoint) -> bool:
    return endpoint.scheme in (JDBC, SPARK) or endpoint.format is Format.PARQUET
