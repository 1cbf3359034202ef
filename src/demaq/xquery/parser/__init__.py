"""A hand-written recursive-descent parser for XQuery 3.1, a file per construct."""

from demaq.diagnostics import Source
from demaq.xquery.parser.core import Construct, Grammar, Parser
from demaq.xquery.parser.grammar import XQUERY
from demaq.xquery.parser.prolog import DECLARATIONS, begins_declaration, declaration, module
from demaq.xquery.parser.tokens import Kind, Token
from demaq.xquery.recursion import deep_recursion
from demaq.xquery.tree import Expr, Module, SequenceType

__all__ = [
    "DECLARATIONS",
    "XQUERY",
    "Construct",
    "Grammar",
    "Kind",
    "Parser",
    "Token",
    "begins_declaration",
    "declaration",
    "parse",
    "parse_expr",
    "parse_sequence_type",
]


def parse(text: str, *, name: str = "query", grammar: Grammar = XQUERY) -> Module:
    """The tree of a whole module.

    >>> parse("declare variable $a := 1; $a + 1").body
    Arithmetic(op='+', left=VarRef(name=Name(local='a', prefix=None, uri=None)), right=Number(text='1'))
    """
    with deep_recursion():
        return module(Parser(Source(name, text), grammar))


def parse_expr(text: str, *, name: str = "expression", grammar: Grammar = XQUERY) -> Expr:
    """The tree of an expression.

    >>> parse_expr("1 ,")
    Traceback (most recent call last):
    demaq.xquery.errors.XQuerySyntaxError: err:XPST0003 at line 1, column 4: expected an expression, found ...
    """
    parser = Parser(Source(name, text), grammar)
    with deep_recursion():
        found = parser.expr()
        if not parser.at_end():
            parser.fail_expected("an operator, or the end of the expression")
        return found


def parse_sequence_type(text: str, *, name: str = "type") -> SequenceType:
    """The tree of a sequence type.

    >>> parse_sequence_type("element(a)*").occurrence
    '*'
    """
    parser = Parser(Source(name, text), XQUERY)
    with deep_recursion():
        found = parser.grammar.sequence_type(parser)
    if not parser.at_end():
        parser.fail_expected("the end of the type")
    return found
