"""The actions of the application language."""

from demaq.language import tree as l
from demaq.xquery.tree import Expr
from property.building.core import AT, Build, Builder


def enqueue(b: Build) -> l.Enqueue:
    return l.Enqueue(AT, b.expr(), b.name(), b.many(with_property, most=2))


def with_property(b: Build) -> l.WithProperty:
    return l.WithProperty(AT, b.name(), b.expr())


def reset(b: Build) -> l.Reset:
    return l.Reset(AT, None, None) if b.flag() else l.Reset(AT, b.name(), b.expr())


def raise_(b: Build) -> l.Raise:
    return l.Raise(AT, b.name(), b.many(event_parameter, most=2))


def event_parameter(b: Build) -> l.EventParameter:
    return l.EventParameter(AT, b.name(), b.expr())


TABLE: dict[type[Expr], Builder] = {
    l.Enqueue: enqueue,
    l.Reset: reset,
    l.Raise: raise_,
}
