"""Which expression a variable stands for, where that is known."""

from collections.abc import Iterator, Mapping

from demaq.xquery.tree import (
    Case,
    Catch,
    Expr,
    Flwor,
    For,
    GroupBy,
    InlineFunction,
    Let,
    Name,
    Node,
    Quantified,
    VarRef,
    Window,
    children,
)

Bindings = Mapping[str, Expr | None]
"""The value of each variable in scope; None where it takes many values, or one that is not known."""

NO_BINDINGS: Bindings = {}


def value_of(expr: Expr, bindings: Bindings) -> Expr:
    """The expression that a variable was bound to by `let`, through as many variables as there are."""
    seen: set[str] = set()
    while isinstance(expr, VarRef) and expr.name.expanded not in seen:
        seen.add(expr.name.expanded)
        bound = bindings.get(expr.name.expanded)
        if bound is None:
            break
        expr = bound
    return expr


def bind_clauses(clauses: tuple[Node, ...], bindings: Bindings) -> Bindings:
    """The bindings after the clauses of a FLWOR expression."""
    inner = dict(bindings)
    for clause in clauses:
        if isinstance(clause, Let):
            inner[clause.var.expanded] = clause.value
        else:
            for name in _bound_names(clause):
                inner[name] = None
    return inner


def _bound_names(clause: Node) -> Iterator[str]:
    for attribute in ("var", "name", "position", "current", "previous", "next"):
        name = getattr(clause, attribute, None)
        if isinstance(name, Name):
            yield name.expanded
    for child in children(clause):
        if not isinstance(child, Expr):
            yield from _bound_names(child)


_BINDERS = (Case, Catch, GroupBy, InlineFunction, Quantified, Window)
"""What binds variables for what stands below it, beside FLWOR expressions."""


def walk_bound(node: Node, bindings: Bindings = NO_BINDINGS) -> Iterator[tuple[Node, Bindings]]:
    """Every node below, each with the bindings at its place. Only `let` gives known values."""
    yield node, bindings
    if isinstance(node, Flwor):
        inner = dict(bindings)
        for clause in node.clauses:
            yield from walk_bound(clause, dict(inner))
            if isinstance(clause, Let):
                inner[clause.var.expanded] = clause.value
            elif isinstance(clause, For):
                inner[clause.var.expanded] = None
            else:
                inner.update(dict.fromkeys(_bound_names(clause), None))
        yield from walk_bound(node.result, inner)
        return
    shadowed = dict.fromkeys(_bound_names(node)) if not isinstance(node, Let | For) else {}
    below = {**bindings, **shadowed} if shadowed else bindings
    for child in children(node):
        yield from walk_bound(child, below)
