"""Pipelines in memory: all that is small enough runs faster here than Spark would take to plan it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from demaq.pipelines.documents import Shape
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.evaluate import Input, Messages, evaluate
from demaq.pipelines.evaluate.rows import Row
from demaq.pipelines.optimise import optimise
from demaq.pipelines.program import Endpoint, Enricher, Source
from demaq.pipelines.running.configured import seen
from demaq.pipelines.running.counts import counting, note_all, note_read, note_sent
from demaq.pipelines.running.endpoints import FILE, QUEUE, SERVICES, Endpoints
from demaq.pipelines.running.goals import InOrder, Sent
from demaq.pipelines.running.http import fetch
from demaq.pipelines.running.looking import check_relations, plan_to_look_at, shown
from demaq.pipelines.running.order import order_of
from demaq.pipelines.running.partners import unmet
from demaq.pipelines.running.parts import Unreadable, bytes_of, facts_in, whole
from demaq.pipelines.running.progress import Files, Progress, silent
from demaq.pipelines.running.queues import place_in
from demaq.pipelines.running.report import SHOWN, Done, Ran, Wrong, errors_document, refusal, wrong_in
from demaq.pipelines.vocabulary import KAFKA

FEW = 1024 * 1024
"""Bytes of documents that are done row by row before there is another way to do it."""

SMALL = 4 * 1024 * 1024
"""Bytes of documents up to which to go row by row takes no longer than Spark takes to start."""

MESSAGE_SIZE = 400
"""Bytes of a message in a queue, more or less."""


Located = tuple[str, int | None, str | bytes | Unreadable]
"""Where a document is, in which line, and what it is."""


@dataclass(slots=True)
class Read:
    """The facts of documents by relation, with the numbers of their messages; how many messages; and what is wrong."""

    count: int = 0
    facts: dict[str, list[Row]] = field(default_factory=dict)
    wrong: list[Wrong] = field(default_factory=list)

    @property
    def messages(self) -> Messages:
        return Messages(self.count, self.facts)


def size_of(endpoints: Endpoints) -> int:
    """Bytes of documents, more or less."""
    size = sum(bytes_of(endpoints.names(node)) for node in endpoints.incoming)
    queues = [node for node in endpoints.incoming if node.endpoint.scheme == QUEUE]
    size += sum(endpoints.queues_of(node).count(node.endpoint.path) * MESSAGE_SIZE for node in queues)
    return size


def read_here(
    endpoints: Endpoints, node: Source | Enricher, names: Iterable[str] | None = None, first: int = 0
) -> Read:
    """The messages in files, numbered from the `first`. What is broken is no message."""
    return _read(endpoints, node, documents_of(endpoints, node, names), first)


def read_errors(endpoints: Endpoints, source: Source, wrong: Sequence[Wrong], first: int = 0) -> Read:
    """What is wrong, as a message; none if all is right."""
    documents = [(source.endpoint.shown, None, errors_document(wrong))] if wrong else []
    return _read(endpoints, source, documents, first)


def _read(endpoints: Endpoints, node: Source | Enricher, documents: Iterable[Located], first: int) -> Read:
    found = Read()
    shapes = endpoints.shapes(node)
    for path, line, document in documents:
        read = facts_in(document, node.endpoint, shapes)
        found.wrong += wrong_in(read.problems, node.id, path, line)
        if read.is_broken:
            continue
        for relation, rows in read.facts.items():
            found.facts.setdefault(relation, []).extend((first + found.count, *row) for row in rows)
        found.count += 1
    return found


def _lines(document: bytes, endpoint: Endpoint) -> Iterator[tuple[int | None, bytes]]:
    """A document, or each line of it."""
    if not endpoint.options.get("lines"):
        yield None, document
        return
    for number, line in enumerate(document.splitlines(), 1):
        if line.strip():
            yield number, line


def documents_of(endpoints: Endpoints, node: Source | Enricher, names: Iterable[str] | None) -> Iterator[Located]:
    """The documents of an endpoint."""
    if node.endpoint.scheme == QUEUE:
        queue, positions = node.endpoint.path, None if names is None else [int(name) for name in names]
        for number, body in endpoints.queues_of(node).documents(queue, positions):
            yield place_in(queue, number), None, body
        return
    if node.endpoint.scheme == KAFKA:
        stretches = None if names is None else list(names)
        for place, value in endpoints.topics_of(node).documents(endpoints.resolved(node.endpoint), stretches):
            yield place, None, value
        return
    if node.endpoint.scheme in SERVICES and names is None:
        found = fetch(endpoints.resolved(node.endpoint))
        for at, text in _lines(found.document, node.endpoint) if found is not None else ():
            yield node.endpoint.shown, at, text
        return
    is_of_lines, endpoint = bool(node.endpoint.options.get("lines")), endpoints.resolved(node.endpoint)
    for part in whole(endpoints.names(node) if names is None else names, is_of_lines=is_of_lines):
        for _, path, line, document in part.documents():
            yield seen(path, endpoint), line, document


def load_here(
    endpoints: Endpoints, enricher: Enricher, names: Iterable[str] | None = None
) -> tuple[dict[str, list[Row]], list[Wrong]]:
    """The facts of an enricher, which belong to every message."""
    found = read_here(endpoints, enricher, names)
    return {relation: [row[1:] for row in rows] for relation, rows in found.facts.items()}, found.wrong


def run_here(
    endpoints: Endpoints,
    *,
    is_strict: bool = False,
    show: Sequence[str] = (),
    tell: Callable[[str], None] = silent,
    most: int | None = None,
) -> Ran:
    """Read all sources, and write all goals. What cannot be read is told; if `is_strict`, nothing is written then.

    Some facts of the relations `show` are to be looked at. If recursion finds more facts than `most`, that is
    `TooManyFacts`, and nothing is written.
    """
    program, ran = endpoints.program, Ran()
    check_relations(program, show)
    endpoints.check()
    if endpoints.of_spark:
        raise PipelineFailed(f"`{endpoints.of_spark[0].shown}` needs Spark: leave `--spark off` out")
    progress = Progress(tell)
    progress.begin("reading")
    names = _names(endpoints, progress)
    sources = {source.id: read_here(endpoints, source, names.get(source.id)) for source in endpoints.sources}
    enrichers: dict[str, Mapping[str, list[Row]]] = {}
    wrong = [each for read in sources.values() for each in read.wrong]
    for enricher in program.enrichers:
        enrichers[enricher.id], problems = load_here(endpoints, enricher, names.get(enricher.id))
        wrong += problems
    errors = {source.id: read_errors(endpoints, source, wrong) for source in endpoints.errors}
    note_wrong(ran, [*wrong, *(each for read in errors.values() for each in read.wrong)], is_strict)
    sources |= errors
    given = Input(sources={name: read.messages for name, read in sources.items()}, enrichers=enrichers, most=most)
    progress.begin("evaluating")
    out = evaluate(optimise(counting(plan_to_look_at(program, show), program)), given)
    for node in endpoints.incoming:
        read = sources[node.id].facts if isinstance(node, Source) else enrichers[node.id]
        note_read(ran, program, {relation: len(read.get(relation, ())) for relation in node.relations})
    ran.messages = {source.id: sources[source.id].count for source in program.sources}
    ran.facts.update(out.counts)
    for sink in program.sinks:
        progress.begin(f"writing {sink.endpoint.shown}")
        parts = out.sent[sink.id]
        number = endpoints.write(sink, in_order(parts, endpoints.shapes(sink)))
        note_sent(ran, program, sink, number, {relation: len(rows) for relation, rows in parts.items()})
    note_all(ran, program)
    ran.unmet = unmet(program, out.numbers)
    note_refused(ran, endpoints)
    ran.shown = [shown(answered) for answered in out.answers]
    return ran


def _names(endpoints: Endpoints, progress: Progress) -> dict[str, Iterable[str]]:
    """The files of sources and enrichers, which are counted as they are read."""
    found = {node.id: endpoints.names(node) for node in endpoints.incoming if node.endpoint.scheme == FILE}
    files = Files(progress, sum(map(len, found.values())))
    return {id_: files.each(names) for id_, names in found.items()}


def note_wrong(ran: Ran, wrong: Sequence[Wrong], is_strict: bool) -> None:
    ran.wrong_number = len(wrong)
    ran.wrong = some_wrong(wrong)
    if is_strict and ran.wrong:
        raise refusal(ran)


def note_refused(ran: Ran | Done, endpoints: Endpoints) -> None:
    """Messages that were refused are told like those that could not be read."""
    ran.wrong += endpoints.refused[: max(0, SHOWN - len(ran.wrong))]
    ran.wrong_number += len(endpoints.refused)
    endpoints.refused.clear()


def some_wrong(wrong: Sequence[Wrong]) -> list[Wrong]:
    """Some of what is wrong, in the order of files and lines."""
    return sorted(wrong, key=lambda each: (each.source, each.file or "", each.line or 0))[:SHOWN]


def in_order(parts: Mapping[str, Sequence[Row]], shapes: Sequence[Shape]) -> InOrder:
    """Facts that leave, as goals want them."""
    keys = [order_of(shape.types) for shape in shapes]
    facts: list[Sent] = [
        (row[0], number, row[1:]) for number, shape in enumerate(shapes) for row in parts.get(shape.relation, ())
    ]

    def found(by_message: bool) -> Iterable[Sent]:
        if by_message:
            return sorted(facts, key=lambda each: (each[0], each[1], keys[each[1]](each[2])))
        return sorted(facts, key=lambda each: (each[1], each[0], keys[each[1]](each[2])))

    return found
