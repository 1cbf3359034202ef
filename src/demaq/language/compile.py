"""From an application on disk to its program: a visible row of passes."""

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from demaq.diagnostics import Report, Span
from demaq.language import codes
from demaq.language.allowances import apply_allowances
from demaq.language.analysis.facts import RuleFacts, rule_facts
from demaq.language.analysis.lookups import accesses
from demaq.language.analysis.reads import queue_reads
from demaq.language.application import Application, load
from demaq.language.checks import CHECKS, USE_CHECKS, WHOLE_CHECKS
from demaq.language.define import define
from demaq.language.errors import ApplicationInvalid
from demaq.language.examined import Examined
from demaq.language.files import Files
from demaq.language.link import link
from demaq.language.linked import Linked, LinkedModule, LinkedRule
from demaq.language.parser import ParsedModule, parse_module
from demaq.language.pipelines import PipelineFacts, examine_pipelines
from demaq.language.program import (
    Lookup,
    ModuleProgram,
    PipelineProgram,
    Program,
    PropertyValue,
    Query,
    Rule,
    SharedText,
)
from demaq.language.qs import BASE_CONTEXT
from demaq.language.rewrite.refusals import refusal
from demaq.language.rewrite.shareable import Shareable, shareable
from demaq.language.rewrite.unit import (
    ModuleCode,
    key_function,
    module_code,
    printed_prolog,
    rule_function,
    value_function,
)
from demaq.language.symbols import Symbols, Table
from demaq.language.typing import Typed, typecheck
from demaq.model import SYSTEM_ERRORS, Queue
from demaq.xquery.analysis.context import StaticContext, static_context
from demaq.xquery.analysis.resolve import UNKNOWN
from demaq.xquery.printer import Stretch, print_tree
from demaq.xquery.recursion import deep_recursion
from demaq.xquery.saxon import Saxon


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Checked:
    """An application, what was found, and its program: None if there are errors."""

    application: Application
    report: Report
    program: Program | None


def check(path: Path | str) -> Checked:
    """Read an application and check everything that can be checked before it runs."""
    report = Report()
    application = load(path, report)
    with deep_recursion(), _without_collector():
        program = _compile(application, report)
    return Checked(application=application, report=report, program=None if report.has_errors else program)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Trees are large and have no cycles: looking for some again and again only takes time, more with each line."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def compile_application(path: Path | str) -> Program:
    """The program of an application; raises `ApplicationInvalid` if it has errors."""
    checked = check(path)
    if checked.program is None:
        raise ApplicationInvalid(checked.report)
    return checked.program


def _compile(application: Application, report: Report) -> Program | None:
    parsed = _parse(application, report)
    if not application.complete:
        return None  # while a file cannot be read, any name may be defined in it
    symbols = define(((module.syntax, context) for module, context in parsed), report)
    _remember_broken(parsed, symbols)
    linked = link(application.root, parsed, symbols, report)
    facts = tuple(rule_facts(rule) for rule in linked.rules)
    files = Files(application.root)
    pipelines = examine_pipelines(symbols, files, report)
    examined = Examined(
        linked=linked,
        facts=facts,
        pipelines=pipelines,
        files=files,
        gateways=application.configuration.edge.gateways,
    )
    _run_checks(examined, report)
    program = _program(application, examined, report)
    apply_allowances((module.syntax for module in linked.modules), report)
    return program


def _parse(application: Application, report: Report) -> tuple[tuple[ParsedModule, StaticContext], ...]:
    found = []
    for source in application.sources:
        parsed = parse_module(source, Path(source.name).stem, report)
        unread = [broken.name for broken in parsed.broken if broken.kind in ("function", "variable")]
        prefixes = {broken.name: UNKNOWN for broken in parsed.broken if broken.kind == "namespace"}
        base = BASE_CONTEXT.with_namespaces(prefixes)
        usable = [declared for declared in parsed.syntax.prolog if refusal(declared) is None]
        found.append((parsed, static_context(usable, base, report, unread)))
    return tuple(found)


def _remember_broken(parsed: tuple[tuple[ParsedModule, StaticContext], ...], symbols: Symbols) -> None:
    tables: dict[str, Table[object]] = {
        "queue": symbols.queues,  # type: ignore[dict-item]  # only names are added
        "property": symbols.properties,  # type: ignore[dict-item]
        "slicing": symbols.slicings,  # type: ignore[dict-item]
        "collection": symbols.collections,  # type: ignore[dict-item]
        "pipeline": symbols.pipelines,  # type: ignore[dict-item]
        "rule": symbols.rules,  # type: ignore[dict-item]
    }
    for module, _ in parsed:
        for broken in module.broken:
            if broken.kind in tables:
                tables[broken.kind].broken.add(broken.name)


def _run_checks(examined: Examined, report: Report) -> None:
    linked = examined.linked
    if linked.complete and linked.modules and not linked.symbols.queue_statements and not report.has_errors:
        first = linked.modules[0].syntax.span
        place = Span(first.source, 0, 0)
        report.say(codes.EMPTY, place, "the application defines no queue", help="start with `create queue Q`")
    for check_ in CHECKS:
        check_(examined, report)
    if linked.complete:
        for check_ in WHOLE_CHECKS:
            check_(examined, report)
    if linked.complete and not any(diagnostic.code in codes.UNKNOWN_NAMES for diagnostic in report):
        for check_ in USE_CHECKS:
            check_(examined, report)


@cache
def _saxon() -> Saxon:
    return Saxon()


def _program(application: Application, examined: Examined, report: Report) -> Program:
    linked, symbols = examined.linked, examined.symbols
    texts: dict[int, Query] = {}
    modules: dict[str, ModuleProgram] = {}
    code = {module.name: module_code(module, symbols, examined.refused) for module in linked.modules}
    for module in linked.modules:
        modules[module.name] = _compile_module(module, linked, code[module.name], texts, report)
    by_rule = {id(fact.rule): fact for fact in examined.facts}
    return Program(
        name=application.name,
        description=application.configuration.description,
        keep=application.configuration.keep,
        limits=application.configuration.limits,
        queues=symbols.queues.mapping(),
        properties=symbols.properties.mapping(),
        values=tuple(
            PropertyValue(
                property=value.property.name,
                queues=value.queues,
                module=value.module.name,
                query=texts[id(value)],
            )
            for value in linked.values
        ),
        slicings=symbols.slicings.mapping(),
        collections=symbols.collections.mapping(),
        pipelines={found.name: _pipeline(found) for found in examined.pipelines if found.program is not None},
        modules=modules,
        rules=tuple(
            _rule(by_rule[id(rule)], texts[id(rule)], _lookups(rule, code[rule.module.name]), symbols)
            for rule in linked.rules
        ),
        error_queues={
            queue.name: _error_queues((queue.errorqueue, _module_errors(queue, linked)), queue)
            for queue in symbols.queues
        },
    )


def _pipeline(facts: PipelineFacts) -> PipelineProgram:
    assert facts.source is not None
    return PipelineProgram(
        name=facts.name,
        file=facts.file,
        text=facts.source.text,
        inputs=facts.inputs,
        outputs=facts.outputs,
        enriched=facts.enriched,
    )


def _module_errors(queue: Queue, linked: Linked) -> str | None:
    """The error queue of the module that defines a queue."""
    statement = linked.symbols.queue_statements.get(queue.name)
    own = (module for module in linked.modules if statement is not None and statement in module.syntax.statements)
    return next((module.errorqueue for module in own), None)


def _compile_module(
    module: LinkedModule, linked: Linked, code: ModuleCode, texts: dict[int, Query], report: Report
) -> ModuleProgram:
    rules = [rule for rule in linked.rules if rule.module is module]
    values = [value for value in linked.values if value.module is module]
    functions = [rule_function(rule, code) for rule in rules]
    of_values = [value_function(value, code) for value in values]
    typed = typecheck(code, [*functions, *of_values], _saxon(), report)
    for rule, function, text in zip(rules, functions, typed, strict=False):
        texts[id(rule)] = _query(text, shareable(function))
    for value, text in zip(values, typed[len(rules) :], strict=True):
        texts[id(value)] = _query(text)
    return ModuleProgram(
        name=module.name,
        prolog=printed_prolog(code).text,
        namespaces=module.context.namespaces,
        errorqueue=module.errorqueue,
    )


def _query(typed: Typed, once: Iterable[Shareable] = ()) -> Query:
    start = typed.place.start
    inside = [Stretch(stretch.start - start, stretch.end - start, stretch.node) for stretch in typed.inside]
    return Query(text=typed.text, shared=tuple(_shared(inside, once)), stretches=tuple(inside))


def _shared(stretches: Iterable[Stretch], once: Iterable[Shareable]) -> Iterator[SharedText]:
    """Where shareable expressions stand in the text: one may stand in several places."""
    places: dict[int, list[Stretch]] = {}
    for stretch in stretches:
        places.setdefault(id(stretch.node), []).append(stretch)
    for found in {id(found.node): found for found in once}.values():
        for place in places.get(id(found.node), ()):
            yield SharedText(place.start, place.end, found.use, found.is_repeated)


def _input_queues(rule: LinkedRule, symbols: Symbols) -> list[Queue]:
    found = (symbols.queues.get(name) for name in rule.input_queues)
    return [queue for queue in found if queue is not None]


def _lookups(rule: LinkedRule, code: ModuleCode) -> tuple[Lookup, ...]:
    found: dict[tuple[str | None, str, str], Lookup] = {}
    for access in accesses(rule):
        key = access.key
        if key is None or key.early is None:
            continue
        query = Query(text=print_tree(key_function(key.early, rule, code)).text)
        for read in queue_reads(access, rule):
            lookup = Lookup(queue=read.queue, path=key.path, compared=key.compared, key=query)
            found.setdefault((read.queue, key.path, query.text), lookup)
    return tuple(found.values())


def _rule(facts: RuleFacts, query: Query, lookups: tuple[Lookup, ...], symbols: Symbols) -> Rule:
    rule = facts.rule
    return Rule(
        name=rule.name,
        module=rule.module.name,
        target="" if rule.target is None else rule.target.name,
        slicing=rule.slicing,
        query=query,
        reads=facts.reads,
        lookups=lookups,
        writes=facts.writes,
        skip=facts.skip,
        error_queues={
            queue.name: _error_queues((rule.errorqueue, queue.errorqueue, rule.module.errorqueue), queue)
            for queue in _input_queues(rule, symbols)
        },
        span=rule.span,
    )


def _error_queues(named: Iterable[str | None], queue: Queue) -> tuple[str, ...]:
    """From the most specific: the rule's, the queue's, the module's, the system's.

    An error while a message of an error queue is processed goes one level up, never back into the same queue; at the
    level of the system it stays.
    """
    levels = [*(name for name in named if name is not None), SYSTEM_ERRORS.name]
    if queue.name in levels:
        levels = levels[levels.index(queue.name) + 1 :] or [SYSTEM_ERRORS.name]
    return tuple(dict.fromkeys(levels))
