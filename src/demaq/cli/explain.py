"""`demaq explain`"""

import sys
from pathlib import Path

import click

from demaq.cli.output import FINDINGS, MISUSE, checked, fail, paint, print_json, print_report, summary
from demaq.diagnostics import did_you_mean
from demaq.drawing import to_mermaid, to_svg
from demaq.language import Program
from demaq.language.explain import flow, plan, program_data, program_graph, rule_data
from demaq.language.program import Rule


@click.command(
    epilog="Examples:\n\n"
    "\b\n"
    "  demaq explain examples/procurement                  the flow of messages\n"
    "  demaq explain examples/procurement joinOrder        the plan of one rule\n"
    "  demaq explain examples/procurement --svg flow.svg   a picture"
)
@click.argument("app", type=click.Path())
@click.argument("rule", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print everything that is known as JSON.")
@click.option("--mermaid", is_flag=True, help="Print the graph in Mermaid's notation.")
@click.option("--svg", type=click.Path(dir_okay=False), help="Draw the graph into this file; - for standard output.")
def explain(app: str, rule: str | None, as_json: bool, mermaid: bool, svg: str | None) -> None:
    """Explain the application APP: how messages flow, or how one RULE works."""
    if sum([as_json, mermaid, svg is not None]) > 1:
        fail("take one of --json, --mermaid and --svg")
    if rule is not None and (mermaid or svg is not None):
        fail("--mermaid and --svg draw the whole application: leave the rule away")
    result = checked(app)
    if result.program is None:
        print_report(result.report, err=True)
        click.echo(f"{result.application.name}: {summary(result.report)}; nothing to explain", err=True)
        sys.exit(FINDINGS)
    _explain(result.program, rule, as_json=as_json, mermaid=mermaid, svg=svg)


def _explain(program: Program, name: str | None, *, as_json: bool, mermaid: bool, svg: str | None) -> None:
    if name is not None:
        found = _find(program, name)
        if as_json:
            print_json(rule_data(found))
        else:
            click.echo(plan(found, program, paint))
    elif as_json:
        print_json(program_data(program))
    elif mermaid:
        click.echo(to_mermaid(program_graph(program)))
    elif svg is not None:
        _draw(program, svg)
    else:
        click.echo(flow(program, paint))
        click.echo()
        click.echo("`demaq explain APP RULE` shows one rule, `--svg FILE` draws a picture.")


def _find(program: Program, name: str) -> Rule:
    found = program.rule(name)
    if found is None:
        names = [rule.name for rule in program.rules]
        fail(f"there is no rule `{name}`; {did_you_mean(name, names, 'rules')}")
    return found


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
