"""Direct, computed and string constructors."""

from dataclasses import dataclass

from demaq.xquery.tree.basic import Expr, Name, Node


@dataclass(frozen=True, slots=True)
class DirectText(Node):
    """Characters in an element or attribute as written, references and doubled braces included.

    In an attribute no bare `"` and no brace is left: they are written as references. (Saxon 13.1 refuses doubled braces
    there that do not pair.)
    """

    raw: str


@dataclass(frozen=True, slots=True)
class CData(Node):
    text: str


@dataclass(frozen=True, slots=True)
class Enclosed(Node):
    """`{…}` inside an element or attribute; `{}` and `{()}` are the same."""

    body: Expr | None


@dataclass(frozen=True, slots=True)
class DirectAttribute(Node):
    name: Name
    value: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class DirectElement(Expr):
    name: Name
    attributes: tuple[DirectAttribute, ...]
    content: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class DirectComment(Expr):
    text: str


@dataclass(frozen=True, slots=True)
class DirectPI(Expr):
    target: str
    data: str


@dataclass(frozen=True, slots=True)
class Computed(Expr):
    """`element NAME {…}` and the other kinds; `document`, `text` and `comment` have no name."""

    kind: str
    name: Name | Expr | None
    content: Expr | None


@dataclass(frozen=True, slots=True)
class StringText(Node):
    text: str


@dataclass(frozen=True, slots=True)
class Interpolation(Node):
    body: Expr | None


@dataclass(frozen=True, slots=True)
class StringConstructor(Expr):
    parts: tuple[Node, ...]
