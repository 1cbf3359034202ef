"""What commands share in how they print."""

import json
import sys
from typing import Any, NoReturn

import click

from demaq.diagnostics import Report, Severity, render
from demaq.language import ApplicationNotFound, Checked
from demaq.language import check as check_application

FINDINGS = 1
MISUSE = 2
NOT_YET = 3

_STYLES: dict[str, dict[str, Any]] = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow", "bold": True},
    "hint": {"fg": "cyan", "bold": True},
    "frame": {"fg": "blue"},
    "bold": {"bold": True},
}


def paint(text: str, role: str) -> str:
    """Colours, which `click.echo` takes away where the output is no terminal."""
    return click.style(text, **_STYLES[role])


def checked(app: str) -> Checked:
    """The checked application, or an end with a sentence that says why there is none."""
    try:
        return check_application(app)
    except ApplicationNotFound as error:
        fail(str(error))


def fail(message: str) -> NoReturn:
    click.echo(f"{paint('error', 'error')}: {message}", err=True)
    sys.exit(MISUSE)


def print_json(data: Any) -> None:
    click.echo(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))


def print_report(report: Report, *, err: bool = False) -> None:
    for diagnostic in report:
        click.echo(render(diagnostic, paint), err=err)
        click.echo(err=err)


def count(number: int, word: str) -> str:
    """
    >>> count(1, "rule"), count(2, "rule")
    ('1 rule', '2 rules')
    """
    return f"{number} {word}{'' if number == 1 else 's'}"


def summary(report: Report) -> str:
    counts = [(report.count(severity), severity.value) for severity in Severity]
    parts = [count(number, word) for number, word in counts if number]
    found = ", ".join(parts) if parts else "no errors, no warnings"
    return f"{found} ({len(report.allowed)} allowed)" if report.allowed else found
