"""How literals, names, operators and paths are printed."""

from demaq.xquery import tree as t
from demaq.xquery.printer.core import (
    ADDITIVE,
    AND,
    ARROW,
    COMPARISON,
    CONCAT,
    INTERSECT,
    MAP,
    MULTIPLICATIVE,
    OR,
    PATH,
    POSTFIX,
    PRIMARY,
    RANGE,
    SEQUENCE,
    SINGLE,
    STEP,
    UNARY,
    UNION,
    Printer,
    Rule,
    quoted,
)


def _name(p: Printer, node: t.Name) -> None:
    p.write(str(node))


def _number(p: Printer, node: t.Number) -> None:
    p.write(node.text)


def _string(p: Printer, node: t.String) -> None:
    p.write(quoted(node.value))


def _variable(p: Printer, node: t.VarRef) -> None:
    p.write("$", str(node.name))


def _context_item(p: Printer, node: t.ContextItem) -> None:  # noqa: ARG001
    p.write(".")


def _sequence(p: Printer, node: t.Sequence) -> None:
    if not node.items:
        p.write("()")
    elif sum(1 for _ in t.walk(node)) <= _SMALL:
        p.list(node.items)
    else:
        with p.indented():
            for number, item in enumerate(node.items):
                p.write("," if number else "")
                p.line()
                p.single(item)
        p.line()


_SMALL = 16  # nodes of a sequence that stands on one line


def _sequence_level(node: t.Sequence) -> int:
    return SEQUENCE if node.items else PRIMARY


_OPERATOR_LEVELS = {
    "or": OR,
    "and": AND,
    "+": ADDITIVE,
    "-": ADDITIVE,
    "*": MULTIPLICATIVE,
    "div": MULTIPLICATIVE,
    "idiv": MULTIPLICATIVE,
    "mod": MULTIPLICATIVE,
    "union": UNION,
    "intersect": INTERSECT,
    "except": INTERSECT,
}


def _operator_level(node: t.Logical | t.Arithmetic | t.SetOperation) -> int:
    return _OPERATOR_LEVELS[node.op]


def _logical(p: Printer, node: t.Logical) -> None:
    for number, operand in enumerate(node.operands):
        if number:
            p.write(f" {node.op} ")
        p.sub(operand, _operator_level(node) + 1)


def _left_to_right(p: Printer, node: t.Arithmetic | t.SetOperation) -> None:
    level = _operator_level(node)
    p.sub(node.left, level)
    p.write(f" {node.op} ")
    p.sub(node.right, level + 1)


def _comparison(p: Printer, node: t.Comparison) -> None:
    p.sub(node.left, COMPARISON + 1)
    p.write(f" {node.op} ")
    p.sub(node.right, COMPARISON + 1)


def _concat(p: Printer, node: t.Concat) -> None:
    p.sub(node.left, CONCAT)
    p.write(" || ")
    p.sub(node.right, CONCAT + 1)


def _range(p: Printer, node: t.Range) -> None:
    p.sub(node.left, RANGE + 1)
    p.write(" to ")
    p.sub(node.right, RANGE + 1)


def _instance(p: Printer, node: t.InstanceOf) -> None:
    _typed(p, node.operand, " instance of ", node.type)


def _treat(p: Printer, node: t.TreatAs) -> None:
    _typed(p, node.operand, " treat as ", node.type)


def _castable(p: Printer, node: t.Castable) -> None:
    _typed(p, node.operand, " castable as ", node.type)


def _cast(p: Printer, node: t.CastAs) -> None:
    _typed(p, node.operand, " cast as ", node.type)


def _typed(p: Printer, operand: t.Expr, words: str, type_: t.Node) -> None:
    p.sub(operand, ARROW)
    p.write(words)
    p.node(type_)


def _unary(p: Printer, node: t.Unary) -> None:
    p.write(node.op)
    if isinstance(node.operand, t.Unary):
        p.write(" ")
    p.sub(node.operand, UNARY)


def _simple_map(p: Printer, node: t.SimpleMap) -> None:
    p.sub(node.left, MAP)
    p.write(" ! ")
    # Saxon 13.1 reads `/a ! b`, but not `/a ! /b`.
    absolute = isinstance(node.right, t.Path) and node.right.leading
    p.sub(node.right, STEP if absolute else PATH)


def _path(p: Printer, node: t.Path) -> None:
    if not node.steps:
        p.write("(/)")
        return
    for separator, step in zip((node.leading, *node.separators), node.steps, strict=True):
        p.write(separator)
        p.sub(step, PRIMARY + 1 if separator and _needs_parentheses(step) else STEP)


def _needs_parentheses(step: t.Expr) -> bool:
    """Does it begin with an array, which after a slash looks like a predicate, or with what Saxon 13.1 refuses?"""
    if isinstance(step, t.Filter | t.Lookup):
        return _needs_parentheses(step.base)
    if isinstance(step, t.DynamicCall):
        return _needs_parentheses(step.function)
    if isinstance(step, t.ArrayConstructor):
        return not step.curly
    if isinstance(step, t.InlineFunction):
        return bool(step.annotations)
    return isinstance(step, t.DirectComment | t.DirectPI)


def _path_level(node: t.Path) -> int:
    return PATH if node.steps else PRIMARY


def _axis_step(p: Printer, node: t.AxisStep) -> None:
    if node.axis == "parent" and node.test == t.KindTest(node.span, "node"):
        p.write("..")
    else:
        p.write(_axis(node))
        p.node(node.test)
    for predicate in node.predicates:
        p.write("[")
        p.node(predicate)
        p.write("]")


def _axis(node: t.AxisStep) -> str:
    if node.axis == "attribute" and isinstance(node.test, t.NameTest):
        return "@"
    return "" if node.axis == "child" and not _needs_axis(node.test) else f"{node.axis}::"


def _needs_axis(test: t.NodeTest) -> bool:
    """Would a bare test be taken for something else than children?"""
    if isinstance(test, t.KindTest):
        return test.kind in ("attribute", "schema-attribute")
    return str(test.name) in ("for", "switch")  # Saxon 13.1 takes them for keywords if a word follows


def _name_test(p: Printer, node: t.NameTest) -> None:
    p.node(node.name)


def _filter(p: Printer, node: t.Filter) -> None:
    p.sub(node.base, POSTFIX)
    p.write("[")
    p.node(node.predicate)
    p.write("]")


# The targets of casts and tests may end in `?`, `*` or `+`, which an operator after them would be taken for:
# they bind as loosely as an operator may, and so stand in parentheses inside any other.
RULES = {
    t.Name: Rule(_name),
    t.Number: Rule(_number),
    t.String: Rule(_string),
    t.VarRef: Rule(_variable),
    t.ContextItem: Rule(_context_item),
    t.Sequence: Rule(_sequence, _sequence_level),
    t.Logical: Rule(_logical, _operator_level),
    t.Comparison: Rule(_comparison, COMPARISON),
    t.Concat: Rule(_concat, CONCAT),
    t.Range: Rule(_range, RANGE),
    t.Arithmetic: Rule(_left_to_right, _operator_level),
    t.SetOperation: Rule(_left_to_right, _operator_level),
    t.InstanceOf: Rule(_instance, SINGLE),
    t.TreatAs: Rule(_treat, SINGLE),
    t.Castable: Rule(_castable, SINGLE),
    t.CastAs: Rule(_cast, SINGLE),
    t.Unary: Rule(_unary, UNARY),
    t.SimpleMap: Rule(_simple_map, MAP),
    t.Path: Rule(_path, _path_level),
    t.AxisStep: Rule(_axis_step, STEP),
    t.NameTest: Rule(_name_test),
    t.Filter: Rule(_filter, POSTFIX),
}
