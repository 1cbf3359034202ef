"""Relations that are aggregated or split, and then used under their old name."""

from demaq.diagnostics import Note, Report
from demaq.pipelines import codes
from demaq.pipelines import tree as t
from demaq.pipelines.analysis.uses import overlooked
from demaq.pipelines.examined import Examined


def check(examined: Examined, report: Report) -> None:
    """The old name means the relation as it was before. If nobody asks for the new one, that is hardly meant."""
    for found in overlooked(examined.linked):
        word = "aggregated" if isinstance(found.maker, t.Aggregate) else "split"
        report.say(
            codes.BEFORE,
            found.use.span,
            f"this is `{found.use.relation}` before it is {word}, and nothing uses what it is after that",
            notes=[Note(f"it is {word} here", found.query.span)],
            help=f"after that, it is called `{found.result}`",
        )
