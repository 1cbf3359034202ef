"""What is known of a message that a rule makes: its root element, and the elements in it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from demaq.language.analysis.bindings import Bindings, value_of
from demaq.language.analysis.calls import function_key
from demaq.language.analysis.paths import step_name
from demaq.language.linked import LinkedModule
from demaq.xquery.analysis.context import FN, XS
from demaq.xquery.tree import (
    Arithmetic,
    AxisStep,
    CastAs,
    Comparison,
    Computed,
    Concat,
    DirectElement,
    DirectText,
    Enclosed,
    Expr,
    Filter,
    Flwor,
    FunctionCall,
    If,
    KindTest,
    Literal,
    Logical,
    Name,
    Node,
    Path,
    Range,
    Sequence,
    StringConstructor,
    Switch,
    TypeSwitch,
    Unary,
)

_MAX_DEPTH = 40


@dataclass(frozen=True, slots=True)
class Shape:
    """The names that the root may have and that the elements may have (the root's included); None if not known.

    Elements copied from other messages count by their own name; what lies inside them is not looked for.
    `attributes` are those of the root that have one and the same value whenever the message is made.
    """

    roots: frozenset[str] | None = None
    names: frozenset[str] | None = None
    attributes: frozenset[tuple[str, str]] = frozenset()


_ANYTHING = Shape()
_NOTHING = Shape(frozenset(), frozenset())


def expression_shape(expr: Expr, bindings: Bindings, module: LinkedModule, depth: int = 0) -> Shape:
    """What is known of the elements that an expression gives."""
    if depth > _MAX_DEPTH:
        return _ANYTHING
    expr = value_of(expr, bindings)

    def below(inner: Expr) -> Shape:
        return expression_shape(inner, bindings, module, depth + 1)

    if isinstance(expr, DirectElement):
        content = _either(_content_shape(part, below) for part in expr.content)
        return replace(_element(expr.name.expanded, content), attributes=frozenset(_constants(expr)))
    if isinstance(expr, Computed):
        return _computed(expr, below)
    if isinstance(expr, Literal | StringConstructor):
        return _NOTHING
    if isinstance(expr, Sequence):
        return _either(below(item) for item in expr.items)
    if isinstance(expr, If):
        return _either(below(part) for part in (expr.then, expr.otherwise) if part is not None)
    if isinstance(expr, Switch):
        return _either(below(part) for part in (*(case.result for case in expr.cases), expr.default))
    if isinstance(expr, TypeSwitch):
        return _either(below(case.result) for case in (*expr.cases, expr.default))
    if isinstance(expr, Flwor):
        return below(expr.result)
    if isinstance(expr, Filter):
        return below(expr.base)
    if isinstance(expr, FunctionCall):
        return _call(expr, module, depth)
    return _copied(expr)


def _constants(expr: DirectElement) -> Iterator[tuple[str, str]]:
    for attribute in expr.attributes:
        texts = [part.raw for part in attribute.value if isinstance(part, DirectText) and "&" not in part.raw]
        if len(texts) == len(attribute.value):
            yield attribute.name.expanded, "".join(texts)


def _content_shape(part: Node, below: Callable[[Expr], Shape]) -> Shape:
    if isinstance(part, Enclosed):
        return _NOTHING if part.body is None else below(part.body)
    return below(part) if isinstance(part, DirectElement) else _NOTHING


def _element(name: str, content: Shape) -> Shape:
    inner = None if content.names is None else content.names | {name}
    return Shape(frozenset({name}), inner)


def _computed(expr: Computed, below: Callable[[Expr], Shape]) -> Shape:
    content = _NOTHING if expr.content is None else below(expr.content)
    if expr.kind == "document":
        return content
    if expr.kind != "element":
        return _NOTHING
    if isinstance(expr.name, Name):
        return _element(expr.name.expanded, content)
    return _ANYTHING


def _call(expr: FunctionCall, module: LinkedModule, depth: int) -> Shape:
    key = function_key(expr)
    function = module.functions.get(key) if key is not None else None
    if function is not None:
        return expression_shape(function.body, function.bindings, module, depth + 1)
    gives_text = expr.name.uri in _TEXT_NAMESPACES and expr.name.local not in _GIVES_NODES
    return _NOTHING if gives_text else _ANYTHING


_TEXT_NAMESPACES = (FN, XS)
_GIVES_NODES = frozenset(
    "head tail subsequence insert-before remove reverse root parse-xml parse-xml-fragment collection id idref"
    " element-with-id one-or-more exactly-one zero-or-one unordered for-each filter fold-left fold-right"
    " for-each-pair sort apply innermost outermost analyze-string json-to-xml path trace distinct-values".split()
)


_VALUES = (Arithmetic, CastAs, Comparison, Concat, Logical, Range, Unary)


def _copied(expr: Expr) -> Shape:
    """Nodes that a path finds: elements are known by its last step; attributes and text do not count."""
    last = expr.steps[-1] if isinstance(expr, Path) and expr.steps else expr
    if isinstance(last, AxisStep):
        if last.axis == "attribute":
            return _NOTHING
        name = step_name(last)
        if name is not None and not name.startswith("*:"):
            return Shape(frozenset({name}), frozenset({name}))
        is_text = isinstance(last.test, KindTest) and last.test.kind in ("text", "comment")
        return _NOTHING if is_text else _ANYTHING
    return _NOTHING if isinstance(expr, _VALUES) else _ANYTHING


def _either(shapes: Iterable[Shape]) -> Shape:
    found = list(shapes)
    if len(found) == 1:
        return found[0]
    return Shape(_union(shape.roots for shape in found), _union(shape.names for shape in found))


def _union(sets: Iterable[frozenset[str] | None]) -> frozenset[str] | None:
    result: frozenset[str] = frozenset()
    for names in sets:
        if names is None:
            return None
        result |= names
    return result
