"""FLWOR expressions, conditionals, switches, try/catch and what wraps an expression."""

from demaq.xquery import tree as t
from property.building.core import AT, Build, Builder
from property.building.types import sequence_type


def flwor(b: Build) -> t.Flwor:
    clauses = (b.pick((for_, let, window))(b), *b.many(clause))
    return t.Flwor(AT, clauses, b.expr())


def clause(b: Build) -> t.Node:
    return b.pick((for_, let, window, where, group_by, order_by, count))(b)


def for_(b: Build) -> t.For:
    return t.For(AT, b.variable(), b.maybe(sequence_type), b.flag(), b.maybe(Build.variable), b.expr())


def let(b: Build) -> t.Let:
    return t.Let(AT, b.variable(), b.maybe(sequence_type), b.expr())


def window(b: Build) -> t.Window:
    kind = b.pick(("tumbling", "sliding"))
    end = window_condition(b, b.flag()) if kind == "sliding" or b.flag() else None
    return t.Window(AT, kind, b.variable(), b.maybe(sequence_type), b.expr(), window_condition(b, only=False), end)


def window_condition(b: Build, only: bool) -> t.WindowCondition:
    current, position, previous, following = (b.maybe(Build.variable) for _ in range(4))
    return t.WindowCondition(AT, current, position, previous, following, b.expr(), only)


def where(b: Build) -> t.Where:
    return t.Where(AT, b.expr())


def group_by(b: Build) -> t.GroupBy:
    return t.GroupBy(AT, b.many(group_spec, 1, 2))


def group_spec(b: Build) -> t.GroupSpec:
    value = b.maybe(Build.expr)
    type_ = None if value is None else b.maybe(sequence_type)
    return t.GroupSpec(AT, b.variable(), type_, value, b.maybe(Build.uri))


def order_by(b: Build) -> t.OrderBy:
    return t.OrderBy(AT, b.flag(), b.many(order_spec, 1, 2))


def order_spec(b: Build) -> t.OrderSpec:
    direction = b.pick(("", "ascending", "descending"))
    return t.OrderSpec(AT, b.expr(), direction, b.pick(("", "greatest", "least")), b.maybe(Build.uri))


def count(b: Build) -> t.Count:
    return t.Count(AT, b.variable())


def quantified(b: Build) -> t.Quantified:
    return t.Quantified(AT, b.pick(("some", "every")), b.many(quantified_binding, 1, 2), b.expr())


def quantified_binding(b: Build) -> t.QuantifiedBinding:
    return t.QuantifiedBinding(AT, b.variable(), b.maybe(sequence_type), b.expr())


def conditional(b: Build) -> t.If:
    otherwise = None if b.words.actions and b.flag() else b.expr()
    return t.If(AT, b.expr(), b.expr(), otherwise)


def switch(b: Build) -> t.Switch:
    return t.Switch(AT, b.expr(), b.many(switch_case, 1, 2), b.expr())


def switch_case(b: Build) -> t.SwitchCase:
    return t.SwitchCase(AT, b.many(Build.expr, 1, 2), b.expr())


def typeswitch(b: Build) -> t.TypeSwitch:
    default = t.Case(AT, b.maybe(Build.variable), (), b.expr())
    return t.TypeSwitch(AT, b.expr(), b.many(case, 1, 2), default)


def case(b: Build) -> t.Case:
    return t.Case(AT, b.maybe(Build.variable), b.many(sequence_type, 1, 2), b.expr())


def try_catch(b: Build) -> t.Try:
    return t.Try(AT, b.maybe(Build.expr), b.many(catch, 1, 2))


def catch(b: Build) -> t.Catch:
    return t.Catch(AT, b.many(error_name, 1, 2), b.maybe(Build.expr))


def error_name(b: Build) -> t.Name:
    return b.wildcard() if b.flag() else b.name()


def validate(b: Build) -> t.Validate:
    mode = b.pick(("", "lax", "strict"))
    return t.Validate(AT, mode, None if mode else b.maybe(Build.type_name), b.expr())


def ordered(b: Build) -> t.Ordered:
    return t.Ordered(AT, b.pick(("ordered", "unordered")), b.maybe(Build.expr))


def extension(b: Build) -> t.Extension:
    return t.Extension(AT, b.many(pragma, 1, 2), b.maybe(Build.expr))


def pragma(b: Build) -> t.Pragma:
    return t.Pragma(AT, b.name(), b.pick(("", "yes", "a  b", "#", "(: no comment", "it's {")))


TABLE: dict[type[t.Expr], Builder] = {
    t.Flwor: flwor,
    t.Quantified: quantified,
    t.If: conditional,
    t.Switch: switch,
    t.TypeSwitch: typeswitch,
    t.Try: try_catch,
    t.Validate: validate,
    t.Ordered: ordered,
    t.Extension: extension,
}
