"""A pipeline that goes on as long as something comes.

Structured Streaming finds out which files are new, and remembers in the checkpoint which batch had which: a batch that
was begun and not ended is done again, with the same files. What a batch has written is known after it (see `progress`),
and what a batch that was not ended has written is overwritten: each message leaves once.
"""

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from uuid import uuid4

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from demaq.files import is_hidden, write_whole
from demaq.pipelines.documents import Shape
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.evaluate import Row
from demaq.pipelines.optimise import optimise
from demaq.pipelines.plan import print_plan
from demaq.pipelines.plan.steps import Gather, Plan
from demaq.pipelines.planner import plan_program
from demaq.pipelines.program import Source
from demaq.pipelines.running.batches import Progress
from demaq.pipelines.running.configured import seen
from demaq.pipelines.running.endpoints import QUEUE, SERVICES, SPARK, Endpoints, is_table
from demaq.pipelines.running.memory import MESSAGE_SIZE, SMALL, load_here, note_refused, read_here, some_wrong
from demaq.pipelines.running.memory import in_order as rows_in_order
from demaq.pipelines.running.memory import read_errors as read_errors_here
from demaq.pipelines.running.parts import bytes_of
from demaq.pipelines.running.polling import EVERY as POLL_EVERY
from demaq.pipelines.running.polling import Polled
from demaq.pipelines.running.report import Done, Wrong, refusal
from demaq.pipelines.running.rows import Compiled, RowBatch, RowChannel
from demaq.pipelines.running.topics import stretches
from demaq.pipelines.vocabulary import EVERY, KAFKA
from demaq.spark.pipelines.endpoints import in_order, read_errors, told
from demaq.spark.pipelines.files import PROBLEMS, without_gaps
from demaq.spark.pipelines.names import Wanted, literal, wider
from demaq.spark.pipelines.state import ARRIVAL, Channel
from demaq.spark.pipelines.streams.databases import Once
from demaq.spark.pipelines.streams.enriching import Enriching
from demaq.spark.pipelines.streams.frames import FrameBatch
from demaq.spark.pipelines.streams.progress import Checkpoint
from demaq.spark.pipelines.streams.tables import New, Tables, known_types, local_name, new_rows, with_types
from demaq.spark.pipelines.topics import SparkTopics, new_stretches
from demaq.spark.pipelines.topics import told as told_of_topics
from demaq.spark.starting import is_gone

_FILES_AT_ONCE = 1000
_NOTE = "stream.json"  # what a stream began with
_LOOK = 0.1  # seconds after which it is looked whether to stop
_FILE_SCHEMA = "path string, modificationTime timestamp, length bigint, content binary"
_SOURCE, _PATH = "source", "path"
_DIGITS = 20  # of a position, so that names are in its order


class Stream:
    """One pipeline, and the folder with its checkpoint."""

    def __init__(
        self,
        endpoints: Endpoints,
        checkpoint: Path,
        spark: SparkSession,
        *,
        is_strict: bool = False,
        small: int = SMALL,
        tell: Callable[[Done], None] = lambda _done: None,
    ) -> None:
        self._spark = spark
        self._folder = checkpoint
        endpoints = replace(endpoints, topics=SparkTopics(spark))
        self._types = known_types(endpoints, checkpoint / _NOTE, spark)
        self._endpoints = endpoints = with_types(endpoints, self._types)
        self._tables = Tables(spark, endpoints)
        self._program = endpoints.program
        self._plan: Plan = optimise(plan_program(endpoints.program))
        self._checkpoint = Checkpoint(checkpoint.absolute() / "batches", self._plan)
        self._is_strict = is_strict
        self._tell = tell
        self._small = small
        self._compiled = Compiled()
        self._here = Enriching(self._endpoints, lambda enricher: load_here(self._endpoints, enricher))
        self._there = Enriching(self._endpoints, self._tables.load, self._tables.release)
        self._sinks = {sink.id: sink for sink in endpoints.program.sinks}
        self._error: Exception | None = None
        self._wanted: dict[str, Wanted] = {}  # files, by source
        self._begin()

    def _begin(self) -> None:
        """Is all that is needed there, and is it the same pipeline as before?"""
        note, digest = self._folder / _NOTE, hashlib.sha256(print_plan(self._plan).encode()).hexdigest()
        is_new = not note.exists()
        self._endpoints.check_growing(is_new=is_new)
        if is_new:
            self._folder.mkdir(parents=True, exist_ok=True)
            types = [[*parameter, type_.value] for parameter, type_ in self._types.items()]
            begun = {"pipeline": self._program.name, "digest": digest, "id": uuid4().hex, "types": types}
            write_whole(note, json.dumps(begun).encode())
        known = json.loads(note.read_text(encoding="utf-8"))
        if known["digest"] != digest:
            raise PipelineFailed(
                f"the pipeline is another one than that of the checkpoint in `{self._folder}`: name another "
                "checkpoint, or remove this one to begin again"
            )
        self._id = known["id"]
        self._polled = {
            source.id: Polled(self._endpoints.resolved(source.endpoint), self._folder / "polled" / f"source{number}")
            for number, source in enumerate(self._program.sources)
            if source.endpoint.scheme in SERVICES
        }
        if (self._folder / "complete").exists():
            raise PipelineFailed(f"the stream of `{self._folder}` is complete: name another checkpoint to begin again")

    # Running

    def run_until_idle(self) -> None:
        """Do all that is there, and return."""
        for polled in self._polled.values():
            polled.poll()
        self._await(self._writer().trigger(availableNow=True).start())

    def run(self, every: float, should_stop: Callable[[], bool]) -> None:
        """Go on, with a look at what is new every so many seconds, until it should stop."""
        query = self._writer().trigger(processingTime=f"{every} seconds").start()
        ended = threading.Event()
        asking = [
            threading.Thread(target=self._ask, args=(source, ended), daemon=True)
            for source in self._program.sources
            if source.id in self._polled
        ]
        for thread in asking:
            thread.start()
        try:
            self._go_on(query, should_stop)
        except Exception:
            if not (should_stop() and is_gone(self._spark)):
                raise  # what was not ended by whoever stops it is done again
        finally:
            ended.set()

    def _go_on(self, query: StreamingQuery, should_stop: Callable[[], bool]) -> None:
        try:
            while query.isActive and not should_stop():
                time.sleep(_LOOK)
        finally:
            query.stop()
        self._await(query)

    def _ask(self, source: Source, ended: threading.Event) -> None:
        """Ask a service again and again. That it does not answer is told once, and not for ever."""
        told = ""
        pause = float(str(source.endpoint.options.get(EVERY, POLL_EVERY)))
        while not ended.is_set():
            try:
                self._polled[source.id].poll()
                told = ""
            except (PipelineFailed, OSError) as error:
                if str(error) != told:
                    self._tell(
                        Done(-1, wrong=[Wrong(source.id, source.endpoint.shown, None, str(error))], wrong_number=1)
                    )
                told = str(error)
            ended.wait(pause)

    def complete(self) -> None:
        """Do all that is there. Nothing will come any more: what waits for others no longer does."""
        self.run_until_idle()
        last = self._checkpoint.last()
        self._run_batch(last + 1, last, {}, {}, ended=True)  # and nothing is noted: the number may still be Spark's
        self._endpoints.write_what_is_missing()
        (self._folder / "complete").write_text("", encoding="utf-8")

    def _writer(self) -> DataStreamWriter:
        found = [self._new(source) for source in self._endpoints.sources]
        if not found:
            raise PipelineFailed("a stream needs a source: the pipeline has none")
        has_times = any(isinstance(step, Gather) and step.time is not None for step in self._plan.steps)
        names = reduce(
            lambda one, other: one.unionByName(other, allowMissingColumns=True),
            [*found, self._ticks()] if has_times else found,
        )
        writer = names.writeStream.foreachBatch(self._on_batch).queryName(self._program.name)
        return writer.option("checkpointLocation", str(self._folder.absolute() / "spark"))

    def _new(self, source: Source) -> DataFrame:
        """The names of what is new, in their order: of files, of stretches of topics, or the positions of messages.
        Rows have none, and come themselves, in a column that is called like the source."""
        if source.endpoint.scheme == KAFKA:
            return new_stretches(self._spark, source, self._endpoints.resolved(source.endpoint))
        if source.endpoint.scheme == SPARK:
            rows = new_rows(self._spark, self._endpoints.resolved(source.endpoint))
            return rows.select(F.lit(source.id).alias(_SOURCE), F.lit("").alias(_PATH), F.struct("*").alias(source.id))
        if source.endpoint.scheme != QUEUE:
            return self._new_files(source)
        queues = self._endpoints.queues_of(source)
        log = self._spark.readStream.format("demaq").option("store", queues.url).option("queue", source.endpoint.path)
        position = F.lpad(F.col("position").cast("string"), _DIGITS, "0")
        return log.option("columns", "position").load().select(F.lit(source.id).alias(_SOURCE), position.alias(_PATH))

    def _new_files(self, source: Source) -> DataFrame:
        polled = self._polled.get(source.id)
        path = self._endpoints.path(source.endpoint) if polled is None else polled.folder
        wanted = Wanted(os.path.abspath(path), path.is_dir(), is_table(source.endpoint))
        self._wanted[source.id] = wanted
        reader = self._spark.readStream.format("binaryFile").schema(_FILE_SCHEMA)
        reader = reader.option("maxFilesPerTrigger", _FILES_AT_ONCE).option("recursiveFileLookup", "true")
        folder = Path(wanted.path)
        if not wanted.is_folder:
            self._check_name(source, path)
            folder = folder.parent
            if not wanted.is_table:  # which may be in folders that are called so
                reader = reader.option("pathGlobFilter", wider(path.name))
        return reader.load(literal(folder)).select(F.lit(source.id).alias(_SOURCE), _PATH)

    def _check_name(self, source: Source, path: Path) -> None:
        """Could Spark find a file of this name, or pattern?"""
        if not path.parent.is_dir():
            shown = seen(str(path.parent), self._endpoints.resolved(source.endpoint))
            raise PipelineFailed(f"there is no folder `{shown}`, in which new files of a stream would be found")
        if is_hidden(path.name):
            raise PipelineFailed(
                f"`{source.endpoint.shown}` would not be found: a stream takes no file whose name begins with `_` or "
                "`.`; give it another name"
            )

    def _ticks(self) -> DataFrame:
        """So that there are batches when nothing comes: time goes on."""
        ticks = self._spark.readStream.format("rate").option("rowsPerSecond", 1).load()
        return ticks.select(F.lit("").alias(_SOURCE), F.lit("").alias(_PATH))

    def _await(self, query: StreamingQuery) -> None:
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            first = self._error or error
            found = told_of_topics(first, self._endpoints)
            if found is first:
                raise first from None
            raise PipelineFailed(f"{found}; the stream goes on where it ended when it is begun again") from error

    def _on_batch(self, frame: DataFrame, number: int) -> None:
        if self._checkpoint.has(number):
            return  # it was done, and Spark does not know
        try:
            names: dict[str, list[str]] = {}
            named = frame.where(F.col(_PATH) != "").select(_SOURCE, _PATH)
            for source, path in sorted(tuple(row) for row in named.collect()):
                name = local_name(path)
                if source not in self._wanted or self._wanted[source].has(name):
                    names.setdefault(source, []).append(name)
            rows = {
                source.id: own.persist()
                for source in self._endpoints.sources
                if source.endpoint.scheme == SPARK and not (own := _rows_of(source, frame)).isEmpty()
            }
            self._run_batch(number, number - 1, names, rows, ended=False)
        except Exception as error:
            self._error = error  # Spark would tell of it in its own way
            raise

    # A batch

    def _run_batch(
        self,
        number: int,
        before: int,
        names: Mapping[str, list[str]],
        rows: Mapping[str, DataFrame],
        *,
        ended: bool,
    ) -> None:
        start = time.monotonic()
        done, progress = Done(number), self._checkpoint.load(before)
        for source_id, polled in self._polled.items():  # what the batch before has read is not read again
            read_now = [os.path.basename(name) for name in names.get(source_id, ())]
            progress.polled[source_id] = [*polled.forget(progress.polled.get(source_id, [])), *read_now]
        sources = [source for source in self._program.sources if names.get(source.id)]
        size = self._checkpoint.size(before) + sum(_size(source, names[source.id]) for source in sources)
        size += sum(bytes_of(self._endpoints.names(enricher)) for enricher in self._program.enrichers)
        named = [(source, names[source.id]) for source in sources]
        if size <= self._small and not rows and not self._tables.are_in(sources):
            self._in_memory(done, progress, before, named, ended)
        else:
            with_rows = [(source, rows[source.id]) for source in self._program.sources if source.id in rows]
            self._on_spark(done, progress, before, [*named, *with_rows], ended)
        done.seconds = time.monotonic() - start
        if done.messages or done.wrong or any(done.sent.values()):
            self._tell(done)

    def _in_memory(
        self, done: Done, progress: Progress, before: int, new: list[tuple[Source, list[str]]], ended: bool
    ) -> None:
        now = datetime.now(UTC)
        wrong: list[Wrong] = []
        enrichers: dict[str, Mapping[str, list[Row]]] = {}
        for enricher in self._program.enrichers:
            (enrichers[enricher.id], problems), is_new = self._here.current(enricher)
            wrong += problems if is_new else []

        def deliver(sink: str, parts: Mapping[str, Sequence[Row]]) -> None:
            once = self._once(sink, done, ended)
            if is_table(self._sinks[sink].endpoint):
                done.sent[sink] = self._tables.add(self._sinks[sink], self._tables.framed(parts), once)
                return
            done.sent[sink] = self._endpoints.add(
                self._sinks[sink],
                rows_in_order(parts, self._shapes(sink)),
                progress.lengths,
                once.key,
            )

        batch = RowBatch(
            self._plan,
            self._checkpoint.rows(before),
            progress,
            now,
            ended,
            enrichers=enrichers,
            deliver=deliver,
            compiled=self._compiled,
        )
        for source, names in new:
            first = progress.counts.get(source.id, 0)
            found = read_here(self._endpoints, source, names, first)
            wrong += found.wrong
            done.messages[source.id] = found.count
            numbers = range(first, first + found.count)
            batch.add(source.id, RowChannel(found.facts, dict.fromkeys(numbers, now)), found.count)
        done.wrong, done.wrong_number = some_wrong(wrong), len(wrong)
        for source in self._endpoints.errors:
            first = progress.counts.get(source.id, 0)
            errors = read_errors_here(self._endpoints, source, wrong, first)
            batch.add(source.id, RowChannel(errors.facts, {first: now} if errors.count else {}), errors.count)
        self._finish(batch, done)

    def _on_spark(
        self, done: Done, progress: Progress, before: int, new: list[tuple[Source, New]], ended: bool
    ) -> None:
        now = datetime.now(UTC)

        def deliver(sink: str, parts: Mapping[str, DataFrame]) -> None:
            kept = {relation: frame.persist() for relation, frame in parts.items()}
            once = self._once(sink, done, ended)
            if is_table(self._sinks[sink].endpoint):
                done.sent[sink] = self._tables.add(self._sinks[sink], kept, once)
            else:
                found = in_order(kept, self._shapes(sink))
                done.sent[sink] = self._endpoints.add(self._sinks[sink], found, progress.lengths, once.key)
            for frame in kept.values():
                frame.unpersist()

        enrichers: dict[tuple[str, str], DataFrame] = {}
        problems = [self._spark.createDataFrame([], PROBLEMS)]
        for enricher in self._program.enrichers:
            (facts, loaded), is_new = self._there.current(enricher)
            enrichers.update({(enricher.id, relation): frame for relation, frame in facts.items()})
            problems += [loaded.problems] if is_new else []
        batch = FrameBatch(
            self._plan,
            self._checkpoint.frames(before, self._spark),
            progress,
            now,
            ended,
            spark=self._spark,
            enrichers=enrichers,
            deliver=deliver,
        )
        readings = []
        for source, what in new:
            first = progress.counts.get(source.id, 0)
            reading = self._tables.read(source, what, first)
            readings.append(reading)
            problems.append(reading.problems)
            found = without_gaps(reading.channel, first)
            found = Channel(found.facts, found.messages.withColumn(ARRIVAL, F.lit(now)))
            done.messages[source.id] = found.messages.count()
            batch.add(source.id, found, done.messages[source.id])
        done.wrong, done.wrong_number = told(reduce(DataFrame.union, problems))
        for source in self._endpoints.errors if done.wrong else ():
            first = progress.counts.get(source.id, 0)
            errors = read_errors(self._spark, self._endpoints, source, reduce(DataFrame.union, problems), first)
            readings.append(errors)
            found = Channel(errors.channel.facts, errors.channel.messages.withColumn(ARRIVAL, F.lit(now)))
            batch.add(source.id, found, 1)
        self._finish(batch, done)
        for reading in readings:
            reading.release()

    def _finish(self, batch: FrameBatch | RowBatch, done: Done) -> None:
        if done.wrong and self._is_strict:
            raise refusal(done, "nothing of the batch was written")
        kept = batch.run()
        note_refused(done, self._endpoints)
        if not batch.ended:
            self._checkpoint.save(done.number, batch.progress, kept)

    def _once(self, sink: str, done: Done, ended: bool) -> Once:
        """What a batch sends to a goal has a name and a number, by which it is known if it comes again."""
        name = f"stream {self._id} to {sink}"
        return Once(f"{name}, the end", 0, is_end=True) if ended else Once(name, done.number)

    def _shapes(self, sink: str) -> tuple[Shape, ...]:
        return self._endpoints.shapes(self._sinks[sink])


def _size(source: Source, names: Sequence[str]) -> int:
    if source.endpoint.scheme == KAFKA:
        return sum(stretch.size for stretch in stretches(names))
    return MESSAGE_SIZE * len(names) if source.endpoint.scheme == QUEUE else bytes_of(names)


def _rows_of(source: Source, frame: DataFrame) -> DataFrame:
    return frame.where(F.col(_SOURCE) == source.id).select(f"`{source.id}`.*")
