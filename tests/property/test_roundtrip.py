"""Trees to text and back: what is printed reads as it was, and what is read knows its place."""

from collections.abc import Mapping

from hypothesis import HealthCheck, given, settings

from demaq.language.parser import QML
from demaq.language.printer import ACTION_RULES
from demaq.xquery import Grammar, parse, parse_expr
from demaq.xquery import tree as t
from demaq.xquery.parser import XQUERY, parse_sequence_type
from demaq.xquery.printer import Rule, to_text
from property.xquery_strategies import Vocabulary, expressions, modules, sequence_types

often = settings(max_examples=700, deadline=None, suppress_health_check=list(HealthCheck))
WITH_ACTIONS = Vocabulary(actions=True)


def _reads_as_it_was(tree: t.Expr, grammar: Grammar = XQUERY, rules: Mapping[type, Rule] | None = None) -> t.Expr:
    text = to_text(tree, rules)
    read = parse_expr(text, grammar=grammar)
    assert read == tree, text
    assert to_text(read, rules) == text
    return read


@often
@given(expressions())
def test_printed_expression_reads_as_it_was(tree: t.Expr) -> None:
    _reads_as_it_was(tree)


@often
@given(expressions(WITH_ACTIONS))
def test_printed_actions_read_as_they_were(tree: t.Expr) -> None:
    _reads_as_it_was(tree, QML, ACTION_RULES)


@often
@given(modules())
def test_printed_module_reads_as_it_was(tree: t.Module) -> None:
    text = to_text(tree)
    read = parse(text)
    assert read == tree, text
    assert to_text(read) == text


@often
@given(sequence_types())
def test_printed_type_reads_as_it_was(tree: t.SequenceType) -> None:
    assert parse_sequence_type(to_text(tree)) == tree
