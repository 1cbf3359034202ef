"""A tree as text again, one statement a line. Reading the text gives the same tree."""

import json
import re
from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal
from functools import singledispatch

from demaq.pipelines import tree as t
from demaq.pipelines.values import Value

_BARE_URI = re.compile(r'[^\s,(){}"%][^\s,(){}"]*')
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "div": 2, "mod": 2}
_ATOMIC = 3


@singledispatch
def print_tree(node: t.Node) -> str:
    """The text of a node."""
    raise TypeError(f"no text for {type(node).__name__}")


def _prints(kind: type[t.Node]) -> Callable[[Callable[..., str]], Callable[..., str]]:
    return print_tree.register(kind)


def _list(nodes: Iterable[t.Node], between: str = ", ") -> str:
    return between.join(print_tree(node) for node in nodes)


@_prints(t.Name)
def _name(node: t.Name) -> str:
    return node.text


# Expressions


@_prints(t.Variable)
def _variable(node: t.Variable) -> str:
    return node.name


@_prints(t.Wildcard)
def _wildcard(_node: t.Wildcard) -> str:
    return "_"


@_prints(t.Literal)
def _literal(node: t.Literal) -> str:
    return print_value(node.value)


def print_value(value: Value) -> str:
    """A value as a constant of the language.

    >>> print_value("say \\"hi\\""), print_value(True), print_value(Decimal("1.50"))
    ('"say \\\\"hi\\\\""', 'true', '1.50')
    """
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        text = repr(value)
        return text if "e" in text else f"{text}e0"
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


@_prints(t.Argument)
def _argument(node: t.Argument) -> str:
    return print_tree(node.value) if node.name is None else f"{node.name}: {print_tree(node.value)}"


@_prints(t.Atom)
def _atom(node: t.Atom) -> str:
    return f"{node.relation}({_list(node.arguments)})"


@_prints(t.FactValue)
def _fact_value(node: t.FactValue) -> str:
    return print_tree(node.atom)


@_prints(t.AggregateValue)
def _aggregate_value(node: t.AggregateValue) -> str:
    return f"{node.function}({print_tree(node.atom)})"


@_prints(t.Negative)
def _negative(node: t.Negative) -> str:
    """A literal gets parentheses, for a minus right before a number belongs to it."""
    inner = print_tree(node.operand)
    return f"-({inner})" if isinstance(node.operand, t.Literal | t.Arithmetic) else f"-{inner}"


@_prints(t.Arithmetic)
def _arithmetic(node: t.Arithmetic) -> str:
    level = _PRECEDENCE[node.operator]
    return f"{_operand(node.left, level)} {node.operator} {_operand(node.right, level + 1)}"


def _operand(node: t.Expr, least: int) -> str:
    level = _PRECEDENCE[node.operator] if isinstance(node, t.Arithmetic) else _ATOMIC
    return print_tree(node) if level >= least else f"({print_tree(node)})"


# Bodies


@_prints(t.TextTest)
def _text_test(node: t.TextTest) -> str:
    return f"{node.function}({print_tree(node.left)}, {print_tree(node.right)})"


@_prints(t.Negation)
def _negation(node: t.Negation) -> str:
    return f"not {print_tree(node.inner)}"


@_prints(t.Comparison)
def _comparison(node: t.Comparison) -> str:
    return f"{print_tree(node.left)} {node.operator} {print_tree(node.right)}"


@_prints(t.Assignment)
def _assignment(node: t.Assignment) -> str:
    return f"{print_tree(node.variable)} := {print_tree(node.value)}"


# Annotations


@_prints(t.Uri)
def _uri(node: t.Uri) -> str:
    return node.text if _BARE_URI.fullmatch(node.text) else print_value(node.text)


@_prints(t.Option)
def _option(node: t.Option) -> str:
    return node.name.text if node.value is None else f"{node.name}={print_tree(node.value)}"


@_prints(t.Column)
def _column(node: t.Column) -> str:
    return node.name.text if node.type is None else f"{node.name}: {node.type}"


@_prints(t.Declaration)
def _declaration(node: t.Declaration) -> str:
    return f"{node.relation}({_list(node.columns)})."


def _heading(node: t.Annotation, *first: t.Node) -> str:
    return f"@{node.name}({_list((*first, *node.options))})"


# Statements


@_prints(t.Fact)
def _fact(node: t.Fact) -> str:
    return f"{print_tree(node.atom)}."


@_prints(t.Rule)
def _rule(node: t.Rule) -> str:
    return f"{print_tree(node.head)} :- {_list(node.body)}."


@_prints(t.Query)
def _query(node: t.Query) -> str:
    return f"?-{print_tree(node.atom)}."


@_prints(t.From)
def _from(node: t.From) -> str:
    return f"{_heading(node, node.uri)} {{ {_list(node.declarations, ' ')} }}"


@_prints(t.Enrich)
def _enrich(node: t.Enrich) -> str:
    return f"{_heading(node, node.uri)} {{ {_list(node.declarations, ' ')} }}"


@_prints(t.To)
def _to(node: t.To) -> str:
    heading = _heading(node, node.uri)
    return heading if node.relations is None else f"{heading} {{ {_list(node.relations)} }}"


@_prints(t.Aggregate)
def _aggregate(node: t.Aggregate) -> str:
    return f"{_heading(node)} {{ {_list(node.queries, ' ')} }}"


@_prints(t.Split)
def _split(node: t.Split) -> str:
    return f"{_heading(node)} {{ {_list(node.queries, ' ')} }}"


@_prints(t.Pipeline)
def _pipeline(node: t.Pipeline) -> str:
    return "".join(f"{print_tree(statement)}\n" for statement in node.statements)
