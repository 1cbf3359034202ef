"""A pipeline that goes on as long as something comes.

Structured Streaming finds out which files are new, and remembers in the checkpoint which batch had which: a batch that
was begun and not ended is done again, with the same files. What a batch has written is known after it (see `progress`),
and what a batch that was not ended has written is overwritten: each message leaves once.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from demaq.pipelines import Program
from demaq.pipelines.errors import InputWrong, PipelineFailed
from demaq.pipelines.optimise import optimise
from demaq.pipelines.plan import print_plan
from demaq.pipelines.plan.steps import Gather, Plan, Send
from demaq.pipelines.planner import plan_program
from demaq.pipelines.program import Enricher, Sink, Source
from demaq.spark.pipelines.endpoints import FILE, Endpoints
from demaq.spark.pipelines.files import PROBLEMS, without_gaps
from demaq.spark.pipelines.goals import is_one_file
from demaq.spark.pipelines.problems import Wrong, told
from demaq.spark.pipelines.state import ARRIVAL, Channel
from demaq.spark.pipelines.streams.batches import Batch, Enrichers, together
from demaq.spark.pipelines.streams.goals import add_files, add_to_file, check_goal
from demaq.spark.pipelines.streams.progress import Checkpoint, Progress

_FILES_AT_ONCE = 1000
_LOOK = 0.1  # seconds after which it is looked whether to stop
_FILE_SCHEMA = "path string, modificationTime timestamp, length bigint, content binary"
_SOURCE, _PATH = "source", "path"


@dataclass(slots=True)
class Done:
    """What a batch has done: messages that came by source, messages that were sent by goal; what could not be read."""

    number: int
    seconds: float = 0.0
    messages: dict[str, int] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)
    wrong: list[Wrong] = field(default_factory=list)
    wrong_number: int = 0


class Stream:
    """One pipeline, and the folder with its checkpoint."""

    def __init__(
        self,
        program: Program,
        folder: Path,
        checkpoint: Path,
        spark: SparkSession,
        *,
        is_strict: bool = False,
        tell: Callable[[Done], None] = lambda _done: None,
    ) -> None:
        self._program = program
        self._spark = spark
        self._endpoints = Endpoints(program, folder)
        self._plan: Plan = optimise(plan_program(program))
        self._folder = checkpoint
        self._checkpoint = Checkpoint(checkpoint / "batches")
        self._is_strict = is_strict
        self._tell = tell
        self._enrichers: dict[str, tuple[object, dict[tuple[str, str], DataFrame]]] = {}
        self._sinks = {sink.id: sink for sink in program.sinks}
        self._error: Exception | None = None
        self._begin()

    def _begin(self) -> None:
        """Is all that is needed there, and is it the same pipeline as before?"""
        self._endpoints.check()
        note, digest = self._folder / "stream.json", hashlib.sha256(print_plan(self._plan).encode()).hexdigest()
        is_new = not note.exists()
        for sink in self._program.sinks:
            if sink.endpoint.scheme == FILE:
                path = self._endpoints.path(sink.endpoint)
                check_goal(sink.endpoint, self._endpoints.shapes(sink), path, is_new=is_new)
        if is_new:
            self._folder.mkdir(parents=True, exist_ok=True)
            note.write_text(json.dumps({"pipeline": self._program.name, "digest": digest}), encoding="utf-8")
        known = json.loads(note.read_text(encoding="utf-8"))
        if known["digest"] != digest:
            raise PipelineFailed(
                f"the pipeline is another one than that of the checkpoint in `{self._folder}`: name another "
                "checkpoint, or remove this one to begin again"
            )
        if (self._folder / "complete").exists():
            raise PipelineFailed(f"the stream of `{self._folder}` is complete: name another checkpoint to begin again")

    # Running

    def run_until_idle(self) -> None:
        """Do all that is there, and return."""
        self._await(self._writer().trigger(availableNow=True).start())

    def run(self, every: float, should_stop: Callable[[], bool]) -> None:
        """Go on, with a look at what is new every so many seconds, until it should stop."""
        query = self._writer().trigger(processingTime=f"{every} seconds").start()
        try:
            while query.isActive and not should_stop():
                time.sleep(_LOOK)
        finally:
            query.stop()
        self._await(query)

    def complete(self) -> None:
        """Do all that is there. Nothing will come any more: what waits for others no longer does."""
        self.run_until_idle()
        last = self._checkpoint.last()
        self._run_batch(last + 1, last, {}, ended=True)
        (self._folder / "complete").write_text("", encoding="utf-8")

    def _writer(self) -> DataStreamWriter:
        found = [self._new_files(source) for source in self._program.sources]
        if not found:
            raise PipelineFailed("a stream needs a source: the pipeline has none")
        has_times = any(isinstance(step, Gather) and step.time is not None for step in self._plan.steps)
        names = reduce(DataFrame.union, [*found, self._ticks()] if has_times else found)
        writer = names.writeStream.foreachBatch(self._on_batch).queryName(self._program.name)
        return writer.option("checkpointLocation", str(self._folder / "spark"))

    def _new_files(self, source: Source) -> DataFrame:
        path = self._endpoints.path(source.endpoint)
        reader = self._spark.readStream.format("binaryFile").schema(_FILE_SCHEMA)
        reader = reader.option("maxFilesPerTrigger", _FILES_AT_ONCE).option("recursiveFileLookup", "true")
        if not path.is_dir():
            folder = path.parent
            if not folder.is_dir():
                raise PipelineFailed(f"there is no folder `{folder}`, in which new files of a stream would be found")
            reader, path = reader.option("pathGlobFilter", path.name), folder
        return reader.load(str(path)).select(F.lit(source.id).alias(_SOURCE), _PATH)

    def _ticks(self) -> DataFrame:
        """So that there are batches when nothing comes: time goes on."""
        ticks = self._spark.readStream.format("rate").option("rowsPerSecond", 1).load()
        return ticks.select(F.lit("").alias(_SOURCE), F.lit("").alias(_PATH))

    def _await(self, query: StreamingQuery) -> None:
        try:
            query.awaitTermination()
        except StreamingQueryException:
            if self._error is not None:
                raise self._error from None
            raise

    def _on_batch(self, frame: DataFrame, number: int) -> None:
        if self._checkpoint.has(number):
            return  # it was done, and Spark does not know
        try:
            names: dict[str, list[str]] = {}
            for source, path in sorted(tuple(row) for row in frame.where(F.col(_SOURCE) != "").collect()):
                names.setdefault(source, []).append(_local(path))
            self._run_batch(number, number - 1, names, ended=False)
        except Exception as error:
            self._error = error  # Spark would tell of it in its own way
            raise

    # A batch

    def _run_batch(self, number: int, before: int, names: Mapping[str, list[str]], *, ended: bool) -> None:
        start = time.monotonic()
        now = datetime.now(UTC)
        done = Done(number)
        progress = self._checkpoint.load(before)
        kept = self._checkpoint.kept(before, self._spark)
        channels, readings = dict(kept), []
        for source in self._program.sources:
            if names.get(source.id):
                first = progress.counts.get(source.id, 0)
                found = self._endpoints.read(self._spark, source, names[source.id], first)
                readings.append(found)
                new = without_gaps(found.channel, first)
                new = Channel(new.facts, new.messages.withColumn(ARRIVAL, F.lit(now)))
                done.messages[source.id] = new.messages.count()
                progress.counts[source.id] = first + done.messages[source.id]
                channels[source.id] = together(channels.get(source.id), new)
        problems = [self._spark.createDataFrame([], PROBLEMS), *(found.problems for found in readings)]
        done.wrong, done.wrong_number = told(reduce(DataFrame.union, problems))
        if done.wrong and self._is_strict:
            raise InputWrong(f"{done.wrong[0]}; nothing of its batch was written")
        batch = Batch(self._plan, self._spark, self._loaded(), channels, progress, now, ended)
        left = batch.run(lambda step, parts: self._deliver(step, parts, progress, done))
        self._checkpoint.save(number, progress, left)
        for found in readings:
            found.kept.unpersist()
        done.seconds = time.monotonic() - start
        if done.messages or any(done.sent.values()):
            self._tell(done)

    def _loaded(self) -> Enrichers:
        """The facts of enrichers, read again if their files have changed."""
        found: dict[tuple[str, str], DataFrame] = {}
        for enricher in self._program.enrichers:
            version = _version(self._endpoints, enricher)
            known = self._enrichers.get(enricher.id)
            if known is None or known[0] != version:
                facts, _ = self._endpoints.load(self._spark, enricher)
                known = (version, {(enricher.id, relation): frame for relation, frame in facts.items()})
                self._enrichers[enricher.id] = known
            found.update(known[1])
        return found

    def _deliver(self, step: Send, parts: Mapping[str, DataFrame], progress: Progress, done: Done) -> None:
        sink = self._sinks[step.sink]
        kept = {relation: frame.persist() for relation, frame in parts.items()}
        number = self._add(sink, kept, progress)
        for frame in kept.values():
            frame.unpersist()
        done.sent[sink.id] = number
        progress.sent[sink.id] = progress.sent.get(sink.id, 0) + number

    def _add(self, sink: Sink, parts: Mapping[str, DataFrame], progress: Progress) -> int:
        if sink.endpoint.scheme != FILE:
            return self._endpoints.print(parts)
        path, shapes = self._endpoints.path(sink.endpoint), self._endpoints.shapes(sink)
        if not is_one_file(sink.endpoint, path):
            return add_files(parts, shapes, sink.endpoint, path)
        length = progress.lengths.get(sink.id, 0)
        number, progress.lengths[sink.id] = add_to_file(parts, shapes, sink.endpoint, path, length)
        return number


def _version(endpoints: Endpoints, enricher: Enricher) -> object:
    """Something that is another one when files have changed."""
    return [(name, os.stat(name).st_mtime_ns, os.stat(name).st_size) for name in endpoints.names(enricher)]


def _local(path: str) -> str:
    """The name of a file that Spark has found."""
    return path.removeprefix("file:").replace("//", "/", 1) if path.startswith("file:") else path
