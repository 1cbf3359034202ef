"""Connected parts of a graph; each is laid out on its own."""

from dataclasses import dataclass

from demaq.drawing.graph import Edge, Graph, Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Nodes by number, the arcs between two different ones, and the loops at one."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    arcs: tuple[tuple[int, int], ...]  # one per edge: the numbers of its nodes
    loops: tuple[tuple[int, Edge], ...]


def parts(graph: Graph) -> tuple[Part, ...]:
    """The connected parts, in the order of their first nodes."""
    members = _members(graph)
    number = {node.id: at for nodes in members for at, node in enumerate(nodes)}
    home = {node.id: part for part, nodes in enumerate(members) for node in nodes}
    edges: list[list[Edge]] = [[] for _ in members]
    for edge in graph.edges:
        edges[home[edge.source]].append(edge)
    return tuple(_part(nodes, mine, number) for nodes, mine in zip(members, edges, strict=True))


def _part(nodes: list[Node], edges: list[Edge], number: dict[str, int]) -> Part:
    straight = tuple(edge for edge in edges if edge.source != edge.target)
    return Part(
        nodes=tuple(nodes),
        edges=straight,
        arcs=tuple((number[edge.source], number[edge.target]) for edge in straight),
        loops=tuple((number[edge.source], edge) for edge in edges if edge.source == edge.target),
    )


def _members(graph: Graph) -> list[list[Node]]:
    leader = {node.id: node.id for node in graph.nodes}
    for edge in graph.edges:
        leader[_find(leader, edge.source)] = _find(leader, edge.target)
    groups: dict[str, list[Node]] = {}
    for node in graph.nodes:
        groups.setdefault(_find(leader, node.id), []).append(node)
    return list(groups.values())


def _find(leader: dict[str, str], id: str) -> str:
    while leader[id] != id:
        leader[id] = leader[leader[id]]
        id = leader[id]
    return id
