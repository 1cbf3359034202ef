"""The application language: its parser, its checks, and the program that it compiles to."""

from demaq.language.compile import Checked, check, compile_application
from demaq.language.errors import ApplicationInvalid, ApplicationNotFound
from demaq.language.program import Program

__all__ = [
    "ApplicationInvalid",
    "ApplicationNotFound",
    "Checked",
    "Program",
    "check",
    "compile_application",
]
