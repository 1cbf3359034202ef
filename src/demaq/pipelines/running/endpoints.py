"""Where facts come from and go to. For each scheme of a URI there is one way to read, and one to write."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from demaq.diagnostics import listing
from demaq.pipelines.documents import Shape, shapes_of
from demaq.pipelines.documents.writing import is_possible, text_of
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.overlaps import overlap
from demaq.pipelines.program import Endpoint, Enricher, Program, Sink, Source
from demaq.pipelines.running.configured import configured, resolved
from demaq.pipelines.running.goals import (
    InOrder,
    add_files,
    add_to_file,
    check_goal,
    documents,
    is_one_file,
    write_files,
)
from demaq.pipelines.running.http import post
from demaq.pipelines.running.parts import named
from demaq.pipelines.running.queues import Queues
from demaq.pipelines.running.report import SHOWN, Wrong
from demaq.pipelines.vocabulary import Format

FILE, CONSOLE, JDBC, SPARK, QUEUE = "file", "console", "jdbc", "spark", "queue"
SERVICES = ("http", "https")
ERRORS = "errors"
"""What could not be read of all other sources, and of enrichers."""

_READ, _WRITTEN = (ERRORS, FILE, *SERVICES, JDBC, QUEUE, SPARK), (CONSOLE, FILE, *SERVICES, JDBC, QUEUE, SPARK)


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The endpoints of a program. Names of files are relative to the folder; `refused` is what goals did not take."""

    program: Program
    folder: Path
    queues: Queues | None = None
    show: Callable[[str], object] = print
    refused: list[Wrong] = field(default_factory=list)

    def resolved(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint with what is configured in its place: not to be shown."""
        return resolved(endpoint, configured(self.folder)) if endpoint.configured else endpoint

    @property
    def incoming(self) -> list[Source | Enricher]:
        return [*self.program.sources, *self.program.enrichers]

    @property
    def sources(self) -> list[Source]:
        """Those that bring something from outside: all but what they have wrong."""
        return [source for source in self.program.sources if source.endpoint.scheme != ERRORS]

    @property
    def errors(self) -> list[Source]:
        """Those that have what is wrong with others."""
        return [source for source in self.program.sources if source.endpoint.scheme == ERRORS]

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
            if node.endpoint.scheme == ERRORS and isinstance(node, Enricher):
                raise PipelineFailed(
                    f"`{node.endpoint.shown}` is for `@from`: errors belong to no message but their own"
                )
        for sink in self.program.sinks:
            self._check(sink.endpoint, _WRITTEN, "written")
            if sink.endpoint.scheme == QUEUE:
                if sink.endpoint.format is not Format.XML:
                    raise PipelineFailed(f"`{sink.endpoint.shown}` takes XML, and not {sink.endpoint.format.value}")
                self.queues_of(sink).check(sink.endpoint.path)
            if sink.endpoint.scheme != CONSOLE and not is_possible(sink.endpoint.format, self.shapes(sink)):
                raise PipelineFailed(
                    f"`{sink.endpoint.shown}` cannot have the facts of {len(sink.relations)} relations as "
                    f"{sink.endpoint.format.value}: write json, or a goal for each"
                )
            self._check_overwriting(sink.endpoint)

    def _check_overwriting(self, goal: Endpoint) -> None:
        """The same was checked before, but for what is configured, and for the folder."""
        for node in self.incoming:
            if overlap(self.resolved(node.endpoint), self.resolved(goal), os.path.abspath(self.folder)):
                raise PipelineFailed(
                    f"`{goal.shown}` lies where `{node.endpoint.shown}` is read: name another file, in a folder from "
                    "which nothing is read"
                )

    def shapes(self, node: Source | Enricher | Sink) -> tuple[Shape, ...]:
        return shapes_of(node.relations, self.program.relations)

    def path(self, endpoint: Endpoint) -> Path:
        return Path(os.path.join(self.folder, self.resolved(endpoint).path))

    def names(self, node: Source | Enricher) -> list[str]:
        """The files that are there now."""
        self._check(node.endpoint, _READ, "read")
        if node.endpoint.scheme != FILE:
            return []
        return named(str(self.path(node.endpoint)))

    def queues_of(self, node: Source | Enricher | Sink) -> Queues:
        """Where the messages of its queue are."""
        if self.queues is None:
            raise PipelineFailed(f"`{node.endpoint.shown}` is in a store: name it, with `--store`")
        return self.queues

    def write(self, sink: Sink, facts: InOrder) -> int:
        """Send messages, all at once; how many there are."""
        if sink.endpoint.scheme == FILE:
            return write_files(facts, self.shapes(sink), sink.endpoint, self.path(sink.endpoint))
        return self._send(sink, facts, (uuid4().hex, 0))

    def _send(self, sink: Sink, facts: InOrder, once: tuple[str, int]) -> int:
        """Give messages to somebody else, who may refuse them. A name and a number are theirs for all times."""
        if sink.endpoint.scheme == CONSOLE:
            return self._print(sink, facts)
        reasons, messages = [], 0
        if sink.endpoint.scheme == QUEUE:
            found = [document for _, document in documents(facts, self.shapes(sink), sink.endpoint)]
            reasons, messages = self.queues_of(sink).put(sink.endpoint.path, found, once), len(found)
        else:
            endpoint = self.resolved(sink.endpoint)
            for number, document in documents(facts, self.shapes(sink), sink.endpoint):
                key = hashlib.sha256(f"{once[0]} {sink.id} {number}".encode()).hexdigest()
                reason = post(endpoint, document, key)
                reasons += [f"message {number}: {reason}"] if reason else []
                messages += 1
        self.refused.extend(Wrong(sink.id, sink.endpoint.shown, None, reason) for reason in reasons)
        return messages

    def check_growing(self, *, is_new: bool) -> None:
        """Can a stream write all goals? A new one begins with nothing."""
        for sink in self.program.sinks:
            if sink.endpoint.scheme == FILE:
                check_goal(sink.endpoint, self.shapes(sink), self.path(sink.endpoint), is_new=is_new)

    def add(self, sink: Sink, facts: InOrder, lengths: dict[str, int], once: tuple[str, int]) -> int:
        """Send further messages of a stream; how many. `lengths` says how long files are, before and then after; the
        name and the number say `once` which messages these are."""
        if sink.endpoint.scheme != FILE:
            return self._send(sink, facts, once)
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
