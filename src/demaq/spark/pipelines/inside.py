"""Pipelines whose messages are read, evaluated and written in one go, each part of the input by one of Spark's workers.

Rules relate facts of one message, and a message is read as a whole: unless messages of several sources meet, or become
others, nothing has to be moved between workers, and Spark need not see a fact. Where several sources have one message
each, one worker has them all. What is not too much, this process does by itself, in the same way (`whole.py`).
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import RDD
from pyspark.sql import SparkSession

from demaq.pipelines.documents import Shape
from demaq.pipelines.plan.steps import Count, Plan
from demaq.pipelines.program import Endpoint, Enricher, Sink, Source
from demaq.pipelines.running.endpoints import FILE, Endpoints, is_table
from demaq.pipelines.running.goals import appearing
from demaq.pipelines.running.parts import bytes_of
from demaq.pipelines.running.progress import Progress
from demaq.pipelines.running.report import Wrong
from demaq.spark.pipelines.columnar import Evaluation, Tables, TooMuch, can_evaluate
from demaq.spark.pipelines.files import Counted, PartsReader, ReadPart
from demaq.spark.pipelines.texts import Chunk, Tally, Writer, around, can_write, columns_in_order

_READ, _WRONG, _TOO_MUCH, _COUNTED = -1, -2, -3, -4  # instead of the number of a goal
_SMALL = 64 * 1024 * 1024  # bytes of enrichers, which go to every worker
_AT_ONCE = 50_000  # facts that become text together
_COPIED = 1024 * 1024  # bytes


class _Row(NamedTuple):
    """What a worker tells of a part: the text of a goal, or one of the above."""

    goal: int
    source: str = ""
    relation: str = ""
    facts: int = 0
    file: str = ""
    line: int | None = None
    reason: str = ""
    part: int = 0
    chunk: Chunk | None = None


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
    """How much was read of each source, what could not be, how much was written to each goal, and what was counted."""

    read: dict[str, Counted]
    wrong: list[Wrong] = field(default_factory=list)
    written: dict[str, Tally] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


def run_inside(
    spark: SparkSession | None,
    plan: Plan,
    readers: Sequence[PartsReader],
    enrichers: Tables,
    goals: Sequence[Goal],
    check: Callable[[Done], None],
    progress: Progress,
    patience: int | None = None,
) -> Done:
    """Do all of it, in this process if there is no session of Spark. The goals appear together when all is there, and
    it was checked that they may.

    Raises `TooMuch` if this is more than a process should do by itself. Its `patience` is for so many messages that
    are not plain tables, and have to be read one by one.
    """
    parts = max(reader.parts for reader in readers)
    with ExitStack() as stack:
        files = [stack.enter_context(_opened(goal)) for goal in goals]
        aside = None if spark is None else stack.enter_context(_aside(spark, goals[0].path))
        work = _Work(plan, tuple(readers), enrichers, tuple(goals), aside, patience)
        found = work(range(parts)) if spark is None else _rows(spark, work, parts, is_aside=aside is not None)
        rows = _counted(found, parts, progress)
        done = _collected(rows, files, goals, readers, aside)
        check(done)
    return done


def _rows(spark: SparkSession, work: "_Work", parts: int, *, is_aside: bool) -> Iterable[_Row]:
    """What workers tell. Spark takes twice as long to begin if it is asked for a data frame."""
    numbers = spark.sparkContext.parallelize(range(parts), max(1, parts))
    found: RDD[_Row] = numbers.mapPartitions(work)
    return found.collect() if is_aside else found.toLocalIterator(prefetchPartitions=True)


def _counted(rows: Iterable[_Row], parts: int, progress: Progress) -> Iterator[_Row]:
    """The same rows, which come part by part."""
    for row in rows:
        if row.goal == _READ:
            progress.reach(row.part, parts)
        yield row
    progress.reach(parts, parts)


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
    rows: Iterable[_Row],
    files: Sequence[IO[bytes]],
    goals: Sequence[Goal],
    readers: Sequence[PartsReader],
    aside: str | None,
) -> Done:
    read = {reader.source: dict.fromkeys(("", *reader.relations), 0) for reader in readers}
    tallies = [Tally() for _ in goals]
    wrong = []
    counts: dict[str, int] = {}
    before = {reader.source: cache(reader.lines_before) for reader in readers}
    framed = [around(goal.endpoint, goal.shape) for goal in goals]
    for file, (begin, _, _) in zip(files, framed, strict=True):
        file.write(begin.encode())
    for row in rows:
        if row.goal == _READ:
            read[row.source][row.relation] += row.facts
        elif row.goal == _WRONG:
            line = None if row.line is None else row.line + before[row.source](row.part)
            wrong.append(Wrong(row.source, row.file, line, row.reason))
        elif row.goal == _TOO_MUCH:
            raise TooMuch
        elif row.goal == _COUNTED:
            counts[row.relation] = counts.get(row.relation, 0) + row.facts
        else:
            file, (_, between, _) = files[row.goal], framed[row.goal]
            file.write(between.encode() if tallies[row.goal].facts else b"")
            assert row.chunk is not None
            tallies[row.goal].add(row.chunk)
            _add(file, row.goal, row.chunk, aside)
    for file, tally, (_, between, end) in zip(files, tallies, framed, strict=True):
        file.write((end if tally.facts or not between else "]\n").encode())  # an empty list has no lines inside
    counted = {source: Counted(found.pop(""), found) for source, found in read.items()}
    written = {goal.sink: tally for goal, tally in zip(goals, tallies, strict=True)}
    return Done(counted, wrong, written, counts)


def _add(file: IO[bytes], goal: int, chunk: Chunk, aside: str | None) -> None:
    if aside is None:
        file.write(chunk.text.encode())
        return
    with open(_name(aside, goal, chunk.part), "rb") as written:
        shutil.copyfileobj(written, file, _COPIED)


def _name(folder: str, goal: int, part: int) -> str:
    return os.path.join(folder, f"{goal}-{part}")


class _Work:
    """What a worker does with a part: a function for `mapPartitions`."""

    def __init__(
        self,
        plan: Plan,
        readers: tuple[PartsReader, ...],
        enrichers: Tables,
        goals: tuple[Goal, ...],
        aside: str | None,
        patience: int | None,
    ) -> None:
        self._plan = plan
        self._readers = readers
        self._enrichers = enrichers
        self._goals = goals
        self._aside = aside
        self._patience = patience

    def __call__(self, parts: Iterable[int]) -> Iterator[_Row]:
        one_by_one = 0
        for part in parts:
            numbers = pa.record_batch([[part]], names=["part"])
            found = {reader.source: reader.read(numbers) for reader in self._readers}
            for source, each in found.items():
                for name, number in each.counts.items():
                    yield _Row(_READ, source=source, relation=name, facts=number, part=part)
                for file, line, reason in each.problems:
                    yield _Row(_WRONG, source=source, file=file, line=line, reason=reason, part=part)
            one_by_one += sum(each.one_by_one for each in found.values())
            if self._patience is not None and one_by_one > self._patience:
                yield _Row(_TOO_MUCH)
                return
            try:
                yield from self._done(found, part)
            except (TooMuch, pa.ArrowException, MemoryError):  # as if two gigabytes of text should be one column
                yield _Row(_TOO_MUCH)
                return

    def _done(self, found: Mapping[str, ReadPart], part: int) -> Iterator[_Row]:
        evaluation = self._evaluation(found)
        sent = evaluation.run(self._plan)
        for step in self._plan.steps:
            if isinstance(step, Count) and (step.node.channels or part == 0):  # else it is the same in all parts
                yield _Row(_COUNTED, relation=step.relation, facts=evaluation.counts[step.relation])
        for number, goal in enumerate(self._goals):
            yield from self._written(number, goal, sent[goal.sink][goal.shape.relation], part)

    def _evaluation(self, found: Mapping[str, ReadPart]) -> Evaluation:
        given = {**self._enrichers, **{place: table for each in found.values() for place, table in each.facts.items()}}
        empty = [source for source, each in found.items() if not each.counts[""]]
        return Evaluation(given, empty)

    def _written(self, number: int, goal: Goal, facts: pa.Table, part: int) -> Iterator[_Row]:
        ordered = _in_order(facts, columns_in_order(goal.shape))
        chunks = Writer(goal.endpoint, goal.shape).chunks(ordered.to_batches(max_chunksize=_AT_ONCE), part)
        if self._aside is None:
            yield from (_Row(number, chunk=chunk) for chunk in chunks)
            return
        tally, between = Tally(), around(goal.endpoint, goal.shape)[1].encode()
        with open(_name(self._aside, number, part), "wb") as file:
            for chunk in chunks:
                file.write(between if tally.facts else b"")
                file.write(chunk.text.encode())
                tally.add(chunk)
        if tally.facts:
            whole = Chunk("", tally.facts, tally.messages, tally.first or 0, tally.last or 0, part)
            yield _Row(number, chunk=whole)


def _in_order(table: pa.Table, columns: list[str]) -> pa.Table:
    """Rows by their message, then by their values. Most come so."""
    table = table.select(columns).combine_chunks()
    if _is_in_order(table):
        return table
    keyed, keys = table, []
    for column in columns:
        if table.column(column).null_count:  # null comes before all values
            keyed = keyed.append_column(f"{column}?", pc.is_valid(table.column(column)).cast(pa.int8()))
            keys.append(f"{column}?")
        keys.append(column)
    return table.take(pc.sort_indices(keyed, sort_keys=[(key, "ascending") for key in keys]))


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
