"""`demaq check`"""

import sys

import click

from demaq.cli.output import FINDINGS, checked, count, paint, print_json, print_report, summary
from demaq.diagnostics import Severity
from demaq.language import Checked


@click.command(
    epilog="Example: demaq check examples/procurement\n\n"
    "Exit status: 0 without errors, 1 with errors, 2 when there is no application."
)
@click.argument("app", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def check(app: str, as_json: bool) -> None:
    """Check the application APP, a folder or a .demaq file, and report everything that is wrong."""
    result = checked(app)
    if as_json:
        _print_json(result)
    else:
        print_report(result.report)
        _print_summary(result)
    sys.exit(FINDINGS if result.report.has_errors else 0)


def _print_json(result: Checked) -> None:
    report = result.report
    print_json(
        {
            "application": result.application.name,
            "ok": not report.has_errors,
            "errors": report.count(Severity.ERROR),
            "warnings": report.count(Severity.WARNING),
            "hints": report.count(Severity.HINT),
            "allowed": [diagnostic.to_json() for diagnostic in report.allowed],
            "diagnostics": [diagnostic.to_json() for diagnostic in report],
        }
    )


def _print_summary(result: Checked) -> None:
    program = result.program
    name = paint(result.application.name, "bold")
    size = (
        "" if program is None else f" ({count(len(program.queues) - 1, 'queue')}, {count(len(program.rules), 'rule')})"
    )
    click.echo(f"{name}{size}: {summary(result.report)}")
