"""URIs that can be drawn, but nobody can read from, or write to."""

from demaq.diagnostics import Report, did_you_mean
from demaq.pipelines import codes
from demaq.pipelines import tree as t
from demaq.pipelines.examined import Examined
from demaq.pipelines.vocabulary import SCHEMES_READ, SCHEMES_WRITTEN


def check(examined: Examined, report: Report) -> None:
    for place, endpoint in examined.endpoints.items():
        statement = examined.linked.pipeline.statements[place]
        if isinstance(statement, t.From | t.Enrich | t.To):
            known, verb = (SCHEMES_WRITTEN, "written") if isinstance(statement, t.To) else (SCHEMES_READ, "read")
            if endpoint.scheme not in known:
                report.say(
                    codes.NO_ENDPOINT,
                    statement.uri.span,
                    f"nothing can be {verb} by `{endpoint.scheme}:`: this pipeline can be drawn, and not run",
                    help=did_you_mean(endpoint.scheme, known, "schemes"),
                )
