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
    walk,
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


_MOST_NODES = 1000


def _known(value: Expr, bindings: Bindings) -> Expr | None:
    """The value, if it is of a size that can be followed: variables that use others twice grow without measure."""
    return value if _size(value, bindings) <= _MOST_NODES else None


def _size(expr: Expr, bindings: Bindings) -> int:
    """How many nodes an expression has with the values of its variables in their place; beyond the most, no matter."""
    total = 0
    for node in walk(expr):
        total += 1
        if isinstance(node, VarRef):
            bound = bindings.get(node.name.expanded)
            total += 0 if bound is None else _size(bound, bindings)
        if total > _MOST_NODES:
            break
    return total


def bind_clauses(clauses: tuple[Node, ...], bindings: Bindings) -> Bindings:
    """The bindings after the clauses of a FLWOR expression."""
    inner = dict(bindings)
    for clause in clauses:
        if isinstance(clause, Let):
            inner[clause.var.expanded] = _known(clause.value, inner)
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
                inner[clause.var.expanded] = _known(clause.value, inner)
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
