"""An XQuery 3.1 front end: parser, tree, printer, analysis; and Saxon, which evaluates."""

from demaq.xquery.errors import XQuerySyntaxError
from demaq.xquery.parser import Grammar, parse, parse_expr

__all__ = ["Grammar", "XQuerySyntaxError", "parse", "parse_expr"]
