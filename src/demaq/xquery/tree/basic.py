"""The roots of the tree's classes, names, literals, and what is simplest."""

from dataclasses import dataclass, field

from demaq.diagnostics import Span

_IN_BRACES = str.maketrans({"&": "&amp;", "{": "&#x7B;", "}": "&#x7D;"})
"""How a namespace is written in `Q{…}`."""


@dataclass(frozen=True, slots=True)
class Node:
    """Anything in a tree. Where it stands does not count when trees are compared."""

    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Expr(Node):
    """Anything that has a value."""


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A name as written: `local`, `prefix:local` or `Q{uri}local`. A wildcard has `*` for a part.

    Once resolved (`demaq.xquery.analysis.resolve`) it has its namespace in `uri` beside its prefix, which is
    `""` where none was written.
    """

    local: str
    prefix: str | None = None
    uri: str | None = None

    def __str__(self) -> str:
        if self.prefix is None and self.uri is not None:
            return f"Q{{{self.uri.translate(_IN_BRACES)}}}{self.local}"
        return f"{self.prefix}:{self.local}" if self.prefix else self.local

    @property
    def expanded(self) -> str:
        """The resolved name: `Q{uri}local`, or `local` in no namespace."""
        return f"Q{{{self.uri}}}{self.local}" if self.uri else self.local


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """A value written down."""


@dataclass(frozen=True, slots=True)
class Number(Literal):
    """A numeric literal as written: `1` is an integer, `1.0` a decimal, `1e0` a double."""

    text: str


@dataclass(frozen=True, slots=True)
class String(Literal):
    """A string literal, its references and doubled quotes resolved."""

    value: str


@dataclass(frozen=True, slots=True)
class VarRef(Expr):
    name: Name


@dataclass(frozen=True, slots=True)
class ContextItem(Expr):
    """The dot."""


@dataclass(frozen=True, slots=True)
class Sequence(Expr):
    """Items between commas; `()` has none. Never exactly one."""

    items: tuple[Expr, ...]
