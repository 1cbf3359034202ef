"""`demaq explain`"""

import sys
from pathlib import Path

import click

from demaq.cli.output import FINDINGS, MISUSE, checked, fail, paint, print_json, print_report, summary
from demaq.diagnostics import did_you_mean, nearest
from demaq.drawing import to_mermaid, to_svg
from demaq.language import Program
from demaq.language.explain import flow, plan, program_data, program_graph, queue_data, queue_plan, rule_data
from demaq.language.program import Rule
from demaq.model import Queue, Slicing


@click.command(
    epilog="Examples:\n\n"
    "\b\n"
    "  demaq explain examples/procurement                  the flow of messages\n"
    "  demaq explain examples/procurement joinOrder        the plan of one rule\n"
    "  demaq explain examples/procurement crm              how the rules of a queue are evaluated together\n"
    "  demaq explain examples/procurement --svg flow.svg   a picture"
)
@click.argument("app", type=click.Path())
@click.argument("name", required=False)
@click.option("--queue", is_flag=True, help="NAME is a queue or a slicing, even if there is a rule of that name.")
@click.option("--json", "as_json", is_flag=True, help="Print everything that is known as JSON.")
@click.option("--mermaid", is_flag=True, help="Print the graph in Mermaid's notation.")
@click.option("--svg", type=click.Path(dir_okay=False), help="Draw the graph into this file; - for standard output.")
def explain(app: str, name: str | None, queue: bool, as_json: bool, mermaid: bool, svg: str | None) -> None:
    """Explain the application APP: how messages flow, or how the rule, queue or slicing NAME works."""
    if sum([as_json, mermaid, svg is not None]) > 1:
        fail("take one of --json, --mermaid and --svg")
    if name is not None and (mermaid or svg is not None):
        fail(f"--mermaid and --svg draw the whole application: leave `{name}` away")
    if name is None and queue:
        fail("--queue needs the name of a queue or a slicing")
    result = checked(app)
    if result.program is None:
        print_report(result.report, err=True)
        click.echo(f"{result.application.name}: {summary(result.report)}; nothing to explain", err=True)
        sys.exit(FINDINGS)
    if name is not None:
        _explain_one(result.program, _find(result.program, name, queue=queue), as_json=as_json)
    else:
        _explain_all(result.program, as_json=as_json, mermaid=mermaid, svg=svg)


def _explain_one(program: Program, found: Rule | Queue | Slicing, *, as_json: bool) -> None:
    if isinstance(found, Rule):
        if as_json:
            print_json(rule_data(found, program))
        else:
            click.echo(plan(found, program, paint))
    elif as_json:
        print_json(queue_data(found, program))
    else:
        click.echo(queue_plan(found, program, paint))


def _explain_all(program: Program, *, as_json: bool, mermaid: bool, svg: str | None) -> None:
    if as_json:
        print_json(program_data(program))
    elif mermaid:
        click.echo(to_mermaid(program_graph(program)))
    elif svg is not None:
        _draw(program, svg)
    else:
        click.echo(flow(program, paint))
        click.echo()
        click.echo("`demaq explain APP NAME` shows one rule or queue, `--svg FILE` draws a picture.")


def _find(program: Program, name: str, *, queue: bool) -> Rule | Queue | Slicing:
    """A rule, unless a queue is asked for; else a queue or a slicing of that name."""
    rule = None if queue else program.rule(name)
    other = program.queue_or_slicing(name)
    if rule is not None and other is not None:
        kind = "queue" if isinstance(other, Queue) else "slicing"
        click.echo(
            f"This is the rule `{name}`. There is a {kind} of that name, too: add --queue to see it.\n", err=True
        )
    found = rule or other
    if found is None:
        fail(_unknown(program, name, queue=queue))
    return found


def _unknown(program: Program, name: str, *, queue: bool) -> str:
    places = [*program.queues, *program.slicings]
    rules = [rule.name for rule in program.rules]
    if queue:
        return f"there is no queue or slicing `{name}`; {did_you_mean(name, places, 'queues and slicings')}"
    if nearest(name, rules) is None and nearest(name, places) is not None:
        return f"there is no rule, queue or slicing `{name}`; {did_you_mean(name, places, 'queues and slicings')}"
    return f"there is no rule, queue or slicing `{name}`; {did_you_mean(name, rules, 'rules')}"


def _draw(program: Program, svg: str) -> None:
    picture = to_svg(program_graph(program))
    if svg == "-":
        click.echo(picture)
        return
    try:
        Path(svg).write_text(picture, encoding="utf-8")
    except OSError as error:
        click.echo(f"{paint('error', 'error')}: cannot write `{svg}`: {error.strerror}", err=True)
        sys.exit(MISUSE)
    click.echo(f"drawn into {svg}: open it in a browser")
