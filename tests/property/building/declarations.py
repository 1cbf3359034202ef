"""Prologs and modules."""

from demaq.xquery import tree as t
from property.building.core import AT, Build
from property.building.operators import param
from property.building.types import annotation, item_type, sequence_type

_SETTERS = (
    ("boundary-space", "preserve"),
    ("boundary-space", "strip"),
    ("construction", "preserve"),
    ("construction", "strip"),
    ("ordering", "ordered"),
    ("ordering", "unordered"),
    ("default order empty", "greatest"),
    ("default order empty", "least"),
    ("copy-namespaces", "preserve, inherit"),
    ("copy-namespaces", "no-preserve, no-inherit"),
    ("base-uri", 'http://e.org/"x"'),
    ("default collation", "urn:collation"),
)
_PROPERTIES = ("decimal-separator", "grouping-separator", "infinity", "NaN", "percent", "exponent-separator")


def module(b: Build) -> t.Module:
    version = b.maybe(version_declaration)
    prolog = (*b.many(first_declaration), *b.many(second_declaration))
    if b.pick(range(4)) == 3:
        return t.Module(AT, version, t.LibraryDecl(AT, b.local(), b.uri()), prolog, None)
    return t.Module(AT, version, None, prolog, b.expr())


def version_declaration(b: Build) -> t.VersionDecl:
    version = b.pick((None, "1.0", "3.0", "3.1"))
    return t.VersionDecl(AT, version, "utf-8" if version is None else b.pick((None, "UTF-8")))


def first_declaration(b: Build) -> t.Declaration:
    """What comes before variables, functions and options."""
    return b.pick((namespace, default_namespace, setter, decimal_format, import_))(b)


def second_declaration(b: Build) -> t.Declaration:
    return b.pick((variable, function, option, context_item))(b)


def namespace(b: Build) -> t.NamespaceDecl:
    return t.NamespaceDecl(AT, b.local(), b.uri())


def default_namespace(b: Build) -> t.DefaultNamespaceDecl:
    return t.DefaultNamespaceDecl(AT, b.pick(("element", "function")), b.uri())


def setter(b: Build) -> t.Setter:
    return t.Setter(AT, *b.pick(_SETTERS))


def decimal_format(b: Build) -> t.Setter:
    properties = b.many(lambda b: (b.pick(_PROPERTIES), b.string()), most=2)
    if b.flag():
        return t.Setter(AT, "default decimal-format", "", None, properties)
    return t.Setter(AT, "decimal-format", "", b.name(), properties)


def import_(b: Build) -> t.ImportDecl:
    kind = b.pick(("module", "schema"))
    default = kind == "schema" and b.flag()
    prefix = None if default else b.maybe(Build.local)
    return t.ImportDecl(AT, kind, prefix, b.uri(), b.many(Build.uri, most=2), default)


def context_item(b: Build) -> t.ContextItemDecl:
    external = b.flag()
    return t.ContextItemDecl(AT, b.maybe(item_type), b.maybe(Build.expr) if external else b.expr(), external)


def variable(b: Build) -> t.VarDecl:
    external = b.flag()
    value = b.maybe(Build.expr) if external else b.expr()
    return t.VarDecl(AT, b.many(annotation, most=2), b.variable(), b.maybe(sequence_type), value, external)


def function(b: Build) -> t.FunctionDecl:
    external = b.flag()
    body = None if external else b.maybe(Build.expr)
    notes, params, result = b.many(annotation, most=2), b.many(param), b.maybe(sequence_type)
    return t.FunctionDecl(AT, notes, b.function_name(), params, result, body, external)


def option(b: Build) -> t.OptionDecl:
    return t.OptionDecl(AT, b.name(), b.string())
