"""Going through trees."""

from dataclasses import replace

from demaq.xquery import parse_expr
from demaq.xquery.printer import to_text
from demaq.xquery.tree import Name, NameTest, Node, Number, Transformer, VarRef, Visitor, children, walk


def test_walk_goes_in_the_order_of_the_text() -> None:
    tree = parse_expr("for $x in (1, 2) return <a b='{3}'>{4}</a>[5]")
    assert [node.text for node in walk(tree) if isinstance(node, Number)] == ["1", "2", "3", "4", "5"]


def test_children_are_the_nodes_right_below() -> None:
    tree = parse_expr("1 + 2 * 3")
    assert [to_text(child) for child in children(tree)] == ["1", "2 * 3"]


def test_a_visitor_is_called_by_the_class() -> None:
    found = []

    class Names(Visitor):
        def visit_NameTest(self, node: NameTest) -> None:
            found.append(str(node.name))

    Names().visit(parse_expr("a/b[c = $d]"))
    assert found == ["a", "b", "c"]


def test_a_transformer_shares_what_does_not_change() -> None:
    class Rename(Transformer):
        def visit_VarRef(self, node: VarRef) -> Node:
            return replace(node, name=Name(node.span, "y"))

    tree = parse_expr("($x + 1, a/b)")
    changed = Rename().visit(tree)
    assert to_text(changed) == "$y + 1, a/b"
    assert changed.items[1] is tree.items[1]  # type: ignore[attr-defined]
    assert Transformer().visit(tree) is tree


def test_places_do_not_count_in_comparisons() -> None:
    assert parse_expr("1+2") == parse_expr("1  (: c :) + 2")
    assert parse_expr("1+2") != parse_expr("2+1")
