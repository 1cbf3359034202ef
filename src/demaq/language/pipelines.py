"""The pipelines of an application: which queues they read, and into which they put messages."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from demaq.diagnostics import Report, Source, did_you_mean
from demaq.files import FileMissing, InputInvalid
from demaq.language import codes
from demaq.language.files import Files
from demaq.language.symbols import Symbols
from demaq.model import Queue, QueueKind, QueueMode
from demaq.pipelines import Program, check_pipeline
from demaq.pipelines import program as p
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.evaluate.rows import Row
from demaq.pipelines.running.endpoints import FILE, QUEUE, Endpoints, is_table
from demaq.pipelines.running.memory import load_here
from demaq.pipelines.vocabulary import Format

_WAY = "a pipeline of an application goes from queues to queues; others run with `demaq pipeline run`"

Enriched = Mapping[str, Mapping[str, list[Row]]]
"""Facts by enricher and relation."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PipelineFacts:
    """`source` is None if the file cannot be read, `program` if the pipeline has errors."""

    name: str
    file: str
    source: Source | None = None
    program: Program | None = None
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    enriched: Enriched


def examine_pipelines(symbols: Symbols, files: Files, report: Report) -> tuple[PipelineFacts, ...]:
    """All pipelines. What is wrong in them is reported like anything else."""
    return tuple(_examine(name, symbols, files, report) for name in symbols.pipeline_statements)


def _examine(name: str, symbols: Symbols, files: Files, report: Report) -> PipelineFacts:
    file = symbols.pipeline_statements[name].file
    nothing = PipelineFacts(name=name, file=file.path, enriched={})
    if files.is_outside(file.path):
        report.say(codes.FILE_OUTSIDE, file.span, f"`{file.path}` lies outside the folder of the application")
        return nothing
    path = files.root / file.path
    try:
        source = Source(str(path), path.read_bytes().decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        message = f"there is no file `{file.path}`" if isinstance(error, FileNotFoundError) else f"`{path}`: {reason}"
        help_ = "file names are relative to the folder of the application"
        report.say(codes.FILE_MISSING, file.span, message, help=help_)
        return nothing
    checked = check_pipeline(source)
    for found in checked.report:
        report.add(found)
    if checked.program is None:
        return nothing
    program = checked.program
    _Endpoints(symbols, report).check(program)
    if not program.sources:
        report.say(codes.PIPELINE_ENDPOINT, file.span, "a pipeline of an application reads a queue", help=_WAY)
    return PipelineFacts(
        name=name,
        file=file.path,
        source=source,
        program=program,
        inputs=_queues(source.endpoint for source in program.sources),
        outputs=_queues(sink.endpoint for sink in program.sinks),
        enriched={found.id: _loaded(found, program, files, report) for found in program.enrichers},
    )


def _queues(endpoints: Iterator[p.Endpoint]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(endpoint.path for endpoint in endpoints if endpoint.scheme == QUEUE))


def _loaded(enricher: p.Enricher, program: Program, files: Files, report: Report) -> Mapping[str, list[Row]]:
    """The facts of an enricher: like a collection, its files are part of the application."""
    endpoint = enricher.endpoint
    if endpoint.scheme != FILE or is_table(endpoint) or endpoint.configured:
        message = f"`{endpoint.shown}` cannot enrich a pipeline of an application"
        report.say(codes.PIPELINE_ENDPOINT, enricher.span, message, help="enrich it with files of the application")
        return {}
    if files.is_outside(endpoint.path):
        message = f"`{endpoint.path}` lies outside the folder of the application"
        report.say(codes.FILE_OUTSIDE, enricher.span, message, help="put it into the folder")
        return {}
    try:
        facts, wrong = load_here(Endpoints(program, Path(files.root)), enricher)
    except (InputInvalid, PipelineFailed) as error:
        said = f"there is no file `{error.name}`" if isinstance(error, FileMissing) else str(error)
        message = said.replace(f"{files.root.resolve()}/", "")
        report.say(codes.PIPELINE_FACTS, enricher.span, message, help="names are relative to the folder")
        return {}
    for found in wrong[:1]:
        message = f"`{endpoint.shown}` cannot be read: {found.reason}"
        help_ = "what a pipeline of an application is enriched with is part of the application: correct it"
        report.say(codes.PIPELINE_FACTS, enricher.span, message, help=help_)
    return facts


class _Endpoints:
    """Sources and goals are queues which messages can be taken from, or put into."""

    def __init__(self, symbols: Symbols, report: Report) -> None:
        self._symbols = symbols
        self._report = report

    def check(self, program: Program) -> None:
        for source in program.sources:
            queue = self._queue(source)
            if queue is not None and queue.mode is QueueMode.TRANSIENT:
                self._refuse(source, f"the queue `{queue.name}` is transient: it has no past that could be read")
            elif queue is not None and queue.kind is QueueKind.ECHO:
                self._refuse(source, f"`{queue.name}` is an echo queue: read the queues into which its messages go")
        for sink in program.sinks:
            queue = self._queue(sink)
            if queue is not None and queue.kind is QueueKind.INCOMING_GATEWAY:
                self._refuse(sink, f"`{queue.name}` is an incoming gateway: its messages come from outside")
            elif queue is not None and queue.kind is QueueKind.ECHO:
                self._refuse(
                    sink, f"`{queue.name}` is an echo queue: facts do not say when, and where to, a message goes"
                )

    def _queue(self, node: p.Source | p.Sink) -> Queue | None:
        endpoint = node.endpoint
        if endpoint.scheme != QUEUE:
            self._refuse(node, f"`{endpoint.shown}` is no queue")
            return None
        if endpoint.format is not Format.XML:
            self._refuse(node, f"messages are XML, and not {endpoint.format.value}")
        if endpoint.path not in self._symbols.queues:
            help_ = did_you_mean(endpoint.path, self._symbols.queues.names, "queues")
            self._report.say(codes.UNKNOWN_QUEUE, node.span, f"there is no queue `{endpoint.path}`", help=help_)
        return self._symbols.queues.get(endpoint.path)

    def _refuse(self, node: p.Source | p.Sink, message: str) -> None:
        self._report.say(codes.PIPELINE_ENDPOINT, node.span, message, help=_WAY)
