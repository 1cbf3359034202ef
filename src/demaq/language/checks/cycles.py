"""Cycles in a directed graph."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

N = TypeVar("N", bound=Hashable)


def cyclic_components(nodes: Iterable[N], following: Callable[[N], Sequence[N]]) -> Iterator[list[N]]:
    """The strongly connected components that have a cycle (Tarjan's algorithm, without recursion).

    >>> graph = {1: [2], 2: [3], 3: [2, 4], 4: []}
    >>> [sorted(component) for component in cyclic_components(graph, lambda node: graph[node])]
    [[2, 3]]
    """
    search = _Search(following)
    for node in nodes:
        yield from search.components_from(node)


class _Search(Generic[N]):
    def __init__(self, following: Callable[[N], Sequence[N]]) -> None:
        self._following = following
        self._index: dict[N, int] = {}
        self._low: dict[N, int] = {}
        self._stack: list[N] = []
        self._on_stack: set[N] = set()

    def components_from(self, root: N) -> Iterator[list[N]]:
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
                component = self._popped(node)
                if len(component) > 1 or node in self._following(node):
                    yield component

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

    def _popped(self, root: N) -> list[N]:
        component = []
        while True:
            node = self._stack.pop()
            self._on_stack.discard(node)
            component.append(node)
            if node == root:
                return component


def shortest_cycle(start: N, following: Callable[[N], Sequence[N]]) -> list[N]:
    """The nodes of a shortest way from a node back to it, from that node on."""
    came_from: dict[N, N] = {}
    reached = [start]
    for node in reached:
        for other in following(node):
            if other == start:
                return _way(node, start, came_from)
            if other not in came_from:
                came_from[other] = node
                reached.append(other)
    return [start]


def _way(node: N, start: N, came_from: dict[N, N]) -> list[N]:
    way = [node]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return way[::-1]
