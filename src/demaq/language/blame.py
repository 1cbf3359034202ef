"""Which expression of the source an error of the engine is about.

Saxon gives a line and a column, which at times are those of a part of the expression, or of what stands beside it;
its sentence says more. At times it gives no place at all: then expressions are left out in turn, to see whose absence
makes the error go away.
"""

import re
from collections.abc import Callable, Iterator

from demaq.diagnostics import Source
from demaq.language.rewrite.unit import without
from demaq.xquery import tree as t
from demaq.xquery.analysis.resolve import is_unknown, unknown
from demaq.xquery.printer import Printed, Stretch, print_tree
from demaq.xquery.saxon import Saxon, SaxonError

_OPERATORS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("Arithmetic operator", (t.Arithmetic, t.Unary)),
    ("annot compare", (t.Comparison,)),
    ("duplicate key", (t.MapConstructor,)),
    ("Duplicate key", (t.MapConstructor,)),
)
_ADDED = ("XQTY0105",)  # something that cannot be the content of an element
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")
_ARGUMENT = re.compile(rf"({'|'.join(_ORDINALS)}) argument of (?:\w+:|Q\{{[^}}]*\}})?([\w.-]+)")
_RESULT = re.compile(r"result of a call to (?:\w+:|Q\{[^}]*\})?([\w.-]+)")
_QUOTED = re.compile(r"supplied expression \{(.*?)\} delivers")
_MOST_TRIES = 80


def culprit(printed: Printed, module: t.Module, error: SaxonError) -> t.Node | None:
    """The expression that an error with a place is about."""
    if error.line is None or error.column is None:
        return None
    offset = Source("query", printed.text).offset(error.line, error.column)
    covering = list(_expressions_at(printed, offset))
    for find in (_result_of_function, _argument_of_call, _cast_value, _quoted, _operator):
        found = find(covering, printed, module, error.message)
        if found is not None:
            return found
    if error.code in _ADDED:
        return _content(covering)
    return next((stretch.node for stretch in covering), None)


def _content(covering: list[Stretch]) -> t.Node | None:
    """The largest expression inside the innermost element."""
    found = None
    for stretch in covering:
        if isinstance(stretch.node, t.DirectElement | t.Computed):
            break
        found = stretch.node
    return found


def _expressions_at(printed: Printed, offset: int) -> Iterator[Stretch]:
    """Expressions of the source, innermost first. Saxon's column is at times that of the character beside."""
    for place in (offset, offset - 1, offset + 1):
        found = [one for one in printed.covering(place) if isinstance(one.node, t.Expr)]
        if found:
            yield from (one for one in found if _is_from_source(one.node) and not is_unknown(one.node))
            return


def _is_from_source(node: t.Node) -> bool:
    return node.span.source.name not in ("runtime", "type")


def _result_of_function(_: list[Stretch], __: Printed, module: t.Module, message: str) -> t.Node | None:
    match = _RESULT.search(message)
    if match is None:
        return None
    functions = (declaration for declaration in module.prolog if isinstance(declaration, t.FunctionDecl))
    own = (function for function in functions if _is_from_source(function))
    return next((function.body for function in own if function.name.local == match[1]), None)


def _argument_of_call(covering: list[Stretch], _: Printed, __: t.Module, message: str) -> t.Node | None:
    match = _ARGUMENT.search(message)
    if match is None:
        return None
    number = _ORDINALS.index(match[1])
    for stretch in covering:
        call = stretch.node
        if isinstance(call, t.FunctionCall) and call.name.local == match[2] and number < len(call.args):
            return call.args[number]
    return None


def _cast_value(covering: list[Stretch], _: Printed, __: t.Module, message: str) -> t.Node | None:
    """The value of a property is cast to its type, which nobody wrote: what stands at the same place is meant."""
    for stretch in covering if "'cast as'" in message else ():
        call = stretch.node
        if isinstance(call, t.FunctionCall) and len(call.args) == 1 and call.span == call.args[0].span:
            return call.args[0]
    return None


def _quoted(covering: list[Stretch], printed: Printed, _: t.Module, message: str) -> t.Node | None:
    match = _QUOTED.search(message)
    said = None if match is None else "".join(match[1].split())
    texts = (("".join(printed.text[one.start : one.end].split()), one.node) for one in covering)
    return next((node for text, node in texts if text == said), None)


def _operator(covering: list[Stretch], _: Printed, __: t.Module, message: str) -> t.Node | None:
    for text, kinds in _OPERATORS:
        if text in message:
            return next((one.node for one in covering if isinstance(one.node, kinds)), None)
    return None


def narrowed(module: t.Module, error: SaxonError, saxon: Saxon) -> t.Node | None:
    """The smallest expression without which an error that has no place goes away."""
    tries = iter(range(_MOST_TRIES))

    def is_to_blame(node: t.Node) -> bool:
        if next(tries, None) is None:
            return False
        try:
            saxon.check(print_tree(without(module, node, unknown(node.span))).text)
        except SaxonError as other:
            return (other.code, other.message) != (error.code, error.message)
        return True

    path = list(_way_to_blame(module, is_to_blame))[::-1]
    around = [Stretch(0, 0, node) for node in path]
    nothing = Printed("", ())
    for find in (_argument_of_call, _operator):
        found = find(around, nothing, module, error.message)
        if found is not None:
            return found
    return next(iter(path), None)


def _way_to_blame(node: t.Node, is_to_blame: Callable[[t.Node], bool]) -> Iterator[t.Node]:
    """From the outermost expression that is to blame to the smallest."""
    for child in _nearest_expressions(node):
        if is_to_blame(child):
            yield child
            yield from _way_to_blame(child, is_to_blame)
            return


def _nearest_expressions(node: t.Node) -> Iterator[t.Expr]:
    """The expressions right below a node, passing over nodes that are none."""
    for child in t.children(node):
        if not isinstance(child, t.Expr):
            yield from _nearest_expressions(child)
        elif _is_from_source(child) and not is_unknown(child):
            yield child
