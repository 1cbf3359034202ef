"""Telling an error in an expression from one in a statement."""

from demaq.diagnostics import DemaqError
from demaq.xquery import XQuerySyntaxError
from demaq.xquery.parser import Parser
from demaq.xquery.tree import Expr


class ExpressionSyntaxError(DemaqError):
    """An expression inside a statement is not XQuery."""

    def __init__(self, error: XQuerySyntaxError) -> None:
        super().__init__(str(error))
        self.error = error


def expression(p: Parser) -> Expr:
    """An ExprSingle inside a statement."""
    try:
        return p.expr_single()
    except XQuerySyntaxError as error:
        raise ExpressionSyntaxError(error) from error
