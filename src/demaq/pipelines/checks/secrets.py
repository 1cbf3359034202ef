"""Secrets that are written into URIs."""

from demaq.diagnostics import Report
from demaq.pipelines import codes
from demaq.pipelines import tree as t
from demaq.pipelines.examined import Examined
from demaq.pipelines.secrets import places_of_secrets


def check(examined: Examined, report: Report) -> None:
    for statement in examined.linked.pipeline.statements:
        if isinstance(statement, t.From | t.Enrich | t.To):
            for place in places_of_secrets(statement.uri):
                report.say(
                    codes.SECRET,
                    place,
                    "a secret is written into this URI, where everybody can read it",
                    help="write `$password` in its place, and set `password` in the configuration",
                )
