"""How FLWOR expressions, conditionals and their like are printed."""

from demaq.xquery import tree as t
from demaq.xquery.printer.core import SINGLE, UNARY, Printer, Rule, quoted


def _flwor(p: Printer, node: t.Flwor) -> None:
    for clause in node.clauses:
        p.node(clause)
        p.line()
    p.write("return ")
    with p.indented():
        p.single(node.result)


def _typed_variable(p: Printer, name: t.Name, type_: t.SequenceType | None) -> None:
    p.write("$", str(name))
    if type_ is not None:
        p.write(" as ")
        p.node(type_)


def _for(p: Printer, node: t.For) -> None:
    p.write("for ")
    _typed_variable(p, node.var, node.type)
    if node.allowing_empty:
        p.write(" allowing empty")
    if node.position is not None:
        p.write(" at $", str(node.position))
    p.write(" in ")
    with p.indented():
        p.single(node.source)


def _let(p: Printer, node: t.Let) -> None:
    p.write("let ")
    _typed_variable(p, node.var, node.type)
    p.write(" := ")
    with p.indented():
        p.single(node.value)


def _window(p: Printer, node: t.Window) -> None:
    p.write(f"for {node.kind} window ")
    _typed_variable(p, node.var, node.type)
    p.write(" in ")
    p.single(node.source)
    p.write(" start")
    p.node(node.start)
    if node.end is not None:
        p.write(" only end" if node.end.only else " end")
        p.node(node.end)


def _window_condition(p: Printer, node: t.WindowCondition) -> None:
    variables = (
        ("", node.current),
        ("at ", node.position),
        ("previous ", node.previous),
        ("next ", node.next),
    )
    for word, name in variables:
        if name is not None:
            p.write(f" {word}${name}")
    p.write(" when ")
    p.single(node.when)


def _where(p: Printer, node: t.Where) -> None:
    p.write("where ")
    p.single(node.condition)


def _group_by(p: Printer, node: t.GroupBy) -> None:
    p.write("group by ")
    p.list(node.specs)


def _group_spec(p: Printer, node: t.GroupSpec) -> None:
    _typed_variable(p, node.var, node.type)
    if node.value is not None:
        p.write(" := ")
        p.single(node.value)
    if node.collation is not None:
        p.write(" collation ", quoted(node.collation))


def _order_by(p: Printer, node: t.OrderBy) -> None:
    p.write("stable order by " if node.stable else "order by ")
    p.list(node.specs)


def _order_spec(p: Printer, node: t.OrderSpec) -> None:
    p.single(node.key)
    if node.direction:
        p.write(" ", node.direction)
    if node.empty:
        p.write(" empty ", node.empty)
    if node.collation is not None:
        p.write(" collation ", quoted(node.collation))


def _count(p: Printer, node: t.Count) -> None:
    p.write("count $", str(node.var))


def _quantified(p: Printer, node: t.Quantified) -> None:
    p.write(node.quantifier, " ")
    p.list(node.bindings)
    p.write(" satisfies ")
    p.single(node.condition)


def _quantified_binding(p: Printer, node: t.QuantifiedBinding) -> None:
    _typed_variable(p, node.var, node.type)
    p.write(" in ")
    p.single(node.source)


def _if(p: Printer, node: t.If) -> None:
    p.write("if (")
    p.node(node.condition)
    p.write(") then")
    small = _is_small(node.then) and (node.otherwise is None or _is_small(node.otherwise))
    with p.indented():
        p.write(" ") if small else p.line()
        # A bare `if` without `else` would take the `else` that follows.
        p.sub(node.then, SINGLE + 1 if _may_lack_else(node.then) else SINGLE)
    if node.otherwise is None:
        return
    p.write(" ") if small else p.line()
    p.write("else ")
    with p.indented():
        p.single(node.otherwise)


def _is_small(expr: t.Expr) -> bool:
    """Does it fit beside the `then` or `else` before it?"""
    return sum(1 for _ in t.walk(expr)) <= 4


def _may_lack_else(node: t.Node) -> bool:
    return any(isinstance(inner, t.If) and inner.otherwise is None for inner in t.walk(node))


def _switch(p: Printer, node: t.Switch) -> None:
    p.write("switch (")
    p.node(node.operand)
    p.write(")")
    with p.indented():
        for case in node.cases:
            p.line()
            p.node(case)
        p.line()
        p.write("default return ")
        p.single(node.default)


def _switch_case(p: Printer, node: t.SwitchCase) -> None:
    for value in node.values:
        p.write("case ")
        p.single(value)
        p.write(" ")
    p.write("return ")
    p.single(node.result)


def _typeswitch(p: Printer, node: t.TypeSwitch) -> None:
    p.write("typeswitch (")
    p.node(node.operand)
    p.write(")")
    with p.indented():
        for case in (*node.cases, node.default):
            p.line()
            p.node(case)


def _case(p: Printer, node: t.Case) -> None:
    p.write("case " if node.types else "default ")
    if node.var is not None:
        p.write(f"${node.var} ", "as " if node.types else "")
    p.list(node.types, " | ")
    p.write(" return " if node.types else "return ")
    p.single(node.result)


def _try(p: Printer, node: t.Try) -> None:
    p.write("try ")
    p.braced(node.body)
    for catch in node.catches:
        p.write(" ")
        p.node(catch)


def _catch(p: Printer, node: t.Catch) -> None:
    p.write("catch ", " | ".join(map(str, node.errors)), " ")
    p.braced(node.body)


def _validate(p: Printer, node: t.Validate) -> None:
    p.write("validate ")
    if node.mode:
        p.write(node.mode, " ")
    if node.type is not None:
        p.write("type ", str(node.type), " ")
    p.braced(node.body)


def _ordered(p: Printer, node: t.Ordered) -> None:
    p.write(node.mode, " ")
    p.braced(node.body)


def _extension(p: Printer, node: t.Extension) -> None:
    for pragma in node.pragmas:
        p.node(pragma)
        p.write(" ")
    p.braced(node.body)


def _pragma(p: Printer, node: t.Pragma) -> None:
    p.write("(# ", str(node.name), " " if node.content else "", node.content, " #)")


RULES = {
    t.Flwor: Rule(_flwor, SINGLE),
    t.For: Rule(_for),
    t.Let: Rule(_let),
    t.Window: Rule(_window),
    t.WindowCondition: Rule(_window_condition),
    t.Where: Rule(_where),
    t.GroupBy: Rule(_group_by),
    t.GroupSpec: Rule(_group_spec),
    t.OrderBy: Rule(_order_by),
    t.OrderSpec: Rule(_order_spec),
    t.Count: Rule(_count),
    t.Quantified: Rule(_quantified, SINGLE),
    t.QuantifiedBinding: Rule(_quantified_binding),
    t.If: Rule(_if, SINGLE),
    t.Switch: Rule(_switch, SINGLE),
    t.SwitchCase: Rule(_switch_case),
    t.TypeSwitch: Rule(_typeswitch, SINGLE),
    t.Case: Rule(_case),
    t.Try: Rule(_try, SINGLE),
    t.Catch: Rule(_catch),
    t.Validate: Rule(_validate, UNARY),
    t.Ordered: Rule(_ordered),
    t.Extension: Rule(_extension, UNARY),
    t.Pragma: Rule(_pragma),
}
