"""The printer that all constructs share: its output, its indentation, and where each node came to stand."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from demaq.xquery.tree import Expr, Node

# How tightly a construct binds. What binds less tightly than its place demands is put into parentheses.
SEQUENCE, SINGLE, OR, AND, COMPARISON, CONCAT, RANGE, ADDITIVE, MULTIPLICATIVE = range(9)
UNION, INTERSECT, ARROW, UNARY, MAP, PATH, STEP, POSTFIX, PRIMARY = range(9, 18)

Print = Callable[["Printer", Any], None]


@dataclass(frozen=True, slots=True)
class Rule:
    """How to print a class of nodes, and how tightly it binds, which may depend on the node."""

    print: Print
    level: Callable[[Any], int] | int = PRIMARY


@dataclass(frozen=True, slots=True)
class Stretch:
    """The part of the printed text that a node gave."""

    start: int
    end: int
    node: Node


class Printer:
    def __init__(self, rules: Mapping[type, Rule]) -> None:
        self._rules = rules
        self._pieces: list[str] = []
        self._length = 0
        self._indent = 0
        self.stretches: list[Stretch] = []

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def write(self, *pieces: str) -> None:
        for piece in pieces:
            self._pieces.append(piece)
            self._length += len(piece)

    def line(self) -> None:
        """Start a new line."""
        self.write("\n", "  " * self._indent)

    @contextmanager
    def indented(self) -> Iterator[None]:
        self._indent += 1
        yield
        self._indent -= 1

    def node(self, node: Node) -> None:
        start = self._length
        self._rules[type(node)].print(self, node)
        self.stretches.append(Stretch(start, self._length, node))

    def sub(self, expr: Expr, least: int) -> None:
        """An expression in a place where only what binds at least this tightly may stand bare."""
        if self.level(expr) >= least:
            self.node(expr)
        else:
            self.write("(")
            self.node(expr)
            self.write(")")

    def level(self, expr: Node) -> int:
        level = self._rules[type(expr)].level
        return level if isinstance(level, int) else level(expr)

    def single(self, expr: Expr) -> None:
        self.sub(expr, SINGLE)

    def list(self, nodes: Iterable[Node], separator: str = ", ") -> None:
        """Nodes with commas between them; each expression is one that commas do not split."""
        for number, node in enumerate(nodes):
            if number:
                self.write(separator)
            if isinstance(node, Expr):
                self.single(node)
            else:
                self.node(node)

    def braced(self, body: Expr | None) -> None:
        """`{ body }`"""
        if body is None:
            self.write("{ }")
            return
        self.write("{ ")
        self.node(body)
        self.write(" }")


def quoted(text: str) -> str:
    """A string literal."""
    escaped = text.replace("&", "&amp;").replace('"', '""').replace("\r", "&#xD;")
    return f'"{escaped}"'
