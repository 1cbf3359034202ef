"""Modules and their prologs."""

from dataclasses import dataclass

from demaq.xquery.tree.basic import Expr, Name, Node
from demaq.xquery.tree.control import Annotation
from demaq.xquery.tree.functions import Param
from demaq.xquery.tree.types import ItemType, SequenceType


@dataclass(frozen=True, slots=True)
class Declaration(Node):
    """One statement of a prolog."""


@dataclass(frozen=True, slots=True)
class NamespaceDecl(Declaration):
    prefix: str
    uri: str


@dataclass(frozen=True, slots=True)
class DefaultNamespaceDecl(Declaration):
    """`kind` is `element` or `function`."""

    kind: str
    uri: str


@dataclass(frozen=True, slots=True)
class Setter(Declaration):
    """`declare boundary-space preserve;` and its like: `feature` as written, and its value.

    Decimal formats carry their properties in `properties`, and their name, if any, in `format_name`.
    """

    feature: str
    value: str
    format_name: Name | None = None
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ImportDecl(Declaration):
    """`kind` is `module` or `schema`; a schema may be the `default element namespace`."""

    kind: str
    prefix: str | None
    uri: str
    locations: tuple[str, ...] = ()
    default_element: bool = False


@dataclass(frozen=True, slots=True)
class ContextItemDecl(Declaration):
    type: ItemType | None
    value: Expr | None
    external: bool


@dataclass(frozen=True, slots=True)
class VarDecl(Declaration):
    annotations: tuple[Annotation, ...]
    name: Name
    type: SequenceType | None
    value: Expr | None
    external: bool


@dataclass(frozen=True, slots=True)
class FunctionDecl(Declaration):
    annotations: tuple[Annotation, ...]
    name: Name
    params: tuple[Param, ...]
    result: SequenceType | None
    body: Expr | None
    external: bool


@dataclass(frozen=True, slots=True)
class OptionDecl(Declaration):
    name: Name
    value: str


@dataclass(frozen=True, slots=True)
class VersionDecl(Node):
    version: str | None
    encoding: str | None


@dataclass(frozen=True, slots=True)
class LibraryDecl(Node):
    """`module namespace p = "uri";`"""

    prefix: str
    uri: str


@dataclass(frozen=True, slots=True)
class Module(Node):
    """A main module has a body, a library module a `library` declaration."""

    version: VersionDecl | None
    library: LibraryDecl | None
    prolog: tuple[Declaration, ...]
    body: Expr | None
