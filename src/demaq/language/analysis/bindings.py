"""Which expression a variable stands for, where that is known. Variables of resolved trees have unique names."""

from collections.abc import Mapping

from demaq.xquery.tree import Expr, Flwor, GroupBy, Let, Node, VarRef, children, walk

Bindings = Mapping[str, Expr]
"""The value of each variable that `let` binds, and that stands for the same value wherever it is used.

A declared type is a test that the value may fail: the variable does not simply stand for it.
"""

NO_BINDINGS: Bindings = {}


def bindings_of(body: Node) -> Bindings:
    """The values of all variables in an expression that can be followed."""
    found: dict[str, Expr] = {}
    _collect(body, found)
    return found


def _collect(node: Node, found: dict[str, Expr]) -> None:
    for child in children(node):
        _collect(child, found)
    if isinstance(node, Let) and node.type is None and _size(node.value, found) <= _MOST_NODES:
        found[node.var.expanded] = node.value
    elif isinstance(node, Flwor) and any(isinstance(clause, GroupBy) for clause in node.clauses):
        # After grouping a variable stands for its values in all tuples of the group.
        for clause in node.clauses:
            if isinstance(clause, Let):
                found.pop(clause.var.expanded, None)


def value_of(expr: Expr, bindings: Bindings) -> Expr:
    """The expression that a variable was bound to by `let`, through as many variables as there are."""
    while isinstance(expr, VarRef):
        bound = bindings.get(expr.name.expanded)
        if bound is None:
            break
        expr = bound
    return expr


_MOST_NODES = 1000


def _size(expr: Expr, bindings: Bindings) -> int:
    """How many nodes an expression has with the values of its variables in their place; beyond the most, no matter.

    Variables that use others twice grow without measure.
    """
    total = 0
    for node in walk(expr):
        total += 1
        if isinstance(node, VarRef):
            bound = bindings.get(node.name.expanded)
            total += 0 if bound is None else _size(bound, bindings)
        if total > _MOST_NODES:
            break
    return total
