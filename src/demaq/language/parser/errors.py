"""Telling an error in an expression from one in a statement."""

from collections.abc import Callable
from typing import TypeVar

from demaq.diagnostics import DemaqError
from demaq.xquery import XQuerySyntaxError
from demaq.xquery.parser import Parser
from demaq.xquery.tree import Expr


class ExpressionSyntaxError(DemaqError):
    """An expression inside a statement is not XQuery."""

    def __init__(self, error: XQuerySyntaxError) -> None:
        super().__init__(str(error))
        self.error = error


_T = TypeVar("_T")


def xquery(p: Parser, parse: Callable[[Parser], _T]) -> _T:
    """What is XQuery inside a module."""
    try:
        return parse(p)
    except XQuerySyntaxError as error:
        raise ExpressionSyntaxError(error) from error


def expression(p: Parser) -> Expr:
    """An ExprSingle inside a statement."""
    return xquery(p, Parser.expr_single)
