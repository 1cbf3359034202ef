"""A pipeline that runs on Spark: sources are read, the plan is evaluated, goals are written."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from demaq.diagnostics import did_you_mean, listing
from demaq.pipelines import Program, compile_pipeline
from demaq.pipelines.documents import Shape, shapes_of
from demaq.pipelines.documents.writing import is_possible
from demaq.pipelines.errors import InputWrong, PipelineFailed
from demaq.pipelines.optimise import optimise
from demaq.pipelines.plan.nodes import Distinct
from demaq.pipelines.plan.steps import Answer
from demaq.pipelines.planner import plan_program
from demaq.pipelines.planner.relations import Relations
from demaq.pipelines.program import Endpoint, Enricher, Sink, Source
from demaq.pipelines.values import ValueType
from demaq.spark.pipelines.files import PROBLEMS, load_files, read_files
from demaq.spark.pipelines.given import Frames, by_relation, is_given, known_types, one_message, taken
from demaq.spark.pipelines.goals import write_files
from demaq.spark.pipelines.running import Leaving, run_plan
from demaq.spark.pipelines.state import Channel
from demaq.spark.pipelines.values import MESSAGE, place, text_of

_READ, _WRITTEN = ("file",), ("file", "console")  # what endpoints there are
_SHOWN = 20  # facts, and things that are wrong


@dataclass(frozen=True, slots=True)
class Wrong:
    """Something that could not be read."""

    source: str
    file: str | None
    line: int | None
    reason: str

    def __str__(self) -> str:
        return f"{self.file}{'' if self.line is None else f', line {self.line}'}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Shown:
    """Some facts for a person to look at, as text: of a relation, or the answers to a query; and how many there are."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str | None, ...]]
    number: int


@dataclass(slots=True)
class Ran:
    """What a run has done: messages that came by source, facts by relation, messages by goal; what could not be read,
    of which some is told; and what is to be looked at."""

    messages: dict[str, int] = field(default_factory=dict)
    facts: dict[str, int] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)
    wrong: list[Wrong] = field(default_factory=list)
    wrong_number: int = 0
    shown: list[Shown] = field(default_factory=list)


class Results(dict[str, DataFrame]):
    """The relations that leave a pipeline, by name, as data frames; `wrong` is what could not be read."""

    wrong: DataFrame


class Pipeline:
    """A pipeline and the folder that the names of its files are relative to: its own, unless another is named."""

    def __init__(self, path: Path | str, folder: Path | str | None = None) -> None:
        self.path = Path(path)
        self.program = compile_pipeline(self.path)
        self._folder = self.path.parent if folder is None else Path(folder)

    def run(self, spark: SparkSession, **given: DataFrame) -> Results:
        """The relations that leave the pipeline; nothing is written. Sources and enrichers may be given as data frames,
        by the name of their relation or of their file, and are one message then; all others are read."""
        frames = by_relation(self.program, given)
        program = compile_pipeline(self.path, known_types(self.program, frames)) if frames else self.program
        running = _Run(program, self._folder, spark, frames)
        return running.results()

    def execute(
        self,
        spark: SparkSession,
        *,
        is_strict: bool = False,
        show: Sequence[str] = (),
        tell: Callable[[str], None] = lambda _what: None,
    ) -> Ran:
        """Read all sources, and write all goals. What cannot be read is told; if `is_strict`, nothing is written then.

        Some facts of the relations `show` are to be looked at.
        """
        self.check_relations(show)
        return _Run(self.program, self._folder, spark, {}).execute(is_strict, show, tell)

    def check_relations(self, names: Sequence[str]) -> None:
        known = self.program.relations
        for name in names:
            if name not in known:
                help_ = did_you_mean(name, known, "relations")
                raise PipelineFailed(f"there is no relation `{name}`: {help_}")


class _Run:
    def __init__(self, program: Program, folder: Path, spark: SparkSession, given: Frames) -> None:
        self._program = program
        self._folder = folder
        self._spark = spark
        self._given = {name: taken(program.relations[name], frame) for name, frame in given.items()}
        self._channels: dict[str, Channel] = {}
        self._kept: list[DataFrame] = []
        self._wrong: list[DataFrame] = [spark.createDataFrame([], PROBLEMS)]

    def results(self) -> Results:
        leaving = self._evaluated()
        found = Results(
            (relation, _readable(frame, self._program, relation))
            for parts in leaving.sent.values()
            for relation, frame in parts.items()
        )
        found.wrong = reduce(DataFrame.union, self._wrong)
        return found

    def execute(self, is_strict: bool, show: Sequence[str], tell: Callable[[str], None]) -> Ran:
        self._check_goals()
        tell("reading")
        leaving = self._evaluated(show)
        ran = Ran()
        self._note_wrong(ran, is_strict)
        for source in self._program.sources:
            ran.messages[source.id] = self._channels[source.id].messages.count()
            ran.facts.update({name: frame.count() for name, frame in self._channels[source.id].facts.items()})
        for sink in self._program.sinks:
            tell(f"writing {sink.endpoint.shown}")
            parts = {relation: frame.persist() for relation, frame in leaving.sent[sink.id].items()}
            ran.sent[sink.id] = self._write(sink, parts)
            for relation, frame in parts.items():
                ran.facts[relation] = frame.count()
                frame.unpersist()
        tell("looking")
        ran.shown = [_shown(step, frame) for step, frame in leaving.answers]
        for kept in self._kept:
            kept.unpersist()
        return ran

    def _evaluated(self, show: Sequence[str] = ()) -> Leaving:
        self._channels = {source.id: self._channel(source) for source in self._program.sources}
        enrichers = {
            (enricher.id, relation): frame
            for enricher in self._program.enrichers
            for relation, frame in self._loaded(enricher).items()
        }
        plan, relations = plan_program(self._program), Relations(self._program)
        looks = (Answer(name, Distinct(relations.read(name))) for name in show)
        plan = replace(plan, steps=(*plan.steps, *looks))
        return run_plan(optimise(plan), self._spark, self._channels, enrichers)

    # Sources

    def _channel(self, source: Source) -> Channel:
        if is_given(source, self._given):
            own = {relation: self._given[relation] for relation in source.relations if relation in self._given}
            return one_message(self._spark, own)
        found = read_files(
            self._spark, source.id, source.endpoint, self._shapes(source), self._read_at(source.endpoint)
        )
        self._kept.append(found.kept)
        self._wrong.append(found.problems)
        return found.channel

    def _loaded(self, node: Enricher) -> dict[str, DataFrame]:
        if is_given(node, self._given):
            return {relation: self._given[relation] for relation in node.relations if relation in self._given}
        facts, problems, kept = load_files(
            self._spark, node.id, node.endpoint, self._shapes(node), self._read_at(node.endpoint)
        )
        self._kept.append(kept)
        self._wrong.append(problems)
        return facts

    def _shapes(self, node: Source | Enricher | Sink) -> tuple[Shape, ...]:
        return shapes_of(node.relations, self._program.relations)

    def _read_at(self, endpoint: Endpoint) -> str:
        _check_scheme(endpoint, _READ, "read")
        return str(self._path(endpoint))

    def _path(self, endpoint: Endpoint) -> Path:
        return Path(os.path.join(self._folder, endpoint.path))

    def _note_wrong(self, ran: Ran, is_strict: bool) -> None:
        wrong = reduce(DataFrame.union, self._wrong)
        ran.wrong_number = wrong.count()
        ran.wrong = [Wrong(*row) for row in wrong.orderBy("source", "file", "line").limit(_SHOWN).collect()]
        if is_strict and ran.wrong:
            raise InputWrong(f"{ran.wrong[0]}; nothing was written")

    # Goals

    def _check_goals(self) -> None:
        for sink in self._program.sinks:
            _check_scheme(sink.endpoint, _WRITTEN, "written")
            if sink.endpoint.scheme == "file" and not is_possible(sink.endpoint.format, self._shapes(sink)):
                raise PipelineFailed(
                    f"`{sink.endpoint.shown}` cannot have the facts of {len(sink.relations)} relations as "
                    f"{sink.endpoint.format.value}: write json, or a goal for each"
                )

    def _write(self, sink: Sink, parts: dict[str, DataFrame]) -> int:
        if sink.endpoint.scheme == "file":
            return write_files(parts, self._shapes(sink), sink.endpoint, self._path(sink.endpoint))
        for relation, frame in parts.items():
            print(relation)
            _readable(frame, self._program, relation).show(_SHOWN, truncate=False)
        return reduce(DataFrame.union, [frame.select(MESSAGE) for frame in parts.values()]).distinct().count()


def _check_scheme(endpoint: Endpoint, known: tuple[str, ...], verb: str) -> None:
    if endpoint.scheme not in known:
        kinds = listing([f"{name}:" for name in known], "and")
        raise PipelineFailed(f"`{endpoint.shown}` cannot be {verb}: this version knows {kinds}")
    if endpoint.configured:
        raise PipelineFailed(f"`${endpoint.configured[0]}` in `{endpoint.shown}` is not configured")


def _shown(step: Answer, frame: DataFrame) -> Shown:
    columns = step.node.columns
    found = frame.select(*(text_of(F.col(place(at)), column.type) for at, column in enumerate(columns))).distinct()
    rows = [tuple(row) for row in found.limit(_SHOWN).collect()] if columns else []
    rows.sort(key=lambda row: [(value is not None, value) for value in row])
    return Shown(step.text, tuple(column.name for column in columns), rows, found.count() if columns else 0)


def _readable(frame: DataFrame, program: Program, relation: str) -> DataFrame:
    """The facts of a relation, under the names of their parameters. Values whose type is not known are text."""
    parameters = program.relations[relation].parameters
    columns = [
        text_of(F.col(place(at)), parameter.type) if parameter.type is ValueType.ANY else F.col(place(at))
        for at, parameter in enumerate(parameters)
    ]
    return frame.select(*(column.alias(parameter.name) for column, parameter in zip(columns, parameters, strict=True)))
