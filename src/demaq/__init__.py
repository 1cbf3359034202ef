"""Demaq, declarative messaging and queuing."""

from demaq._version import __version__
from demaq.diagnostics import DemaqError, Diagnostic, Severity
from demaq.language import (
    ApplicationInvalid,
    ApplicationNotFound,
    Checked,
    Program,
    check,
    compile_application,
)
from demaq.xquery import XQuerySyntaxError

__all__ = [
    "ApplicationInvalid",
    "ApplicationNotFound",
    "Checked",
    "DemaqError",
    "Diagnostic",
    "Program",
    "Severity",
    "XQuerySyntaxError",
    "__version__",
    "check",
    "compile_application",
]
