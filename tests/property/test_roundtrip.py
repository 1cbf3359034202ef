"""Trees to text and back: what is printed reads as it was, and what is read knows its place."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from demaq.language.parser import QML
from demaq.language.printer import ACTION_RULES
from demaq.xquery import Grammar, parse, parse_expr
from demaq.xquery import tree as t
from demaq.xquery.parser import XQUERY, parse_sequence_type
from demaq.xquery.printer import Rule, print_tree, to_text
from property.building.core import LOCALS
from property.effort import examples
from property.xquery_strategies import Vocabulary, expressions, modules, sequence_types

# After `return` and its like, these begin an action, or lack one, before they begin a path: see `branch` of the QML.
WITH_ACTIONS = Vocabulary(actions=True, locals=[local for local in LOCALS if local not in ("do", "else", "enqueue")])
ABSTRACT = {t.Node, t.Expr, t.Literal, t.ItemType, t.Declaration}
CLASSES = {
    kind for name in t.__all__ if isinstance(kind := getattr(t, name), type) and issubclass(kind, t.Node)
} - ABSTRACT

Rules = Mapping[type, Rule] | None


# Printing and reading


@examples(700)
@given(expressions())
def test_printed_expression_reads_as_it_was(tree: t.Expr) -> None:
    _reads_as_it_was(tree)


@examples(400)
@given(modules())
def test_printed_module_reads_as_it_was(tree: t.Module) -> None:
    text = to_text(tree)
    read = parse(text)
    assert read == tree, text
    assert to_text(read) == text


@examples(300)
@given(sequence_types())
def test_printed_type_reads_as_it_was(tree: t.SequenceType) -> None:
    assert parse_sequence_type(to_text(tree)) == tree


@examples(500)
@given(expressions(WITH_ACTIONS))
def test_printed_actions_read_as_they_were(tree: t.Expr) -> None:
    _reads_as_it_was(tree, QML, ACTION_RULES)


def _reads_as_it_was(tree: t.Expr, grammar: Grammar = XQUERY, rules: Rules = None) -> None:
    text = to_text(tree, rules)
    read = parse_expr(text, grammar=grammar)
    assert read == tree, text
    assert to_text(read, rules) == text


def test_an_action_after_a_branch_stays_after_it() -> None:
    _reads_as_it_was(parse_expr("(if (a) then do reset), do reset", grammar=QML), QML, ACTION_RULES)


def test_a_property_after_an_action_stays_after_it() -> None:
    text = "do enqueue a into b with p value (do enqueue c into d) with q value 1"
    _reads_as_it_was(parse_expr(text, grammar=QML), QML, ACTION_RULES)


def test_a_bare_reset_may_stand_before_a_word() -> None:
    _reads_as_it_was(parse_expr("let $a := (do reset) return 1", grammar=QML), QML, ACTION_RULES)


def test_a_slicing_may_have_its_namespace_in_braces() -> None:
    _reads_as_it_was(parse_expr("do reset Q{urn:s}requests key 1", grammar=QML), QML, ACTION_RULES)


def test_every_class_of_nodes_is_built() -> None:
    built: set[type] = set()

    @settings(examples(600), derandomize=True, database=None)
    @given(st.one_of(expressions(size=40), modules(size=40)))
    def collect(tree: t.Node) -> None:
        built.update(map(type, t.walk(tree)))

    collect()
    assert CLASSES - built == set()
    assert built - CLASSES == set()


# Places


@examples(300)
@given(modules())
def test_places_of_a_module_nest(tree: t.Module) -> None:
    text = to_text(tree)
    _check_places(parse(text), text)


@examples(300)
@given(expressions(WITH_ACTIONS, 8))
def test_text_of_each_expression_reads_as_that_expression(tree: t.Expr) -> None:
    text = to_text(tree, ACTION_RULES)
    read = parse_expr(text, grammar=QML)
    _check_places(read, text)
    for node in t.walk(read):
        if _stands_alone(node):
            assert parse_expr(node.span.text, grammar=QML) == node


@examples(300)
@given(expressions(WITH_ACTIONS, 8))
def test_printed_stretch_of_each_expression_reads_as_that_expression(tree: t.Expr) -> None:
    printed = print_tree(tree, ACTION_RULES)
    assert printed.stretches[-1].node is tree
    for stretch in printed.stretches:
        assert 0 <= stretch.start <= stretch.end <= len(printed.text)
        if _stands_alone(stretch.node):
            assert parse_expr(printed.text[stretch.start : stretch.end], grammar=QML) == stretch.node


def _stands_alone(node: t.Node) -> bool:
    return isinstance(node, t.Expr) and not isinstance(node, t.Placeholder)


def _check_places(tree: t.Node, text: str) -> None:
    """Within the text, within their parents', and in the order of the text."""
    assert 0 <= tree.span.start <= tree.span.end <= len(text)
    for node in t.walk(tree):
        inner = [child.span for child in t.children(node)]
        assert all(node.span.start <= span.start <= span.end <= node.span.end for span in inner), node
        assert all(before.end <= after.start for before, after in pairwise(inner)), node


# Going through


@examples(300)
@given(modules())
def test_everything_is_visited_once_parents_first(tree: t.Module) -> None:
    expected = [id(node) for node in _everything(tree)]
    seeing = Seeing()
    seeing.visit(tree)
    assert [id(node) for node in t.walk(tree)] == expected
    assert seeing.seen == expected


@examples(300)
@given(modules())
def test_changing_nothing_gives_the_very_same_tree(tree: t.Module) -> None:
    assert t.Transformer().visit(tree) is tree


class Seeing(t.Visitor):
    def __init__(self) -> None:
        self.seen: list[int] = []

    def visit(self, node: t.Node) -> None:
        self.seen.append(id(node))
        super().visit(node)


def _everything(value: object) -> Iterator[t.Node]:
    """All nodes, found by the fields alone."""
    if isinstance(value, tuple):
        for item in value:
            yield from _everything(item)
    elif isinstance(value, t.Node):
        yield value
        for field in fields(value):
            yield from _everything(getattr(value, field.name))
