"""Trees back to text, such that parsing the text gives the same tree, and with a map back to the source."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from demaq.xquery.printer import clauses, constructors, declarations, expressions
from demaq.xquery.printer.core import Printer, Rule, Stretch
from demaq.xquery.recursion import deep_recursion
from demaq.xquery.tree import Node

__all__ = ["Printed", "Printer", "Rule", "Stretch", "print_tree", "to_text"]

XQUERY_RULES: Mapping[type, Rule] = {
    **expressions.RULES,
    **clauses.RULES,
    **constructors.RULES,
    **declarations.RULES,
}


@dataclass(frozen=True, slots=True)
class Printed:
    """A text, and for each node the stretch of it that the node gave, inner ones first."""

    text: str
    stretches: tuple[Stretch, ...]

    def covering(self, offset: int) -> Iterator[Stretch]:
        """The stretches that cover an offset, from the innermost to the outermost."""
        return (stretch for stretch in self.stretches if stretch.start <= offset < stretch.end)


def print_tree(node: Node, extra: Mapping[type, Rule] | None = None) -> Printed:
    """The text of a tree; `extra` says how the nodes of an extended language are printed."""
    printer = Printer(XQUERY_RULES if extra is None else {**XQUERY_RULES, **extra})
    with deep_recursion():
        printer.node(node)
    return Printed(printer.text, tuple(printer.stretches))


def to_text(node: Node, extra: Mapping[type, Rule] | None = None) -> str:
    """
    >>> from demaq.xquery import parse_expr
    >>> to_text(parse_expr("(a + b)*c"))
    '(a + b) * c'
    """
    return print_tree(node, extra).text
