"""Going through trees, and making changed copies of them."""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, ClassVar, TypeVar

from demaq.xquery.tree.basic import Node

_N = TypeVar("_N", bound=Node)


_FIELDS: dict[type[Node], tuple[str, ...]] = {}


def _field_names(kind: type[Node]) -> tuple[str, ...]:
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(field.name for field in fields(kind) if field.name != "span")
    return _FIELDS[kind]


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below, in the order of the text."""
    for name in _field_names(type(node)):
        value = getattr(node, name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            for item in value:
                if isinstance(item, Node):
                    yield item


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, in the order of the text."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(list(children(current))))


class Visitor:
    """Calls `visit_Path` for a `Path`, and so on; `generic_visit` goes on below."""

    _methods: ClassVar[dict[tuple[type, type], str | None]] = {}

    def visit(self, node: Node) -> Any:
        key = (type(self), type(node))
        if key not in self._methods:
            name = f"visit_{type(node).__name__}"
            self._methods[key] = name if hasattr(self, name) else None
        method = self._methods[key]
        return self.generic_visit(node) if method is None else getattr(self, method)(node)

    def generic_visit(self, node: Node) -> Any:
        for child in children(node):
            self.visit(child)
        return None


class Transformer(Visitor):
    """A visitor whose methods return what takes the node's place; what does not change is shared."""

    def generic_visit(self, node: Node) -> Node:
        return rebuild(node, self.visit)


def rebuild(node: _N, change: Callable[[Node], Node]) -> _N:
    """The node with each child changed; the very same node when no child did."""
    changes: dict[str, Any] = {}
    for name in _field_names(type(node)):
        before = getattr(node, name)
        after = _changed(before, change)
        if after is not before:
            changes[name] = after
    return replace(node, **changes) if changes else node


def _changed(value: Any, change: Callable[[Node], Node]) -> Any:
    if isinstance(value, Node):
        return change(value)
    if isinstance(value, tuple):
        items = tuple(change(item) if isinstance(item, Node) else item for item in value)
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return value
