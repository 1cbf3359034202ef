"""What is wrong, where, and what to do about it: sources, spans, diagnostics and how they are printed."""

from demaq.diagnostics.allowances import Allowance, Allowances
from demaq.diagnostics.codes import Catalogue, Code, Severity
from demaq.diagnostics.diagnostic import Diagnostic, Note
from demaq.diagnostics.errors import DemaqError
from demaq.diagnostics.nearest import did_you_mean, listing, nearest
from demaq.diagnostics.render import Paint, plain, render
from demaq.diagnostics.report import Report
from demaq.diagnostics.source import Source, Span

__all__ = [
    "Allowance",
    "Allowances",
    "Catalogue",
    "Code",
    "DemaqError",
    "Diagnostic",
    "Note",
    "Paint",
    "Report",
    "Severity",
    "Source",
    "Span",
    "did_you_mean",
    "listing",
    "nearest",
    "plain",
    "render",
]
