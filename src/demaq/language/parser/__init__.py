"""The parser of the application language. XQuery inside statements is read by `demaq.xquery`."""

from demaq.language.parser.actions import QML
from demaq.language.parser.module import GRAMMAR, STATEMENTS, Broken, ParsedModule, parse_module

__all__ = ["GRAMMAR", "QML", "STATEMENTS", "Broken", "ParsedModule", "parse_module"]
