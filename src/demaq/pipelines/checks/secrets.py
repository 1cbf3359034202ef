"""Secrets that are written into URIs and options."""

from collections.abc import Iterator

from demaq.diagnostics import Report, Span
from demaq.pipelines import codes
from demaq.pipelines import tree as t
from demaq.pipelines.examined import Examined
from demaq.pipelines.secrets import places_in_option, places_of_secrets


def check(examined: Examined, report: Report) -> None:
    for statement in examined.linked.pipeline.statements:
        if isinstance(statement, t.From | t.Enrich | t.To):
            for what, place in _secrets(statement):
                report.say(
                    codes.SECRET,
                    place,
                    f"a secret is written into this {what}, where everybody can read it",
                    help="write `$password` in its place, and set `password` in the configuration",
                )


def _secrets(statement: t.From | t.Enrich | t.To) -> Iterator[tuple[str, Span]]:
    yield from (("URI", place) for place in places_of_secrets(statement.uri))
    yield from (("option", place) for option in statement.options for place in places_in_option(option))
