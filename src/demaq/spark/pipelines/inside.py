"""Pipelines whose messages are read, evaluated and written in one go, each part of the input by one of Spark's workers.

Rules relate facts of one message, and a message is read as a whole: unless messages of several sources meet, or become
others, nothing has to be moved between workers, and Spark need not see a fact. Where several sources have one message
each, one worker has them all.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import Row, SparkSession

from demaq.pipelines.documents import Shape
from demaq.pipelines.plan.steps import Plan
from demaq.pipelines.program import Endpoint, Enricher, Sink, Source
from demaq.pipelines.running.endpoints import FILE, Endpoints, is_table
from demaq.pipelines.running.goals import appearing
from demaq.pipelines.running.parts import bytes_of
from demaq.pipelines.running.report import Wrong
from demaq.spark.pipelines.columnar import Evaluation, Tables, TooMuch, can_evaluate
from demaq.spark.pipelines.files import Counted, PartsReader, ReadPart
from demaq.spark.pipelines.texts import Chunk, Tally, Writer, around, can_write, columns_in_order

_TEXTS = ("text", "source", "file", "reason")
_NUMBERS = ("facts", "messages", "first", "last", "part", "line")
_ROW = pa.schema(
    [
        ("goal", pa.int32()),
        *((name, pa.string()) for name in _TEXTS),
        *((name, pa.int64()) for name in _NUMBERS),
    ]
)
_DDL = ", ".join(["goal int", *(f"{name} string" for name in _TEXTS), *(f"{name} bigint" for name in _NUMBERS)])
_READ, _WRONG, _TOO_MUCH = -1, -2, -3  # instead of the number of a goal
_SMALL = 64 * 1024 * 1024  # bytes of enrichers, which go to every worker
_AT_ONCE = 50_000  # facts that become text together
_COPIED = 1024 * 1024  # bytes


@dataclass(frozen=True, slots=True)
class Goal:
    """A file with the facts of one relation."""

    sink: str
    endpoint: Endpoint
    path: Path
    shape: Shape


def stays_inside(plan: Plan, endpoints: Endpoints) -> bool:
    """Can each part of what is read be done by itself, and are enrichers small enough for each worker?"""
    sources = endpoints.program.sources
    return (
        could_stay_inside(plan, endpoints)
        and (len(sources) == 1 or all(len(endpoints.names(source)) == 1 for source in sources))
        and bytes_of(name for node in endpoints.program.enrichers for name in endpoints.names(node)) <= _SMALL
    )


def could_stay_inside(plan: Plan, endpoints: Endpoints) -> bool:
    """Is all that is read one source of files, or a document of each of several, as far as is known without looking at
    files; and is enough known of the plan?"""
    program = endpoints.program
    read: list[Source | Enricher] = [*program.sources, *program.enrichers]
    is_of_lines = any(source.endpoint.options.get("lines") for source in program.sources)
    return (
        (len(program.sources) == 1 or (len(program.sources) > 1 and not is_of_lines))
        and bool(program.sinks)
        and all(node.endpoint.scheme == FILE and not is_table(node.endpoint) for node in read)
        and all(_is_text(sink, endpoints) for sink in program.sinks)
        and can_evaluate(plan)
    )


def _is_text(sink: Sink, endpoints: Endpoints) -> bool:
    path, shapes = endpoints.path(sink.endpoint), endpoints.shapes(sink)
    return sink.endpoint.scheme == FILE and can_write(sink.endpoint, path, shapes)


def goals_of(endpoints: Endpoints) -> list[Goal]:
    return [
        Goal(sink.id, sink.endpoint, endpoints.path(sink.endpoint), endpoints.shapes(sink)[0])
        for sink in endpoints.program.sinks
    ]


def readers_of(endpoints: Endpoints) -> list[PartsReader]:
    return [
        PartsReader(source.id, endpoints.names(source), endpoints.resolved(source.endpoint), endpoints.shapes(source))
        for source in endpoints.program.sources
    ]


@dataclass(slots=True)
class Done:
    """How much was read of each source, what could not be, and how much was written to each goal."""

    read: dict[str, Counted]
    wrong: list[Wrong] = field(default_factory=list)
    written: dict[str, Tally] = field(default_factory=dict)


def run_inside(
    spark: SparkSession,
    plan: Plan,
    readers: Sequence[PartsReader],
    enrichers: Tables,
    goals: Sequence[Goal],
    check: Callable[[Done], None],
) -> Done:
    """Do all of it. The goals appear together when all is there, and it was checked that they may.

    Raises `TooMuch` if this is more than workers should do by themselves.
    """
    parts = max(reader.parts for reader in readers)
    with ExitStack() as stack:
        files = [stack.enter_context(_opened(goal)) for goal in goals]
        aside = stack.enter_context(_aside(spark, goals[0].path))
        work = _Work(plan, tuple(readers), enrichers, tuple(goals), aside)
        frame = spark.range(0, parts, 1, max(1, parts)).mapInArrow(work, _DDL)
        rows = frame.toLocalIterator(prefetchPartitions=True) if aside is None else frame.collect()
        done = _collected(rows, files, goals, readers, aside)
        check(done)
    return done


@contextmanager
def _opened(goal: Goal) -> Iterator[IO[bytes]]:
    with appearing(goal.path) as temporary, open(temporary, "wb") as file:
        yield file


@contextmanager
def _aside(spark: SparkSession, path: Path) -> Iterator[str | None]:
    """A folder for the texts of parts, where all processes are on one machine."""
    if str(spark.sparkContext.master).startswith("local"):
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
            yield folder
    else:
        yield None


def _collected(
    rows: Iterable[Row],
    files: Sequence[IO[bytes]],
    goals: Sequence[Goal],
    readers: Sequence[PartsReader],
    aside: str | None,
) -> Done:
    read = {reader.source: dict.fromkeys(("", *reader.relations), 0) for reader in readers}
    tallies = [Tally() for _ in goals]
    wrong = []
    before = {reader.source: cache(reader.lines_before) for reader in readers}
    framed = [around(goal.endpoint, goal.shape) for goal in goals]
    for file, (begin, _, _) in zip(files, framed, strict=True):
        file.write(begin.encode())
    for row in rows:
        if row.goal == _READ:
            read[row.source][row.text] += row.facts
        elif row.goal == _WRONG:
            line = None if row.line is None else row.line + before[row.source](row.part)
            wrong.append(Wrong(row.source, row.file, line, row.reason))
        elif row.goal == _TOO_MUCH:
            raise TooMuch
        else:
            file, (_, between, _) = files[row.goal], framed[row.goal]
            file.write(between.encode() if tallies[row.goal].facts else b"")
            tallies[row.goal].add(row)
            _add(file, row, aside)
    for file, tally, (_, between, end) in zip(files, tallies, framed, strict=True):
        file.write((end if tally.facts or not between else "]\n").encode())  # an empty list has no lines inside
    wrong.sort(key=lambda each: (each.file or "", each.line or 0))
    counted = {source: Counted(found.pop(""), found) for source, found in read.items()}
    return Done(counted, wrong, {goal.sink: tally for goal, tally in zip(goals, tallies, strict=True)})


def _add(file: IO[bytes], row: Row, aside: str | None) -> None:
    if aside is None:
        file.write(row.text.encode())
        return
    with open(_name(aside, row.goal, row.part), "rb") as written:
        shutil.copyfileobj(written, file, _COPIED)


def _name(folder: str, goal: int, part: int) -> str:
    return os.path.join(folder, f"{goal}-{part}")


class _Work:
    """What a worker does with a part: a function for `mapInArrow`."""

    def __init__(
        self,
        plan: Plan,
        readers: tuple[PartsReader, ...],
        enrichers: Tables,
        goals: tuple[Goal, ...],
        aside: str | None,
    ) -> None:
        self._plan = plan
        self._readers = readers
        self._enrichers = enrichers
        self._goals = goals
        self._aside = aside

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        part = context.partitionId()
        for batch in batches:
            found = {reader.source: reader.read(batch) for reader in self._readers}
            for source, each in found.items():
                for name, number in each.counts.items():
                    yield _row(goal=_READ, source=source, text=name, facts=number)
                for file, line, reason in each.problems:
                    yield _row(goal=_WRONG, source=source, file=file, line=line, reason=reason, part=part)
            try:
                sent = self._evaluated(found)
            except TooMuch:
                yield _row(goal=_TOO_MUCH)
                return
            for number, goal in enumerate(self._goals):
                yield from self._written(number, goal, sent[goal.sink][goal.shape.relation], part)

    def _evaluated(self, found: Mapping[str, ReadPart]) -> dict[str, dict[str, pa.Table]]:
        given = {**self._enrichers, **{place: table for each in found.values() for place, table in each.facts.items()}}
        empty = [source for source, each in found.items() if not each.counts[""]]
        return Evaluation(given, empty).run(self._plan)

    def _written(self, number: int, goal: Goal, facts: pa.Table, part: int) -> Iterator[pa.RecordBatch]:
        ordered = _in_order(facts, columns_in_order(goal.shape))
        chunks = Writer(goal.endpoint, goal.shape).chunks(ordered.to_batches(max_chunksize=_AT_ONCE), part)
        if self._aside is None:
            yield from (_row(goal=number, **chunk._asdict()) for chunk in chunks)
            return
        tally, between = Tally(), around(goal.endpoint, goal.shape)[1].encode()
        with open(_name(self._aside, number, part), "wb") as file:
            for chunk in chunks:
                file.write(between if tally.facts else b"")
                file.write(chunk.text.encode())
                tally.add(chunk)
        if tally.facts:
            whole = Chunk("", tally.facts, tally.messages, tally.first or 0, tally.last or 0, part)
            yield _row(goal=number, **whole._asdict())


def _row(**values: Any) -> pa.RecordBatch:
    return pa.record_batch([pa.array([values.get(field.name)], field.type) for field in _ROW], schema=_ROW)


def _in_order(table: pa.Table, columns: list[str]) -> pa.Table:
    """Rows by their message, then by their values. Most come so."""
    table = table.select(columns).combine_chunks()
    if _is_in_order(table):
        return table
    keys = [(column, "ascending") for column in columns]
    return table.take(pc.sort_indices(table, sort_keys=keys, null_placement="at_start"))


def _is_in_order(table: pa.Table) -> bool:
    same = None  # rows that are the same as the one before, as far as was looked
    for column in table.columns:
        values = column.combine_chunks()
        if values.null_count:
            return False
        before, after = values[:-1], values[1:]
        less = pc.less(after, before)
        if pc.any(less if same is None else pc.and_(same, less), min_count=0).as_py():
            return False
        equal = pc.equal(before, after)
        same = equal if same is None else pc.and_(same, equal)
        if not pc.any(same, min_count=0).as_py():
            return True
    return True
