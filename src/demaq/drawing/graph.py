"""What a picture shows: nodes, edges, and how each of them looks."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum


class Shape(Enum):
    """The silhouette of a node."""

    BOX = "box"
    ROUNDED = "rounded"
    CYLINDER = "cylinder"  # a pipe lying on its side: a message channel
    INLET = "inlet"  # a tag whose tip points into the system
    OUTLET = "outlet"  # a notched tag whose tip points out of it
    CLOCK = "clock"  # a box with a small clock
    STACK = "stack"  # a pile of sheets
    HEXAGON = "hexagon"
    PAGE = "page"  # a sheet with a dog-ear: a document

    # Boxes with a small icon at their left, one for each of the enterprise integration patterns that pipelines have.
    ENDPOINT = "endpoint"  # where messages enter and leave
    MESSAGE_FILTER = "message-filter"
    CONTENT_FILTER = "content-filter"
    TRANSLATOR = "translator"
    ENRICHER = "enricher"
    ROUTER = "router"  # content-based
    MULTICAST = "multicast"
    JOIN_ROUTER = "join-router"
    AGGREGATOR = "aggregator"
    SPLITTER = "splitter"


class Tone(Enum):
    """The colour of a node."""

    NEUTRAL = "neutral"
    ACCENT = "accent"
    WARM = "warm"
    COOL = "cool"
    DANGER = "danger"
    MUTED = "muted"


class Rank(Enum):
    """Where a node wants to stand in the flow. An edge that is on no cycle goes before: it still leads to the right."""

    ANY = "any"
    FIRST = "first"  # at the left, where reading begins
    LAST = "last"  # at the right, unless the picture is the worse for it


class Line(Enum):
    """The stroke of an edge."""

    SOLID = "solid"
    DASHED = "dashed"
    DOTTED = "dotted"
    DANGER = "danger"  # red and dashed, but thin
    MUTED = "muted"  # solid, but in the background


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A labelled shape; `note` is a second, smaller line."""

    id: str
    label: str
    shape: Shape = Shape.BOX
    tone: Tone = Tone.NEUTRAL
    note: str = ""
    tooltip: str = ""
    rank: Rank = Rank.ANY


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """An arrow between two nodes, named by their ids; the two may be the same node."""

    source: str
    target: str
    line: Line = Line.SOLID
    label: str = ""
    tooltip: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """A titled picture's content. Node ids are unique and edges name existing nodes, else `ValueError`."""

    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    legend: tuple[tuple[Line, str], ...] = ()

    def __post_init__(self) -> None:
        known: dict[str, Node] = {}
        for node in self.nodes:
            if node.id in known:
                raise ValueError(f"two nodes have the id {node.id!r}; give each node an id of its own")
            known[node.id] = node
        for edge in self.edges:
            for end in (edge.source, edge.target):
                if end not in known:
                    raise ValueError(_unknown(end, edge, known))


def _unknown(end: str, edge: Edge, known: Iterable[str]) -> str:
    nearest = get_close_matches(end, list(known), n=1)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    return f"the edge {edge.source!r} -> {edge.target!r} names {end!r}, which is not a node's id{hint}"
