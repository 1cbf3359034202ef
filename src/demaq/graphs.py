"""Directed graphs: what depends on itself, and in which order the rest stands."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

N = TypeVar("N", bound=Hashable)


def components(nodes: Iterable[N], following: Callable[[N], Sequence[N]]) -> list[tuple[N, ...]]:
    """The strongly connected components, each after all that it leads to (Tarjan's algorithm, without recursion).

    >>> graph = {1: [2], 2: [3], 3: [2, 4], 4: []}
    >>> components(graph, lambda node: graph[node])
    [(4,), (2, 3), (1,)]
    """
    search = _Search(following)
    return [component for node in nodes for component in search.components_from(node)]


def is_cyclic(component: Sequence[N], following: Callable[[N], Sequence[N]]) -> bool:
    return len(component) > 1 or component[0] in following(component[0])


def way(start: N, end: N, following: Callable[[N], Sequence[N]]) -> list[N]:
    """A shortest way of at least one step from a node to a node; they may be the same. Empty if there is none."""
    came_from: dict[N, N] = {}
    reached = [start]
    for node in reached:
        for other in following(node):
            if other == end:
                return [*_back(node, start, came_from), end]
            if other not in came_from and other != start:
                came_from[other] = node
                reached.append(other)
    return []


def _back(node: N, start: N, came_from: dict[N, N]) -> list[N]:
    found = [node]
    while found[-1] != start:
        found.append(came_from[found[-1]])
    return found[::-1]


class _Search(Generic[N]):
    def __init__(self, following: Callable[[N], Sequence[N]]) -> None:
        self._following = following
        self._index: dict[N, int] = {}
        self._low: dict[N, int] = {}
        self._stack: list[N] = []
        self._on_stack: set[N] = set()

    def components_from(self, root: N) -> Iterator[tuple[N, ...]]:
        if root in self._index:
            return
        work = [self._entered(root)]
        while work:
            node, remaining = work[-1]
            child = self._next_unseen(node, remaining)
            if child is not None:
                work.append(self._entered(child))
                continue
            work.pop()
            if work:
                parent = work[-1][0]
                self._low[parent] = min(self._low[parent], self._low[node])
            if self._low[node] == self._index[node]:
                yield self._popped(node)

    def _entered(self, node: N) -> tuple[N, Iterator[N]]:
        self._index[node] = self._low[node] = len(self._index)
        self._stack.append(node)
        self._on_stack.add(node)
        return node, iter(self._following(node))

    def _next_unseen(self, node: N, remaining: Iterator[N]) -> N | None:
        for other in remaining:
            if other not in self._index:
                return other
            if other in self._on_stack:
                self._low[node] = min(self._low[node], self._index[other])
        return None

    def _popped(self, root: N) -> tuple[N, ...]:
        """A component, in the order in which its nodes were reached."""
        place = self._stack.index(root)
        component = tuple(self._stack[place:])
        del self._stack[place:]
        self._on_stack.difference_update(component)
        return component
