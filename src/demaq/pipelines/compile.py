"""From the text of a pipeline to its program: a visible row of passes."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from demaq.diagnostics import Report, Source, Span
from demaq.pipelines import codes
from demaq.pipelines import tree as t
from demaq.pipelines.allowances import apply_allowances
from demaq.pipelines.analysis.dependencies import dependencies
from demaq.pipelines.analysis.ldg import dependency_graph
from demaq.pipelines.analysis.safety import safety
from demaq.pipelines.analysis.types import types
from demaq.pipelines.assemble import Parts, assemble, nodes_of
from demaq.pipelines.checks import CHECKS, USE_CHECKS
from demaq.pipelines.checks.cycles import check_cycles
from demaq.pipelines.checks.meeting import check_meetings
from demaq.pipelines.completions import Completion, completion, refuse_options
from demaq.pipelines.define import Known, define
from demaq.pipelines.endpoints import endpoint
from demaq.pipelines.errors import PipelineInvalid, PipelineNotFound
from demaq.pipelines.examined import Examined
from demaq.pipelines.link import link
from demaq.pipelines.linked import Linked
from demaq.pipelines.parser import parse_pipeline
from demaq.pipelines.positions import Positions
from demaq.pipelines.program import Endpoint, Program

SUFFIX = ".lila"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CheckedPipeline:
    """A pipeline, what was found, and its program: None if there are errors."""

    name: str
    report: Report
    program: Program | None


def check_pipeline(pipeline: Path | str | Source, known: Known | None = None) -> CheckedPipeline:
    """Read a pipeline, the path of a `.lila` file or a text as a `Source`, and check all that can be checked before it
    runs. `known` are types of parameters that are not declared. Raises `PipelineNotFound` if there is no such file."""
    report = Report()
    if isinstance(pipeline, Source):
        source: Source | None = pipeline
        name, home = Path(pipeline.name).stem, None
    else:
        source = _read(_found(Path(pipeline)), report)
        name, home = Path(pipeline).stem, Path(pipeline).parent
    program = None if source is None else _compile(name, source, report, known or {})
    program = None if program is None else replace(program, home=home)
    return CheckedPipeline(name=name, report=report, program=None if report.has_errors else program)


def compile_pipeline(pipeline: Path | str | Source, known: Known | None = None) -> Program:
    """The program of a pipeline; raises `PipelineInvalid` if it has errors."""
    checked = check_pipeline(pipeline, known)
    if checked.program is None:
        raise PipelineInvalid(checked.report)
    return checked.program


def _found(path: Path) -> Path:
    if path.is_dir():
        raise PipelineNotFound(f"`{path}` is a folder; a pipeline is a `{SUFFIX}` file")
    if not path.is_file():
        raise PipelineNotFound(f"there is no file `{path}`{_similar(path)}")
    if path.suffix != SUFFIX:
        raise PipelineNotFound(f"`{path}` is no `{SUFFIX}` file")
    return path


def _similar(path: Path) -> str:
    if not path.parent.is_dir():
        return ""
    close = difflib.get_close_matches(path.name, [entry.name for entry in path.parent.iterdir()], n=1)
    return f"; did you mean `{path.parent / close[0]}`?" if close else ""


def _read(path: Path, report: Report) -> Source | None:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"`{path}` is not UTF-8: byte {error.start} cannot be read"
        report.say(codes.UNREADABLE, None, message, help="save it as UTF-8")
        return None
    except OSError as error:
        report.say(codes.UNREADABLE, None, f"`{path}` cannot be read: {error.strerror}")
        return None
    return Source(str(path), text)


def _compile(name: str, source: Source, report: Report, known: Known) -> Program | None:
    parsed = parse_pipeline(source, report)
    symbols = define(parsed.syntax, parsed.broken, report, known)
    if parsed.complete and not symbols.definitions and not report.has_errors:
        place = Span(source, 0, 0)
        report.say(codes.EMPTY, place, "the pipeline defines no relation", help="start with `@from(URI) { rel(a). }`")
    linked = link(parsed.syntax, symbols, report)
    endpoints, completions = _heads(parsed.syntax, Positions(symbols, report), report)
    examined = _examine(linked, endpoints)
    _run_checks(examined, report, is_complete=parsed.complete)
    program = None
    if not report.has_errors:
        parts = Parts(name=name, examined=examined, completions=completions)
        nodes = nodes_of(parts)
        check_cycles(dependency_graph(nodes), report)
        if not report.has_errors:
            program = assemble(parts, nodes)
            check_meetings(examined.linked, program, report)
    apply_allowances(parsed.syntax, report)
    return program


def _examine(linked: Linked, endpoints: Mapping[int, Endpoint]) -> Examined:
    """What analyses find out. A variable that takes a constant is bound by an equation from here on."""
    safeties = tuple(safety(rule, linked.symbols) for rule in linked.rules)
    rules = tuple(replace(rule, body=found.body) for rule, found in zip(linked.rules, safeties, strict=True))
    linked = replace(linked, rules=rules)
    return Examined(
        linked=linked,
        endpoints=endpoints,
        safeties=safeties,
        types=types(linked),
        dependencies=dependencies(linked),
    )


def _run_checks(examined: Examined, report: Report, *, is_complete: bool) -> None:
    for check in CHECKS:
        check(examined, report)
    if is_complete and not any(diagnostic.code is codes.UNKNOWN_RELATION for diagnostic in report):
        for check in USE_CHECKS:
            check(examined, report)


def _heads(
    pipeline: t.Pipeline, positions: Positions, report: Report
) -> tuple[dict[int, Endpoint], dict[int, Completion]]:
    """What the heads of annotations say, by the place of the annotation among the statements."""
    endpoints: dict[int, Endpoint] = {}
    completions: dict[int, Completion] = {}
    for place, statement in enumerate(pipeline.statements):
        if isinstance(statement, t.From | t.Enrich | t.To):
            endpoints[place] = endpoint(statement, report)
        elif isinstance(statement, t.Aggregate):
            completions[place] = completion(statement, positions, report)
        elif isinstance(statement, t.Split):
            refuse_options(statement, report)
    return endpoints, completions
