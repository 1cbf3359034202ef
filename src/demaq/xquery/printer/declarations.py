"""How types, prologs and modules are printed."""

from demaq.xquery import tree as t
from demaq.xquery.parser.tokens import NCNAME
from demaq.xquery.printer.constructors import annotations, signature
from demaq.xquery.printer.core import Printer, Rule, quoted


def _sequence_type(p: Printer, node: t.SequenceType) -> None:
    if node.item is None:
        p.write("empty-sequence()")
        return
    # In `function() as xs:integer*` the star belongs to the result.
    wrapped = bool(node.occurrence) and isinstance(node.item, t.FunctionTest)
    p.write("(" if wrapped else "")
    p.node(node.item)
    p.write(")" if wrapped else "", node.occurrence)


def _single_type(p: Printer, node: t.SingleType) -> None:
    p.write(str(node.name), "?" if node.optional else "")


def _atomic_type(p: Printer, node: t.AtomicType) -> None:
    p.write(str(node.name))


def _kind_test(p: Printer, node: t.KindTest) -> None:
    p.write(node.kind, "(")
    if node.inner is not None:
        p.node(node.inner)
    if node.name is not None:
        name = str(node.name)
        plain = node.kind != "processing-instruction" or NCNAME.fullmatch(name)
        p.write(name if plain else quoted(name))
    if node.type is not None:
        p.write(", ", str(node.type), "?" if node.nillable else "")
    p.write(")")


def _function_test(p: Printer, node: t.FunctionTest) -> None:
    for note in node.annotations:
        p.node(note)
        p.write(" ")
    if node.params is None or node.result is None:
        p.write("function(*)")
        return
    p.write("function(")
    p.list(node.params)
    p.write(") as ")
    p.node(node.result)


def _map_test(p: Printer, node: t.MapTest) -> None:
    if node.key is None or node.value is None:
        p.write("map(*)")
        return
    p.write("map(")
    p.node(node.key)
    p.write(", ")
    p.node(node.value)
    p.write(")")


def _array_test(p: Printer, node: t.ArrayTest) -> None:
    p.write("array(")
    if node.member is None:
        p.write("*")
    else:
        p.node(node.member)
    p.write(")")


def _namespace(p: Printer, node: t.NamespaceDecl) -> None:
    p.write("declare namespace ", node.prefix, " = ", quoted(node.uri))


def _default_namespace(p: Printer, node: t.DefaultNamespaceDecl) -> None:
    p.write("declare default ", node.kind, " namespace ", quoted(node.uri))


def _setter(p: Printer, node: t.Setter) -> None:
    p.write("declare ", node.feature)
    if node.format_name is not None:
        p.write(" ", str(node.format_name))
    for key, value in node.properties:
        p.write(" ", key, " = ", quoted(value))
    if node.value or not node.feature.endswith("decimal-format"):
        as_string = node.feature in ("base-uri", "default collation")
        p.write(" ", quoted(node.value) if as_string else node.value)


def _import(p: Printer, node: t.ImportDecl) -> None:
    p.write("import ", node.kind, " ")
    if node.prefix is not None:
        p.write("namespace ", node.prefix, " = ")
    elif node.default_element:
        p.write("default element namespace ")
    p.write(quoted(node.uri))
    if node.locations:
        p.write(" at ", ", ".join(map(quoted, node.locations)))


def _value(p: Printer, value: t.Expr | None, external: bool) -> None:
    if external:
        p.write(" external")
    if value is not None:
        p.write(" := ")
        p.single(value)


def _context_item(p: Printer, node: t.ContextItemDecl) -> None:
    p.write("declare context item")
    if node.type is not None:
        p.write(" as ")
        p.node(node.type)
    _value(p, node.value, node.external)


def _variable(p: Printer, node: t.VarDecl) -> None:
    p.write("declare ")
    annotations(p, node.annotations)
    p.write("variable $", str(node.name))
    if node.type is not None:
        p.write(" as ")
        p.node(node.type)
    _value(p, node.value, node.external)


def _function(p: Printer, node: t.FunctionDecl) -> None:
    p.write("declare ")
    annotations(p, node.annotations)
    p.write("function ", str(node.name))
    signature(p, node.params, node.result)
    if node.external:
        p.write(" external")
    else:
        p.write(" ")
        p.braced(node.body)


def _option(p: Printer, node: t.OptionDecl) -> None:
    p.write("declare option ", str(node.name), " ", quoted(node.value))


def _version(p: Printer, node: t.VersionDecl) -> None:
    p.write("xquery")
    if node.version is not None:
        p.write(" version ", quoted(node.version))
    if node.encoding is not None:
        p.write(" encoding ", quoted(node.encoding))
    p.write(";")


def _library(p: Printer, node: t.LibraryDecl) -> None:
    p.write("module namespace ", node.prefix, " = ", quoted(node.uri), ";")


def _module(p: Printer, node: t.Module) -> None:
    for heading in (node.version, node.library):
        if heading is not None:
            p.node(heading)
            p.line()
    for declaration in node.prolog:
        p.node(declaration)
        p.write(";")
        p.line()
    if isinstance(node.body, t.Sequence) and node.body.items:
        p.list(node.body.items, ",\n")
    elif node.body is not None:
        p.node(node.body)


RULES = {
    t.SequenceType: Rule(_sequence_type),
    t.SingleType: Rule(_single_type),
    t.AtomicType: Rule(_atomic_type),
    t.KindTest: Rule(_kind_test),
    t.FunctionTest: Rule(_function_test),
    t.MapTest: Rule(_map_test),
    t.ArrayTest: Rule(_array_test),
    t.NamespaceDecl: Rule(_namespace),
    t.DefaultNamespaceDecl: Rule(_default_namespace),
    t.Setter: Rule(_setter),
    t.ImportDecl: Rule(_import),
    t.ContextItemDecl: Rule(_context_item),
    t.VarDecl: Rule(_variable),
    t.FunctionDecl: Rule(_function),
    t.OptionDecl: Rule(_option),
    t.VersionDecl: Rule(_version),
    t.LibraryDecl: Rule(_library),
    t.Module: Rule(_module),
}
