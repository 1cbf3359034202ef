"""How constructors, functions, maps, arrays and calls are printed."""

from demaq.xquery import tree as t
from demaq.xquery.printer.core import ARROW, POSTFIX, Printer, Rule


def _element(p: Printer, node: t.DirectElement) -> None:
    p.write("<", str(node.name))
    for attribute in node.attributes:
        p.write(" ")
        p.node(attribute)
    if not node.content:
        p.write("/>")
        return
    p.write(">")
    for part in node.content:
        p.node(part)
    p.write("</", str(node.name), ">")


def _attribute(p: Printer, node: t.DirectAttribute) -> None:
    p.write(str(node.name), '="')
    for part in node.value:
        p.node(part)
    p.write('"')


def _text(p: Printer, node: t.DirectText) -> None:
    p.write(node.raw)


def _cdata(p: Printer, node: t.CData) -> None:
    p.write("<![CDATA[", node.text, "]]>")


def _enclosed(p: Printer, node: t.Enclosed) -> None:
    # A space on both sides: `{{` would be text, and so would `}}`. Saxon 13.1 fails on two `{}` in a row.
    if node.body is None:
        p.write("{ () }")
    else:
        p.braced(node.body)


def _comment(p: Printer, node: t.DirectComment) -> None:
    p.write("<!--", node.text, "-->")


def _instruction(p: Printer, node: t.DirectPI) -> None:
    p.write("<?", node.target, " " if node.data else "", node.data, "?>")


def _computed(p: Printer, node: t.Computed) -> None:
    p.write(node.kind, " ")
    if isinstance(node.name, t.Name):
        p.write(str(node.name), " ")
    elif node.name is not None:
        p.braced(node.name)
        p.write(" ")
    p.braced(node.content)


def _string_constructor(p: Printer, node: t.StringConstructor) -> None:
    p.write("``[")
    for part in node.parts:
        p.node(part)
    p.write("]``")


def _string_text(p: Printer, node: t.StringText) -> None:
    p.write(node.text)


def _interpolation(p: Printer, node: t.Interpolation) -> None:
    p.write("`{ ")
    if node.body is not None:
        p.node(node.body)
    p.write(" }`")


def _arguments(p: Printer, args: tuple[t.Expr, ...]) -> None:
    p.write("(")
    p.list(args)
    p.write(")")


def _placeholder(p: Printer, node: t.Placeholder) -> None:  # noqa: ARG001
    p.write("?")


def _call(p: Printer, node: t.FunctionCall) -> None:
    p.write(str(node.name))
    _arguments(p, node.args)


def _dynamic_call(p: Printer, node: t.DynamicCall) -> None:
    p.sub(node.function, POSTFIX)
    _arguments(p, node.args)


def _reference(p: Printer, node: t.NamedFunctionRef) -> None:
    p.write(f"{node.name}#{node.arity}")


def _param(p: Printer, node: t.Param) -> None:
    p.write("$", str(node.name))
    if node.type is not None:
        p.write(" as ")
        p.node(node.type)


_MANY = 3  # parameters that stand on one line


def signature(p: Printer, params: tuple[t.Param, ...], result: t.SequenceType | None) -> None:
    p.write("(")
    if len(params) > _MANY:
        with p.indented():
            for number, param in enumerate(params):
                p.write("," if number else "")
                p.line()
                p.node(param)
        p.line()
    else:
        p.list(params)
    p.write(")")
    if result is not None:
        p.write(" as ")
        p.node(result)


def annotations(p: Printer, notes: tuple[t.Annotation, ...]) -> None:
    for note in notes:
        p.node(note)
        p.write(" ")


def _annotation(p: Printer, node: t.Annotation) -> None:
    p.write("%", str(node.name))
    if node.values:
        _arguments(p, node.values)


def _inline_function(p: Printer, node: t.InlineFunction) -> None:
    annotations(p, node.annotations)
    p.write("function")
    signature(p, node.params, node.result)
    p.write(" ")
    if len(node.params) > _MANY and node.body is not None:
        p.write("{")
        with p.indented():
            p.line()
            p.node(node.body)
        p.line()
        p.write("}")
    else:
        p.braced(node.body)


def _arrow(p: Printer, node: t.Arrow) -> None:
    p.sub(node.operand, ARROW)
    p.write(" => ")
    if isinstance(node.function, t.Name | t.VarRef):
        p.node(node.function)
    else:
        p.write("(")
        p.node(node.function)
        p.write(")")
    _arguments(p, node.args)


def _key(p: Printer, key: t.LookupKey) -> None:
    p.write("?")
    if key is None:
        p.write("*")
    elif isinstance(key, t.Name) or (isinstance(key, t.Number) and key.text.isdigit()):
        p.node(key)
    else:
        p.write("(")
        if key != t.Sequence(key.span, ()):
            p.node(key)
        p.write(")")


def _lookup(p: Printer, node: t.Lookup) -> None:
    p.sub(node.base, POSTFIX)
    _key(p, node.key)


def _unary_lookup(p: Printer, node: t.UnaryLookup) -> None:
    _key(p, node.key)


def _map(p: Printer, node: t.MapConstructor) -> None:
    p.write("map { ")
    p.list(node.entries)
    p.write(" }" if node.entries else "}")


def _map_entry(p: Printer, node: t.MapEntry) -> None:
    p.single(node.key)
    p.write(" : ")
    p.single(node.value)


def _array(p: Printer, node: t.ArrayConstructor) -> None:
    if node.curly:
        p.write("array ")
        p.braced(node.members[0] if node.members else None)
    else:
        p.write("[")
        p.list(node.members)
        p.write("]")


RULES = {
    t.DirectElement: Rule(_element),
    t.DirectAttribute: Rule(_attribute),
    t.DirectText: Rule(_text),
    t.CData: Rule(_cdata),
    t.Enclosed: Rule(_enclosed),
    t.DirectComment: Rule(_comment),
    t.DirectPI: Rule(_instruction),
    t.Computed: Rule(_computed),
    t.StringConstructor: Rule(_string_constructor),
    t.StringText: Rule(_string_text),
    t.Interpolation: Rule(_interpolation),
    t.Placeholder: Rule(_placeholder),
    t.FunctionCall: Rule(_call),
    t.DynamicCall: Rule(_dynamic_call, POSTFIX),
    t.NamedFunctionRef: Rule(_reference),
    t.Param: Rule(_param),
    t.Annotation: Rule(_annotation),
    t.InlineFunction: Rule(_inline_function),
    t.Arrow: Rule(_arrow, ARROW),
    t.Lookup: Rule(_lookup, POSTFIX),
    t.UnaryLookup: Rule(_unary_lookup),
    t.MapConstructor: Rule(_map),
    t.MapEntry: Rule(_map_entry),
    t.ArrayConstructor: Rule(_array),
}
