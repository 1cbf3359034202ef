"""`demaq pipeline`"""

import sys
from contextlib import closing, nullcontext
from pathlib import Path

import click

from demaq.cli.lila import explain_on_spark, plans_on_spark, run_pipeline
from demaq.cli.output import FINDINGS, MISUSE, count, fail, paint, print_json, print_report, summary
from demaq.cli.streaming import Ending, run_stream
from demaq.diagnostics import Severity
from demaq.drawing import Graph, to_mermaid, to_svg
from demaq.engine.queues import Queues
from demaq.pipelines import CheckedPipeline, PipelineNotFound, Program, check_pipeline
from demaq.pipelines.explain import dependencies_drawing, overview, pipeline_data, routes_drawing
from demaq.pipelines.optimise import optimise
from demaq.pipelines.plan import print_plan
from demaq.pipelines.planner import plan_program
from demaq.pipelines.running.endpoints import Endpoints


@click.group()
def pipeline() -> None:
    """Check, explain and run data pipelines, which are written in LiLa (.lila files)."""


@pipeline.command(
    epilog="Example: demaq pipeline check soccer.lila\n\n"
    "Exit status: 0 without errors, 1 with errors, 2 when there is no such pipeline."
)
@click.argument("file", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def check(file: str, as_json: bool) -> None:
    """Check the pipeline FILE, and report everything that is wrong."""
    result = _checked(file)
    if as_json:
        print_json(_data(result))
    else:
        print_report(result.report)
        _print_summary(result)
    sys.exit(FINDINGS if result.report.has_errors else 0)


@pipeline.command(
    epilog="Examples:\n\n"
    "\b\n"
    "  demaq pipeline explain soccer.lila                     relations, patterns and routes\n"
    "  demaq pipeline explain soccer.lila --svg routes.svg    a picture of the routes\n"
    "  demaq pipeline explain soccer.lila --graph dependencies --mermaid\n"
    "  demaq pipeline explain soccer.lila --plan              how it is evaluated\n"
    "  demaq pipeline explain soccer.lila --spark             and what Spark makes of that\n"
    "  demaq pipeline explain soccer.lila --json --plan       everything that is known, and the plan"
)
@click.argument("file", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print all that is known as JSON; also with --plan and --spark.")
@click.option("--mermaid", is_flag=True, help="Print the graph in Mermaid's notation.")
@click.option("--svg", type=click.Path(dir_okay=False), help="Draw the graph into this file; - for standard output.")
@click.option(
    "--graph",
    type=click.Choice(["routes", "dependencies"]),
    default="routes",
    show_default=True,
    help="Which graph to draw.",
)
@click.option("--plan", is_flag=True, help="Print how it is evaluated: the relational plan.")
@click.option("--spark", "on_spark", is_flag=True, help="Print what Spark makes of the plan; this starts Spark.")
def explain(file: str, as_json: bool, mermaid: bool, svg: str | None, graph: str, plan: bool, on_spark: bool) -> None:
    """Explain the pipeline FILE: its relations, what depends on what, patterns and routes."""
    if sum([mermaid, svg is not None, as_json or plan or on_spark]) > 1 or (plan and on_spark and not as_json):
        fail("take one of --json, --mermaid, --svg, --plan and --spark; only --json takes --plan and --spark in")
    result = _checked(file)
    if result.program is None:
        print_report(result.report, err=True)
        click.echo(f"{result.name}: {summary(result.report)}; nothing to explain", err=True)
        sys.exit(FINDINGS)
    if as_json:
        print_json(_explained(result.program, file, with_plan=plan, on_spark=on_spark))
    elif mermaid:
        click.echo(to_mermaid(_drawing(result.program, graph)))
    elif svg is not None:
        _draw(_drawing(result.program, graph), svg)
    elif plan:
        click.echo(_plan(result.program), nl=False)
    elif on_spark:
        explain_on_spark(Endpoints(result.program, Path(file).parent), file)
    else:
        click.echo(overview(result.program, paint))
        click.echo()
        click.echo(
            "`--svg FILE` draws the routes, with `--graph dependencies` what depends on what; `--plan` shows the plan."
        )


def _plan(program: Program) -> str:
    return print_plan(optimise(plan_program(program)))


def _explained(program: Program, file: str, *, with_plan: bool, on_spark: bool) -> dict[str, object]:
    """Everything that is known, and the plans that are asked for, as text."""
    found: dict[str, object] = dict(pipeline_data(program))
    if with_plan:
        found["plan"] = _plan(program)
    if on_spark:
        found["spark"] = plans_on_spark(Endpoints(program, Path(file).parent), file)
    return found


@pipeline.command(
    epilog="Examples:\n\n"
    "\b\n"
    "  demaq pipeline run soccer.lila                  read all sources, write all goals\n"
    "  demaq pipeline run soccer.lila --show gByP      and look at the facts of a relation\n"
    "  demaq pipeline run soccer.lila --strict         write nothing if something cannot be read\n"
    "  demaq pipeline run soccer.lila --stream         go on with files that come\n\n"
    "Exit status: 0 if all was read and written, 1 if something could not be, 2 when there is no such pipeline."
)
@click.argument("file", type=click.Path())
@click.option("--show", multiple=True, metavar="RELATION", help="Print some facts of a relation. Can be given again.")
@click.option("--strict", is_flag=True, help="Write nothing if something cannot be read.")
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False),
    help="What names of files are relative to, if not to the folder of the pipeline.",
)
@click.option(
    "--spark",
    "where",
    default="auto",
    show_default=True,
    help="Where it runs: auto (in memory if little is to be read), off, local[2], spark://…",
)
@click.option("--store", help="The store with the queues of the pipeline: sqlite:///FILE or postgresql://…")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON; a line for each batch of a stream.")
@click.option("--stream", is_flag=True, help="Go on with files that come, until it is stopped.")
@click.option("--until-idle", is_flag=True, help="With --stream: end when all files that are there are done.")
@click.option("--complete", is_flag=True, help="With --stream: the same, and nothing more will come.")
@click.option("--every", type=click.FloatRange(min=0), default=1.0, show_default=True, help="Seconds between looks.")
@click.option(
    "--checkpoint",
    type=click.Path(file_okay=False),
    help="Where a stream remembers how far it has come; .demaq beside the pipeline if it is not named.",
)
def run(
    file: str,
    show: tuple[str, ...],
    strict: bool,
    folder: str | None,
    where: str,
    store: str | None,
    as_json: bool,
    stream: bool,
    until_idle: bool,
    complete: bool,
    every: float,
    checkpoint: str | None,
) -> None:
    """Run the pipeline FILE: read what its sources have, and write its goals."""
    if (until_idle or complete or checkpoint) and not stream:
        fail("--until-idle, --complete and --checkpoint are for --stream")
    if stream and show:
        fail("--show is not for --stream: facts are different with every batch")
    result = _checked(file)
    if result.program is None:
        print_report(result.report, err=True)
        click.echo(f"{result.name}: {summary(result.report)}; it cannot run", err=True)
        sys.exit(FINDINGS)
    with nullcontext() if store is None else closing(Queues(store)) as queues:
        endpoints = Endpoints(result.program, Path(file).parent if folder is None else Path(folder), queues)
        if stream:
            ending = Ending.COMPLETE if complete else Ending.IDLE if until_idle else Ending.STOPPED
            place = Path(checkpoint or Path(file).parent / ".demaq" / Path(file).stem)
            run_stream(endpoints, place, is_strict=strict, where=where, as_json=as_json, every=every, ending=ending)
        run_pipeline(endpoints, file, show=show, is_strict=strict, where=where, as_json=as_json)


def _checked(file: str) -> CheckedPipeline:
    try:
        return check_pipeline(file)
    except PipelineNotFound as error:
        fail(str(error))


def _data(result: CheckedPipeline) -> dict[str, object]:
    report = result.report
    return {
        "pipeline": result.name,
        "ok": not report.has_errors,
        "errors": report.count(Severity.ERROR),
        "warnings": report.count(Severity.WARNING),
        "hints": report.count(Severity.HINT),
        "allowed": [diagnostic.to_json() for diagnostic in report.allowed],
        "diagnostics": [diagnostic.to_json() for diagnostic in report],
    }


def _print_summary(result: CheckedPipeline) -> None:
    program = result.program
    name = paint(result.name, "bold")
    size = "" if program is None else f" ({count(len(program.relations), 'relation')})"
    click.echo(f"{name}{size}: {summary(result.report)}")


def _drawing(program: Program, graph: str) -> Graph:
    return routes_drawing(program) if graph == "routes" else dependencies_drawing(program)


def _draw(drawing: Graph, svg: str) -> None:
    picture = to_svg(drawing)
    if svg == "-":
        click.echo(picture)
        return
    try:
        Path(svg).write_text(picture, encoding="utf-8")
    except OSError as error:
        click.echo(f"{paint('error', 'error')}: cannot write `{svg}`: {error.strerror}", err=True)
        sys.exit(MISUSE)
    click.echo(f"drawn into {svg}: open it in a browser")
