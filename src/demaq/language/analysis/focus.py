"""Where an expression depends on the context item: the message in a rule, the item that a predicate is tested for."""

from collections.abc import Iterator

from demaq.xquery.analysis.context import FN
from demaq.xquery.tree import (
    AxisStep,
    ContextItem,
    Expr,
    Filter,
    FunctionCall,
    InlineFunction,
    NamedFunctionRef,
    Node,
    Path,
    SimpleMap,
    UnaryLookup,
    children,
)

_OF_FOCUS = frozenset(
    "position last name local-name namespace-uri node-name root string data number string-length normalize-space"
    " base-uri document-uri has-children path generate-id nilled lang".split()
)

_OF_FOCUS_WITH_ONE = frozenset({"id", "idref", "element-with-id", "lang"})


def focus_uses(expr: Node) -> Iterator[Expr]:
    """The outermost parts of an expression that need a context item. Inner ones have a focus of their own."""
    if isinstance(expr, ContextItem | AxisStep | UnaryLookup) or (isinstance(expr, Path) and expr.leading):
        yield expr
    elif isinstance(expr, Path):
        # Later steps have the earlier ones for their focus; what is wrong with the first is wrong with the path.
        if any(True for _ in focus_uses(expr.steps[0])):
            yield expr
    elif isinstance(expr, Filter):
        yield from focus_uses(expr.base)
    elif isinstance(expr, SimpleMap):
        yield from focus_uses(expr.left)
    elif _asks_for_focus(expr):
        yield expr  # type: ignore[misc]  # a call, or a reference to a function, is an expression
    elif not isinstance(expr, InlineFunction):  # which has no focus at all
        for child in children(expr):
            yield from focus_uses(child)


def _asks_for_focus(node: Node) -> bool:
    """Is this a call of a function that looks at the context item, or a reference to one, which remembers it?"""
    if isinstance(node, FunctionCall):
        arity = len(node.args)
    elif isinstance(node, NamedFunctionRef):
        arity = node.arity
    else:
        return False
    names = _OF_FOCUS if arity == 0 else _OF_FOCUS_WITH_ONE if arity == 1 else frozenset()
    return node.name.uri == FN and node.name.local in names


def depends_on_focus(expr: Node) -> bool:
    return any(True for _ in focus_uses(expr))


def with_same_focus(expr: Node) -> Iterator[Node]:
    """The node and what stands below it with the same context item: not in predicates, later steps, or functions."""
    yield expr
    below: tuple[Node, ...]
    if isinstance(expr, AxisStep | InlineFunction):
        below = ()
    elif isinstance(expr, Path):
        below = () if expr.leading else expr.steps[:1]
    elif isinstance(expr, Filter):
        below = (expr.base,)
    elif isinstance(expr, SimpleMap):
        below = (expr.left,)
    else:
        below = tuple(children(expr))
    for child in below:
        yield from with_same_focus(child)
