"""Modules: version, imports, and the declarations of a prolog."""

from collections.abc import Callable

from demaq.xquery.errors import XQuerySyntaxError
from demaq.xquery.parser.annotations import annotations
from demaq.xquery.parser.core import Parser
from demaq.xquery.parser.functions import params
from demaq.xquery.parser.names import function_name
from demaq.xquery.parser.tokens import Kind, Token
from demaq.xquery.parser.types import type_declaration
from demaq.xquery.tree import (
    Annotation,
    ContextItemDecl,
    Declaration,
    DefaultNamespaceDecl,
    FunctionDecl,
    ImportDecl,
    LibraryDecl,
    Module,
    NamespaceDecl,
    OptionDecl,
    Setter,
    VarDecl,
    VersionDecl,
)

_FIRST = (NamespaceDecl, DefaultNamespaceDecl, Setter, ImportDecl)
"""What a prolog begins with; everything else may use it."""


def module(p: Parser) -> Module:
    start = p.peek().start
    version = _version(p)
    library = _library(p)
    declarations = prolog(p)
    if library is not None:
        _expect_end(p, "another declaration, or the end of the module")
        return Module(p.span(start), version, library, declarations, None)
    if p.at_end():
        p.fail_expected("an expression", help="a module that is no library ends with an expression")
    body = p.expr()
    _expect_end(p, "an operator, or the end of the query")
    return Module(p.span(start), version, None, declarations, body)


def _expect_end(p: Parser, what: str) -> None:
    if not p.at_end():
        p.fail_expected(what)


def _version(p: Parser) -> VersionDecl | None:
    if not (p.at("xquery") and p.peek(1).text in ("version", "encoding") and p.peek(2).kind is Kind.STRING):
        return None
    start = p.take().start
    version = encoding = None
    if p.accept("version"):
        token = p.peek()
        version = p.string()
        if version not in ("1.0", "3.0", "3.1"):
            raise XQuerySyntaxError(
                f"XQuery {version} is not supported",
                p.span_of(token),
                code="XQST0031",
                help="this reads XQuery 3.1 and older",
            )
    if p.accept("encoding"):
        encoding = p.string()
    p.expect(";")
    return VersionDecl(p.span(start), version, encoding)


def _library(p: Parser) -> LibraryDecl | None:
    if not p.at_words("module", "namespace"):
        return None
    start = p.take().start
    p.take()
    prefix = p.ncname("a prefix")
    p.expect("=")
    uri = p.string("a namespace URI in quotes")
    p.expect(";")
    return LibraryDecl(p.span(start), prefix, uri)


def prolog(p: Parser) -> tuple[Declaration, ...]:
    """All declarations, each with its semicolon."""
    found: list[Declaration] = []
    while begins_declaration(p):
        start = p.peek()
        found.append(declaration(p))
        if isinstance(found[-1], _FIRST) and not all(isinstance(earlier, _FIRST) for earlier in found[-2:]):
            p.fail("this must stand before variables, functions and options", start)
        p.expect(";", help="a declaration ends with `;`")
    return tuple(found)


def begins_declaration(p: Parser) -> bool:
    if p.at("import"):
        return p.peek(1).text in ("module", "schema")
    return p.at("declare") and (p.peek(1).text == "%" or p.peek(1).text in DECLARATIONS)


def declaration(p: Parser) -> Declaration:
    start = p.take()
    if start.text == "import":
        return _import(p, start)
    if p.at("%"):
        notes = annotations(p)
        if not p.at("function", "variable"):
            p.fail_expected("`function` or `variable` after the annotation")
        return (_function if p.at("function") else _variable)(p, start, notes)
    return DECLARATIONS[p.peek().text](p, start)


def _import(p: Parser, start: Token) -> ImportDecl:
    kind = p.take().text
    prefix = None
    default_element = False
    if p.accept("namespace"):
        prefix = p.ncname("a prefix")
        p.expect("=")
    elif kind == "schema" and p.at_words("default", "element", "namespace"):
        p.expect_words("default", "element", "namespace")
        default_element = True
    uri = p.string("a namespace URI in quotes")
    locations = []
    if p.accept("at"):
        locations.append(p.string())
        while p.accept(","):
            locations.append(p.string())
    return ImportDecl(p.span(start.start), kind, prefix, uri, tuple(locations), default_element)


def _namespace(p: Parser, start: Token) -> Declaration:
    p.take()
    prefix = p.ncname("a prefix")
    p.expect("=")
    uri = p.string("a namespace URI in quotes")
    return NamespaceDecl(p.span(start.start), prefix, uri)


def _default(p: Parser, start: Token) -> Declaration:
    p.take()
    if p.at("element", "function"):
        kind = p.take().text
        p.expect("namespace")
        uri = p.string("a namespace URI in quotes")
        return DefaultNamespaceDecl(p.span(start.start), kind, uri)
    if p.accept("collation"):
        uri = p.string("a collation URI in quotes")
        return Setter(p.span(start.start), "default collation", uri)
    if p.accept("order"):
        p.expect("empty")
        return Setter(p.span(start.start), "default order empty", _one_of(p, "greatest", "least"))
    if p.accept("decimal-format"):
        properties = _format_properties(p)
        return Setter(p.span(start.start), "default decimal-format", "", None, properties)
    return p.fail_expected("`element`, `function`, `collation`, `order` or `decimal-format`")


def _one_of(p: Parser, *words: str) -> str:
    if not p.at(*words):
        p.fail_expected(" or ".join(f"`{word}`" for word in words))
    return p.take().text


def _keyword_setter(*words: str) -> Callable[[Parser, Token], Declaration]:
    def setter(p: Parser, start: Token) -> Declaration:
        feature = p.take().text
        value = _one_of(p, *words)
        return Setter(p.span(start.start), feature, value)

    return setter


def _base_uri(p: Parser, start: Token) -> Declaration:
    p.take()
    uri = p.string("a URI in quotes")
    return Setter(p.span(start.start), "base-uri", uri)


def _copy_namespaces(p: Parser, start: Token) -> Declaration:
    p.take()
    first = _one_of(p, "preserve", "no-preserve")
    p.expect(",")
    second = _one_of(p, "inherit", "no-inherit")
    return Setter(p.span(start.start), "copy-namespaces", f"{first}, {second}")


_FORMAT_PROPERTIES = (
    "decimal-separator grouping-separator infinity minus-sign NaN percent per-mille zero-digit digit"
    " pattern-separator exponent-separator".split()
)


def _decimal_format(p: Parser, start: Token) -> Declaration:
    p.take()
    name = p.name("the name of the decimal format")
    properties = _format_properties(p)
    return Setter(p.span(start.start), "decimal-format", "", name, properties)


def _format_properties(p: Parser) -> tuple[tuple[str, str], ...]:
    found = []
    while p.at(*_FORMAT_PROPERTIES):
        key = p.take().text
        p.expect("=")
        found.append((key, p.string()))
    return tuple(found)


def _context(p: Parser, start: Token) -> Declaration:
    p.take()
    p.expect("item")
    declared = p.grammar.item_type(p) if p.accept("as") else None
    external = p.accept("external") is not None
    value = None
    if not external:
        p.expect(":=")
        value = p.expr_single()
    elif p.accept(":="):
        value = p.expr_single()
    return ContextItemDecl(p.span(start.start), declared, value, external)


def _variable(p: Parser, start: Token, notes: tuple[Annotation, ...] = ()) -> Declaration:
    p.take()
    name = p.variable()
    declared = type_declaration(p)
    external = p.accept("external") is not None
    value = None
    if not external:
        p.expect(":=")
        value = p.expr_single()
    elif p.accept(":="):
        value = p.expr_single()
    return VarDecl(p.span(start.start), notes, name, declared, value, external)


def _function(p: Parser, start: Token, notes: tuple[Annotation, ...] = ()) -> Declaration:
    p.take()
    name = function_name(p, "the name of the function")
    parameters = params(p)
    result = type_declaration(p)
    external = p.accept("external") is not None
    body = None if external else p.enclosed()
    return FunctionDecl(p.span(start.start), notes, name, parameters, result, body, external)


def _option(p: Parser, start: Token) -> Declaration:
    p.take()
    name = p.name("the name of the option")
    value = p.string()
    return OptionDecl(p.span(start.start), name, value)


DECLARATIONS: dict[str, Callable[[Parser, Token], Declaration]] = {
    "namespace": _namespace,
    "default": _default,
    "boundary-space": _keyword_setter("preserve", "strip"),
    "construction": _keyword_setter("preserve", "strip"),
    "ordering": _keyword_setter("ordered", "unordered"),
    "base-uri": _base_uri,
    "copy-namespaces": _copy_namespaces,
    "decimal-format": _decimal_format,
    "context": _context,
    "variable": _variable,
    "function": _function,
    "option": _option,
}
