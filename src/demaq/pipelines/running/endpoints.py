"""Where facts come from and go to. For each scheme of a URI there is one way to read, and one to write."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from demaq.diagnostics import did_you_mean, listing
from demaq.files import FileMissing, InputInvalid
from demaq.pipelines.documents import Shape, shapes_of
from demaq.pipelines.documents.writing import is_possible, text_of
from demaq.pipelines.endpoints import is_pattern, words_of
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.overlaps import collide, overlap
from demaq.pipelines.program import Endpoint, Enricher, Program, Sink, Source
from demaq.pipelines.running.configured import configured, resolved, seen
from demaq.pipelines.running.goals import (
    GoalRefused,
    InOrder,
    add_files,
    add_to_file,
    check_goal,
    documents,
    is_one_file,
    write_files,
)
from demaq.pipelines.running.http import address_of, post
from demaq.pipelines.running.parts import named
from demaq.pipelines.running.queues import Queues
from demaq.pipelines.running.report import SHOWN, Wrong
from demaq.pipelines.running.topics import Topics, records
from demaq.pipelines.vocabulary import KAFKA, KEY, SCHEMES_READ, SCHEMES_WRITTEN, Format

FILE, CONSOLE, JDBC, SPARK, QUEUE = "file", "console", "jdbc", "spark", "queue"
DOCUMENTS = (Format.JSON, Format.CSV, Format.XML, Format.DATALOG)
SERVICES = ("http", "https", "twitter")
"""Asked for documents, or sent some, over HTTP. Twitter is a service like any other, whose address is configured."""

ERRORS = "errors"
"""What could not be read of all other sources, and of enrichers."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The endpoints of a program. Names of files are relative to the folder; `refused` is what goals did not take."""

    program: Program
    folder: Path
    queues: Queues | None = None
    topics: Topics | None = None
    show: Callable[[str], object] = print
    refused: list[Wrong] = field(default_factory=list)

    @property
    def settings(self) -> Path:
        """The folder with the file `demaq.toml`: that of the pipeline, whatever names are relative to."""
        return self.folder if self.program.home is None else self.program.home

    def resolved(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint with what is configured in its place: not to be shown."""
        return resolved(endpoint, configured(self.settings), self.folder) if endpoint.configured else endpoint

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
        return [endpoint for endpoint in self.of_spark if is_table(endpoint)]

    @property
    def of_spark(self) -> list[Endpoint]:
        """Those that only Spark can read and write: tables and topics."""
        every = [node.endpoint for node in self.incoming] + [sink.endpoint for sink in self.program.sinks]
        return [endpoint for endpoint in every if is_table(endpoint) or endpoint.scheme == KAFKA]

    def check(self) -> None:
        """Can all of them be read and written? Nothing has been done yet."""
        for node in self.incoming:
            self._check(node.endpoint, SCHEMES_READ, "read")
            if node.endpoint.scheme == QUEUE:
                self.queues_of(node)
            if node.endpoint.scheme == KAFKA:
                self._check_topic(node)
            if node.endpoint.scheme == ERRORS and isinstance(node, Enricher):
                raise PipelineFailed(
                    f"`{node.endpoint.shown}` is for `@from`: errors belong to no message but their own"
                )
        for number, sink in enumerate(self.program.sinks):
            self._check(sink.endpoint, SCHEMES_WRITTEN, "written")
            if sink.endpoint.scheme == QUEUE:
                if sink.endpoint.format is not Format.XML:
                    raise PipelineFailed(f"`{sink.endpoint.shown}` takes XML, and not {sink.endpoint.format.value}")
                self.queues_of(sink).check(sink.endpoint.path)
            if sink.endpoint.scheme == KAFKA:
                self._check_topic(sink)
                self._check_key(sink)
            if sink.endpoint.scheme != CONSOLE and not is_possible(sink.endpoint.format, self.shapes(sink)):
                raise PipelineFailed(
                    f"`{sink.endpoint.shown}` cannot have the facts of {len(sink.relations)} relations as "
                    f"{sink.endpoint.format.value}: write json, or a goal for each"
                )
            if sink.endpoint.scheme == FILE and is_pattern(self.resolved(sink.endpoint).path):
                raise PipelineFailed(f"`{sink.endpoint.shown}` is a pattern, and no goal: name a file or a folder")
            self._check_overwriting(sink.endpoint, self.program.sinks[:number])

    def _check_topic(self, node: Source | Enricher | Sink) -> None:
        if node.endpoint.format not in DOCUMENTS:
            known = listing([format_.value for format_ in DOCUMENTS], "or")
            raise PipelineFailed(
                f"`{node.endpoint.shown}` cannot have {node.endpoint.format.value}: a record is a document, in {known}"
            )
        self.topics_of(node).check(self.resolved(node.endpoint))

    def _check_key(self, sink: Sink) -> None:
        key, names = sink.endpoint.options.get(KEY), [name for shape in self.shapes(sink) for name in shape.names]
        if key is not None and key not in names:
            help_ = did_you_mean(str(key), names, "parameters")
            raise PipelineFailed(f"the key of `{sink.endpoint.shown}` is no parameter of what it is sent: {help_}")

    def _check_overwriting(self, goal: Endpoint, before: Sequence[Sink]) -> None:
        """The same was checked before, but for what is configured, and for the folder."""
        folder, written = os.path.abspath(self.folder), self.resolved(goal)
        for node in self.incoming:
            if overlap(self.resolved(node.endpoint), written, folder):
                raise PipelineFailed(
                    f"`{goal.shown}` lies where `{node.endpoint.shown}` is read: name another file, in a folder from "
                    "which nothing is read"
                )
        for other in before:
            if collide(self.resolved(other.endpoint), written, folder):
                raise PipelineFailed(
                    f"`{goal.shown}` and `{other.endpoint.shown}` are the same file, or one is in the folder that is "
                    "the other: name another one"
                )

    def shapes(self, node: Source | Enricher | Sink) -> tuple[Shape, ...]:
        return shapes_of(node.relations, self.program.relations)

    def path(self, endpoint: Endpoint) -> Path:
        return Path(os.path.join(self.folder, self.resolved(endpoint).path))

    def names(self, node: Source | Enricher) -> list[str]:
        """The files that are there now."""
        self._check(node.endpoint, SCHEMES_READ, "read")
        if node.endpoint.scheme != FILE:
            return []
        try:
            return named(str(self.path(node.endpoint)), is_table=is_table(node.endpoint))
        except FileMissing as error:
            raise FileMissing(self.seen(error.name), self._wanting(node)) from error
        except InputInvalid as error:
            raise InputInvalid(self.seen(str(error))) from error

    def _wanting(self, node: Source | Enricher) -> str:
        """Who wants a file, and where."""
        folder = self.seen(os.path.abspath(os.path.dirname(self.path(node.endpoint))))
        return f"`@{node.id}` with {listing(node.relations)} looks for it in the folder `{folder}`"

    def queues_of(self, node: Source | Enricher | Sink) -> Queues:
        """Where the messages of its queue are."""
        if self.queues is None:
            raise PipelineFailed(f"`{node.endpoint.shown}` is in a store: name it, with `--store`")
        return self.queues

    def topics_of(self, node: Source | Enricher | Sink) -> Topics:
        """Where its topic is."""
        if self.topics is None:
            raise PipelineFailed(f"`{node.endpoint.shown}` needs Spark: leave `--spark off` out")
        return self.topics

    def write(self, sink: Sink, facts: InOrder) -> int:
        """Send messages, all at once; how many there are."""
        if sink.endpoint.scheme == FILE:
            with self._refusals():
                return write_files(facts, self.shapes(sink), sink.endpoint, self.path(sink.endpoint))
        return self._send(sink, facts, (uuid4().hex, 0))

    def _send(self, sink: Sink, facts: InOrder, once: tuple[str, int]) -> int:
        """Give messages to somebody else, who may refuse them. A name and a number are theirs for all times."""
        if sink.endpoint.scheme == CONSOLE:
            return self._print(sink, facts)
        if sink.endpoint.scheme == KAFKA:
            found_ = records(facts, self.shapes(sink), sink.endpoint)
            return self.topics_of(sink).put(
                self.resolved(sink.endpoint), ((each, _id(once, sink, each.message)) for each in found_)
            )
        reasons, messages = [], 0
        if sink.endpoint.scheme == QUEUE:
            found = [document for _, document in documents(facts, self.shapes(sink), sink.endpoint)]
            reasons, messages = self.queues_of(sink).put(sink.endpoint.path, found, once), len(found)
        else:
            endpoint = self.resolved(sink.endpoint)
            for number, document in documents(facts, self.shapes(sink), sink.endpoint):
                reason = post(endpoint, document, _id(once, sink, number))
                reasons += [f"message {number}: {reason}"] if reason else []
                messages += 1
        self.refused.extend(Wrong(sink.id, sink.endpoint.shown, None, reason) for reason in reasons)
        return messages

    def check_growing(self, *, is_new: bool) -> None:
        """Can a stream write all goals? A new one begins with nothing."""
        for sink in self.program.sinks:
            if sink.endpoint.scheme == FILE:
                with self._refusals():
                    check_goal(sink.endpoint, self.shapes(sink), self.path(sink.endpoint), is_new=is_new)

    def write_what_is_missing(self) -> None:
        """Goals that a stream had no messages for are as a run without messages leaves them."""
        for sink in self.program.sinks:
            is_text = sink.endpoint.scheme == FILE and not is_table(sink.endpoint)
            if is_text and not self.path(sink.endpoint).exists():
                self.write(sink, lambda _by_message: ())

    def add(self, sink: Sink, facts: InOrder, lengths: dict[str, int], once: tuple[str, int]) -> int:
        """Send further messages of a stream; how many. `lengths` says how long files are, before and then after; the
        name and the number say `once` which messages these are."""
        if sink.endpoint.scheme != FILE:
            return self._send(sink, facts, once)
        path, shapes = self.path(sink.endpoint), self.shapes(sink)
        with self._refusals():
            if not is_one_file(sink.endpoint, path):
                return add_files(facts, shapes, sink.endpoint, path)
            length = lengths.get(sink.id, 0)
            number, lengths[sink.id] = add_to_file(facts, shapes, sink.endpoint, path, length)
            return number

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """What goals refuse, without what is configured."""
        try:
            yield
        except GoalRefused as error:
            raise GoalRefused(self.seen(str(error))) from error

    def seen(self, text: str) -> str:
        """A text about endpoints as it may be shown to anybody."""
        every = [node.endpoint for node in self.incoming] + [sink.endpoint for sink in self.program.sinks]
        for endpoint in every:
            with suppress(PipelineFailed):  # what is not configured cannot be seen
                text = seen(text, self.resolved(endpoint))
        return text

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
        self._check_ending(endpoint, self.resolved(endpoint).path)
        if endpoint.scheme in SERVICES:
            address_of(self.resolved(endpoint))

    def _check_ending(self, endpoint: Endpoint, path: str) -> None:
        """The ending of what is configured says something, when it is too late for that."""
        words = words_of(path) if endpoint.is_guessed else ()
        if any(word != endpoint.format.value and word not in endpoint.options for word in words):
            raise PipelineFailed(
                f"`{endpoint.shown}` is taken for {endpoint.format.value}, and the ending of the file says something "
                f"else: write `{', '.join(words)}` behind it"
            )


def _id(once: tuple[str, int], sink: Sink, number: int) -> str:
    """What a message is known by that is sent to a goal: the same if it is sent again."""
    return hashlib.sha256(f"{once[0]} {sink.id} {number}".encode()).hexdigest()


def is_table(endpoint: Endpoint) -> bool:
    return endpoint.scheme in (JDBC, SPARK) or (endpoint.format is Format.PARQUET and endpoint.scheme != KAFKA)
