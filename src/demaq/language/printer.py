"""How actions are printed, for people and for tests; the engine sees them rewritten."""

from demaq.language import tree as t
from demaq.xquery.printer import Printer, Rule
from demaq.xquery.printer.core import SEQUENCE


def _enqueue(p: Printer, node: t.Enqueue) -> None:
    p.write("do enqueue ")
    p.single(node.body)
    p.write(" into ", str(node.queue))
    for clause in node.properties:
        p.write(" ")
        p.node(clause)


def _with_property(p: Printer, node: t.WithProperty) -> None:
    p.write("with ", str(node.name), " value ")
    p.single(node.value)


def _reset(p: Printer, node: t.Reset) -> None:
    p.write("do reset")
    if node.slicing is not None and node.key is not None:
        p.write(" ", str(node.slicing), " key ")
        p.single(node.key)


def _raise(p: Printer, node: t.Raise) -> None:
    p.write("do raise event ", str(node.event), "(")
    p.list(node.parameters)
    p.write(")")


def _event_parameter(p: Printer, node: t.EventParameter) -> None:
    p.write(str(node.name), " := ")
    p.single(node.value)


# Commas after an action belong to the list of actions, and `with` to the action: inside anything else it stands in
# parentheses.
ACTION_RULES = {
    t.Enqueue: Rule(_enqueue, SEQUENCE),
    t.WithProperty: Rule(_with_property),
    t.Reset: Rule(_reset, SEQUENCE),
    t.Raise: Rule(_raise, SEQUENCE),
    t.EventParameter: Rule(_event_parameter),
}
