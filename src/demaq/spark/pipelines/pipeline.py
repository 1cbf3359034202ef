"""A pipeline that runs on Spark: sources are read, the plan is evaluated, goals are written."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from demaq.drawing import to_svg
from demaq.pipelines import Program, compile_pipeline
from demaq.pipelines.explain import routes_drawing
from demaq.pipelines.optimise import optimise
from demaq.pipelines.plan.nodes import Scan
from demaq.pipelines.plan.steps import Answer, Plan, Send
from demaq.pipelines.plan.walk import below, nodes
from demaq.pipelines.program import Enricher, Sink, Source
from demaq.pipelines.running.counts import note_all, note_read, note_sent
from demaq.pipelines.running.endpoints import FILE, Endpoints, is_table
from demaq.pipelines.running.looking import check_relations, plan_to_look_at, shown_rows, shown_whether
from demaq.pipelines.running.memory import note_refused
from demaq.pipelines.running.partners import unmet
from demaq.pipelines.running.progress import Progress, silent
from demaq.pipelines.running.queues import Queues
from demaq.pipelines.running.report import SHOWN, Ran, Shown, refusal
from demaq.spark.pipelines.endpoints import in_order, load, read, read_errors, told
from demaq.spark.pipelines.files import PROBLEMS, Reading, without_gaps
from demaq.spark.pipelines.given import Frames, by_relation, is_given, known_types, one_message, problems_in, taken
from demaq.spark.pipelines.inside import stays_inside
from demaq.spark.pipelines.progress import followed
from demaq.spark.pipelines.readable import readable
from demaq.spark.pipelines.running import Leaving, run_plan
from demaq.spark.pipelines.state import Channel
from demaq.spark.pipelines.tables import read_table, write_table
from demaq.spark.pipelines.texts import can_write, write_text
from demaq.spark.pipelines.topics import SparkTopics
from demaq.spark.pipelines.topics import told as told_of_topics
from demaq.spark.pipelines.values import MESSAGE, decoder, in_order_of, place
from demaq.spark.pipelines.whole import run_whole


class Results(dict[str, DataFrame]):
    """The relations that leave a pipeline, by name, as data frames; `wrong` is what could not be read."""

    wrong: DataFrame


class Pipeline:
    """A pipeline and the folder that the names of its files are relative to: its own, unless another is named."""

    def __init__(self, path: Path | str, folder: Path | str | None = None, queues: Queues | None = None) -> None:
        self.path = Path(path)
        self.program = compile_pipeline(self.path)
        self._folder = self.path.parent if folder is None else Path(folder)
        self._queues = queues

    def _endpoints(self, program: Program, spark: SparkSession) -> Endpoints:
        return Endpoints(program, self._folder, queues=self._queues, topics=SparkTopics(spark))

    def _repr_svg_(self) -> str:
        """The routes as a picture: notebooks show it."""
        return to_svg(routes_drawing(self.program))

    def run(self, spark: SparkSession, **given: DataFrame) -> Results:
        """The relations that leave the pipeline; nothing is written. Sources and enrichers may be given as data frames,
        by the name of their relation or of their file, and are one message then; all others are read."""
        return self._run(spark, by_relation(self.program, given)).results()

    def execute(
        self,
        spark: SparkSession,
        *,
        is_strict: bool = False,
        show: Sequence[str] = (),
        tell: Callable[[str], None] = silent,
    ) -> Ran:
        """Read all sources, and write all goals. What cannot be read is told; if `is_strict`, nothing is written then.

        Some facts of the relations `show` are to be looked at.
        """
        check_relations(self.program, show)
        try:
            progress = Progress(tell)
            with followed(spark, progress):
                return self._run(spark, {}).execute(is_strict, show, progress)
        except Exception as error:
            found = told_of_topics(error, self._endpoints(self.program, spark))
            if found is error:
                raise
            raise found from error

    def _run(self, spark: SparkSession, given: Frames) -> "_Run":
        """The types of tables, and of data frames that are given, are those of the program."""
        frames = {**_tables(spark, self._endpoints(self.program, spark), given), **given}
        program = compile_pipeline(self.path, known_types(self.program, frames)) if frames else self.program
        return _Run(self._endpoints(program, spark), spark, frames)


def _tables(spark: SparkSession, endpoints: Endpoints, given: Frames) -> Frames:
    """Sources and enrichers that are tables, unless they are given."""
    found: dict[str, DataFrame] = {}
    for node in endpoints.incoming:
        if is_table(node.endpoint) and not is_given(node, given):
            endpoint, path = endpoints.resolved(node.endpoint), endpoints.path(node.endpoint)
            found.update({relation: read_table(spark, endpoint, path, relation) for relation in node.relations})
    return found


class _Run:
    def __init__(self, endpoints: Endpoints, spark: SparkSession, given: Frames) -> None:
        program = endpoints.program
        self._program = program
        self._spark = spark
        self._endpoints = endpoints
        found = {name: taken(program.relations[name], frame) for name, frame in given.items()}
        self._given = {name: each.facts for name, each in found.items()}
        self._channels: dict[str, Channel] = {}
        self._read: dict[str, Reading] = {}
        self._is_once = False  # are files read once only?
        self._aligned: frozenset[str] = frozenset()
        self._wrong: list[DataFrame] = []
        for node in endpoints.incoming:
            for name in node.relations:
                if name in found:
                    file = node.endpoint.shown if is_table(node.endpoint) else None
                    self._wrong += problems_in(spark, found[name], node.id, file)
        self._may_lack = bool(self._wrong)  # have tables columns that do not fit?

    def results(self) -> Results:
        leaving = self._evaluated()
        found = Results(
            (relation, readable(frame, self._program.relations[relation]))
            for parts in leaving.sent.values()
            for relation, frame in parts.items()
        )
        found.wrong = self._problems()
        return found

    def execute(self, is_strict: bool, show: Sequence[str], progress: Progress) -> Ran:
        self._endpoints.check()
        progress.begin("reading")
        ran = Ran("Spark")
        plan = optimise(plan_to_look_at(self._program, show))
        if not self._given and stays_inside(plan, self._endpoints):
            if run_whole(self._spark, self._endpoints, plan, ran, is_strict, progress):
                return ran
            progress.begin("reading")
        leaving = self._evaluated(show, is_writing=True)
        ran.facts.update(leaving.facts)
        if not self._is_once:
            self._count(ran, is_strict)
        for sink in self._program.sinks:
            progress.begin(f"writing {sink.endpoint.shown}")
            check = (lambda: self._count(ran, is_strict)) if self._is_once else (lambda: None)
            self._send(sink, leaving.sent[sink.id], leaving.bags[sink.id], ran, check)
        note_refused(ran, self._endpoints)
        progress.begin("looking")
        ran.shown = [_shown(step, frame) for step, frame in leaving.answers]
        note_all(ran, self._program)
        ran.unmet = unmet(self._program, {**ran.messages, **leaving.numbers})
        self._release()
        return ran

    def _release(self) -> None:
        for found in self._read.values():
            found.release()

    def _send(
        self,
        sink: Sink,
        parts: Mapping[str, DataFrame],
        bags: Mapping[str, DataFrame],
        ran: Ran,
        check: Callable[[], None],
    ) -> None:
        endpoint, path, shapes = sink.endpoint, self._endpoints.path(sink.endpoint), self._endpoints.shapes(sink)
        if endpoint.scheme == FILE and can_write(endpoint, path, shapes):
            (shape,) = shapes
            written = write_text(bags[shape.relation], endpoint, path, shape, check)
            note_sent(ran, self._program, sink, written.messages, {shape.relation: written.facts})
            return
        kept = {relation: frame.persist() for relation, frame in parts.items()}
        messages = self._write(sink, kept)
        note_sent(ran, self._program, sink, messages, {relation: frame.count() for relation, frame in kept.items()})
        for frame in kept.values():
            frame.unpersist()

    def _write(self, sink: Sink, parts: Mapping[str, DataFrame]) -> int:
        if not is_table(sink.endpoint):
            return self._endpoints.write(sink, in_order(parts, self._endpoints.shapes(sink)))
        endpoint, path = self._endpoints.resolved(sink.endpoint), self._endpoints.path(sink.endpoint)
        for relation, frame in parts.items():
            write_table(readable(frame, self._program.relations[relation]), endpoint, path, relation)
        return reduce(DataFrame.union, [frame.select(MESSAGE) for frame in parts.values()]).distinct().count()

    def _reads_once(self, plan: Plan) -> bool:
        """Is all that a pipeline does to send one relation to one file, and are its sources read for nothing else?"""
        if len(plan.steps) != 1 or not isinstance(plan.steps[0], Send) or self._given:
            return False
        (sink,) = self._program.sinks
        shapes = self._endpoints.shapes(sink)
        path = self._endpoints.path(sink.endpoint)
        scans = [each.channel for node in nodes(plan.steps[0]) for each in below(node) if isinstance(each, Scan)]
        is_file = all(source.endpoint.scheme == FILE for source in self._program.sources)
        is_text = sink.endpoint.scheme == FILE and can_write(sink.endpoint, path, shapes)
        return is_file and is_text and sorted(scans) == sorted(source.id for source in self._program.sources)

    def _evaluated(self, show: Sequence[str] = (), *, is_writing: bool = False) -> Leaving:
        plan = optimise(plan_to_look_at(self._program, show))
        self._is_once = is_writing and self._reads_once(plan)
        self._aligned = plan.aligned
        paired = paired_channels(self._program)
        self._channels = {
            source.id: self._channel(source, is_paired=source.id in paired) for source in self._endpoints.sources
        }
        enrichers = {
            (enricher.id, relation): frame
            for enricher in self._program.enrichers
            for relation, frame in self._loaded(enricher).items()
        }
        self._channels |= {source.id: self._errors(source) for source in self._endpoints.errors}
        return run_plan(plan, self._spark, self._channels, enrichers)

    def _channel(self, source: Source, *, is_paired: bool) -> Channel:
        if is_given(source, self._given):
            own = {relation: self._given[relation] for relation in source.relations if relation in self._given}
            return one_message(self._spark, own)
        found = read(
            self._spark, self._endpoints, source, is_kept=not self._is_once, is_aligned=source.id in self._aligned
        )
        self._note(source, found)
        return without_gaps(found.channel) if is_paired else found.channel

    def _errors(self, source: Source) -> Channel:
        """What is wrong with other sources, and with enrichers."""
        if is_given(source, self._given):
            return self._channel(source, is_paired=False)
        found = read_errors(self._spark, self._endpoints, source, self._problems())
        self._note(source, found)
        return found.channel

    def _loaded(self, node: Enricher) -> dict[str, DataFrame]:
        if is_given(node, self._given):
            return {relation: self._given[relation] for relation in node.relations if relation in self._given}
        facts, found = load(self._spark, self._endpoints, node)
        self._note(node, found)
        return facts

    def _problems(self) -> DataFrame:
        return reduce(DataFrame.union, self._wrong or [self._spark.createDataFrame([], PROBLEMS)])

    def _note(self, node: Source | Enricher, found: Reading) -> None:
        self._read[node.id] = found
        self._wrong.append(found.problems)

    def _count(self, ran: Ran, is_strict: bool) -> None:
        """How much was read, and what could not be."""
        counted = {name: found.count() for name, found in self._read.items()}
        if self._may_lack or any(found.problems for found in counted.values()):
            ran.wrong, ran.wrong_number = told(self._problems())
            if is_strict and ran.wrong:
                raise refusal(ran)
        for found in counted.values():
            note_read(ran, self._program, found.facts)
        for source in self._program.sources:
            if source.id in counted:
                ran.messages[source.id] = counted[source.id].messages
            else:
                channel = self._channels[source.id]
                ran.messages[source.id] = channel.messages.count()
                note_read(ran, self._program, {name: frame.count() for name, frame in channel.facts.items()})


def paired_channels(program: Program) -> set[str]:
    """Those whose messages meet messages of other channels, by their numbers."""
    together = [relation.channels for relation in program.relations.values()]
    together += [sink.channels for sink in program.sinks]
    return {channel for channels in together if len(channels) > 1 for channel in channels}


def _shown(step: Answer, frame: DataFrame) -> Shown:
    """The same as in memory."""
    columns = step.node.columns
    if not columns:
        return shown_whether(step.text, not frame.isEmpty())
    kept = frame.persist()
    different = kept.select(*(place(at) for at in range(len(columns)))).distinct()
    first = different.orderBy(*(in_order_of(F.col(place(at)), each.type) for at, each in enumerate(columns)))
    decoders = [decoder(column.type) for column in columns]
    rows = [
        tuple(decode(value) for decode, value in zip(decoders, row, strict=True))
        for row in first.limit(SHOWN).collect()
    ]
    number, more = kept.count(), different.count() - len(rows) if len(rows) == SHOWN else 0
    kept.unpersist()
    return Shown(step.text, tuple(column.name for column in columns), shown_rows(rows), number, more)
