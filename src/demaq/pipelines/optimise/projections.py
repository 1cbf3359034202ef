"""Projections that change nothing go away, and one upon another become one."""

from demaq.pipelines.plan.nodes import Node, Project
from demaq.pipelines.plan.numbers import needs_conversion
from demaq.pipelines.plan.steps import Plan
from demaq.pipelines.plan.walk import each_node, rewritten
from demaq.pipelines.program import Term, Variable


def projections(plan: Plan) -> Plan:
    return each_node(plan, lambda node: rewritten(node, _simpler))


def _simpler(node: Node) -> Node:
    if not isinstance(node, Project):
        return node
    if isinstance(node.input, Project):
        node = _merged(node, node.input)
    return node.input if isinstance(node, Project) and _is_identity(node) else node


def _merged(outer: Project, inner: Project) -> Node:
    """One projection for two, if the inner one converts nothing that the outer one takes."""
    terms: dict[str, Term] = {}
    for column, term in inner.items:
        if not needs_conversion(term.type, column.type):
            terms[column.name] = term
    if any(isinstance(term, Variable) and term.name not in terms for _, term in outer.items):
        return outer
    return _simpler(
        Project(
            inner.input,
            tuple((column, terms[term.name] if isinstance(term, Variable) else term) for column, term in outer.items),
        )
    )


def _is_identity(node: Project) -> bool:
    return tuple(term for _, term in node.items) == node.input.columns == node.columns
