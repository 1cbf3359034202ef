"""Operators, paths, calls, maps and arrays."""

from demaq.xquery import tree as t
from demaq.xquery.parser.paths import AXES
from property.building.core import AT, Build, Builder, context_item, name_step, number, string, variable_reference
from property.building.types import annotation, kind_test, sequence_type, single_type

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=", "eq", "ne", "lt", "le", "gt", "ge", "is", "<<", ">>")


def sequence(b: Build) -> t.Sequence:
    return t.Sequence(AT, tuple(b.expr() for _ in range(b.pick((0, 2, 3)))))


def logical(b: Build) -> t.Logical:
    return t.Logical(AT, b.pick(("or", "and")), b.many(Build.expr, 2))


def comparison(b: Build) -> t.Comparison:
    return t.Comparison(AT, b.pick(COMPARISONS), b.expr(), b.expr())


def concat(b: Build) -> t.Concat:
    return t.Concat(AT, b.expr(), b.expr())


def range_(b: Build) -> t.Range:
    return t.Range(AT, b.expr(), b.expr())


def arithmetic(b: Build) -> t.Arithmetic:
    return t.Arithmetic(AT, b.pick(("+", "-", "*", "div", "idiv", "mod")), b.expr(), b.expr())


def set_operation(b: Build) -> t.SetOperation:
    return t.SetOperation(AT, b.pick(("union", "intersect", "except")), b.expr(), b.expr())


def instance_of(b: Build) -> t.InstanceOf:
    return t.InstanceOf(AT, b.expr(), sequence_type(b))


def treat_as(b: Build) -> t.TreatAs:
    return t.TreatAs(AT, b.expr(), sequence_type(b))


def castable(b: Build) -> t.Castable:
    return t.Castable(AT, b.expr(), single_type(b))


def cast_as(b: Build) -> t.CastAs:
    return t.CastAs(AT, b.expr(), single_type(b))


def unary(b: Build) -> t.Unary:
    return t.Unary(AT, b.pick("-+"), b.expr())


def simple_map(b: Build) -> t.SimpleMap:
    return t.SimpleMap(AT, b.expr(), b.expr())


# Paths


def axis_step(b: Build) -> t.AxisStep:
    if b.pick(range(8)) == 7:
        return t.AxisStep(AT, "parent", t.KindTest(AT, "node"), b.many(Build.expr, most=1))
    return t.AxisStep(AT, b.pick(sorted(AXES)), node_test(b), b.many(Build.expr, most=2))


def node_test(b: Build) -> t.NodeTest:
    form = b.pick(("name", "wildcard", "kind"))
    if form == "kind":
        return kind_test(b)
    return t.NameTest(AT, b.name() if form == "name" else b.wildcard())


def path(b: Build) -> t.Path:
    leading = b.pick(("", "/", "//"))
    steps = tuple(b.expr() for _ in range(b.pick(range(0 if leading == "/" else 1 if leading else 2, 4))))
    return t.Path(AT, leading, steps, tuple(b.pick(("/", "//")) for _ in steps[1:]))


def filter_(b: Build) -> t.Expr:
    base = b.expr()
    if isinstance(base, t.AxisStep):
        return t.AxisStep(AT, base.axis, base.test, (*base.predicates, b.expr()))
    return t.Filter(AT, base, b.expr())


# Functions


def argument(b: Build) -> t.Expr:
    return t.Placeholder(AT) if b.pick(range(5)) == 4 else b.expr()


def function_call(b: Build) -> t.FunctionCall:
    name, arity = b.function()
    return t.FunctionCall(AT, name, tuple(argument(b) for _ in range(arity)))


def dynamic_call(b: Build) -> t.DynamicCall:
    return t.DynamicCall(AT, b.expr(), b.many(argument))


def named_function_reference(b: Build) -> t.NamedFunctionRef:
    return t.NamedFunctionRef(AT, *b.function())


def param(b: Build) -> t.Param:
    return t.Param(AT, b.variable(), b.maybe(sequence_type))


def inline_function(b: Build) -> t.InlineFunction:
    return t.InlineFunction(AT, b.many(annotation, most=1), b.many(param), b.maybe(sequence_type), b.maybe(Build.expr))


def arrow(b: Build) -> t.Arrow:
    if b.flag():
        return t.Arrow(AT, b.expr(), b.expr(), b.many(argument))
    name, arity = b.function(at_least=1)
    return t.Arrow(AT, b.expr(), name, tuple(argument(b) for _ in range(arity - 1)))


def lookup_key(b: Build) -> t.LookupKey:
    form = b.pick(("name", "number", "star", "expression"))
    if form == "name":
        return t.Name(AT, b.local())
    if form == "number":
        return t.Number(AT, b.pick(("0", "1", "42")))
    return b.expr() if form == "expression" else None


def lookup(b: Build) -> t.Lookup:
    return t.Lookup(AT, b.expr(), lookup_key(b))


def unary_lookup(b: Build) -> t.UnaryLookup:
    return t.UnaryLookup(AT, lookup_key(b))


def map_entry(b: Build) -> t.MapEntry:
    return t.MapEntry(AT, b.expr(), b.expr())


def map_constructor(b: Build) -> t.MapConstructor:
    return t.MapConstructor(AT, b.many(map_entry))


def array_constructor(b: Build) -> t.ArrayConstructor:
    curly = b.flag()
    return t.ArrayConstructor(AT, curly, b.many(Build.expr, most=1 if curly else 3))


TABLE: dict[type[t.Expr], Builder] = {
    t.Number: number,
    t.String: string,
    t.VarRef: variable_reference,
    t.ContextItem: context_item,
    t.Sequence: sequence,
    t.Logical: logical,
    t.Comparison: comparison,
    t.Concat: concat,
    t.Range: range_,
    t.Arithmetic: arithmetic,
    t.SetOperation: set_operation,
    t.InstanceOf: instance_of,
    t.TreatAs: treat_as,
    t.Castable: castable,
    t.CastAs: cast_as,
    t.Unary: unary,
    t.SimpleMap: simple_map,
    t.AxisStep: axis_step,
    t.Path: path,
    t.Filter: filter_,
    t.FunctionCall: function_call,
    t.DynamicCall: dynamic_call,
    t.NamedFunctionRef: named_function_reference,
    t.InlineFunction: inline_function,
    t.Arrow: arrow,
    t.Lookup: lookup,
    t.UnaryLookup: unary_lookup,
    t.MapConstructor: map_constructor,
    t.ArrayConstructor: array_constructor,
}

__all__ = ["TABLE", "name_step", "param"]
