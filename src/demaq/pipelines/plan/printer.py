"""A plan as text, for a person: a block for each step, in which what stands below a node is indented under it."""

from collections.abc import Callable, Iterator
from functools import singledispatch

from demaq.pipelines.plan import nodes as n
from demaq.pipelines.plan import steps as s
from demaq.pipelines.plan.expressions import print_condition, print_expression
from demaq.pipelines.plan.walk import inputs
from demaq.pipelines.printer import print_value
from demaq.pipelines.program import Term, Variable


def print_plan(plan: s.Plan) -> str:
    """The text, which ends with a line end."""
    aligned = [f"by message: {', '.join(sorted(plan.aligned))}\n"] if plan.aligned else []
    return "\n".join([*aligned, *("\n".join(print_step(step)) + "\n" for step in plan.steps)])


def print_node(node: n.Node) -> Iterator[str]:
    """The lines of a node, and of what it is made of."""
    yield _PRINTERS[type(node)](node)
    for each in inputs(node):
        yield from _indented(print_node(each))


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)


def _names(columns: n.Columns) -> str:
    return ", ".join(column.name for column in columns)


def _conditions(conditions: tuple[n.Condition, ...]) -> str:
    return ", ".join(print_condition(condition) for condition in conditions)


# Nodes


def _scan(node: n.Scan) -> str:
    return f"scan {node.relation}({_names(node.columns)}) of {node.channel}{_where(node.conditions)}"


def _load(node: n.Load) -> str:
    return f"load {node.relation}({_names(node.columns)}) of {node.enricher}{_where(node.conditions)}"


def _where(conditions: tuple[n.Condition, ...]) -> str:
    return f" where {_conditions(conditions)}" if conditions else ""


def _values(node: n.Values) -> str:
    if not node.columns:
        return "unit" if node.rows else "nothing"
    shown = ", ".join(f"({', '.join(print_value(value) for value in row)})" for row in node.rows[:3])
    more = f", … ({len(node.rows)})" if len(node.rows) > 3 else ""
    return f"values ({_names(node.columns)}): {shown}{more}" if node.rows else f"nothing ({_names(node.columns)})"


def _read(node: n.Read) -> str:
    new = "new " if node.version is n.Version.NEW else ""
    return f"read {new}{node.relation}({_names(node.columns)})"


def _project(node: n.Project) -> str:
    return f"project {', '.join(_item(column, term) for column, term in node.items)}".rstrip()


def _item(column: Variable, term: Term) -> str:
    text = print_expression(term)
    return column.name if text == column.name else f"{column.name} = {text}"


def _aggregate(node: n.Aggregate) -> str:
    by = f" by {_names(node.by)}" if node.by else ""
    over = "" if node.over is None else node.over.name
    return f"aggregate {node.result.name} = {node.function.value}({over}){by}"


def _joined(word: str) -> Callable[[n.Join | n.AntiJoin | n.OuterJoin], str]:
    def text(node: n.Join | n.AntiJoin | n.OuterJoin) -> str:
        left = {column.name for column in node.left.columns}
        on = ", ".join(column.name for column in node.right.columns if column.name in left)
        otherwise = f" else {print_value(node.otherwise.value)}" if isinstance(node, n.OuterJoin) else ""
        hint = f" [broadcast {node.broadcast.value}]" if node.broadcast is not None else ""
        return f"{word}{f' on {on}' if on else ''}{otherwise}{hint}"

    return text


_PRINTERS: dict[type, Callable[..., str]] = {
    n.Scan: _scan,
    n.Load: _load,
    n.Values: _values,
    n.Read: _read,
    n.Select: lambda node: f"select {_conditions(node.conditions)}",
    n.Project: _project,
    n.Assign: lambda node: f"assign {node.column.name} = {print_expression(node.value)}",
    n.Distinct: lambda _: "distinct",
    n.Aggregate: _aggregate,
    n.Spread: lambda node: f"spread over {', '.join(node.channels)}",
    n.Pair: lambda node: f"pair {', '.join(node.channels)}",
    n.Join: _joined("join"),
    n.AntiJoin: _joined("anti join"),
    n.OuterJoin: _joined("outer join"),
    n.Union: lambda _: "union",
}


# Steps


@singledispatch
def print_step(step: s.Step) -> Iterator[str]:
    """The lines of a step."""
    raise TypeError(f"no text for {type(step).__name__}")


@print_step.register
def _define(step: s.Define) -> Iterator[str]:
    yield f"define {step.relation}({_names(step.node.columns)})"
    yield from _indented(print_node(step.node))


@print_step.register
def _fixpoint(step: s.Fixpoint) -> Iterator[str]:
    yield "fixpoint"
    for found in step.relations:
        yield f"  {found.relation}({_names(found.base.columns)})"
        yield "    base"
        yield from _indented(_indented(_indented(print_node(found.base))))
        for node in found.rounds:
            yield "    round"
            yield from _indented(_indented(_indented(print_node(node))))


@print_step.register
def _gather(step: s.Gather) -> Iterator[str]:
    completions = (
        None if step.size is None else f"{step.size} messages",
        None if step.time is None else f"{step.time.total_seconds():g} s",
        "a condition" if step.when else None,
    )
    until = " or ".join(text for text in completions if text is not None)
    yield f"gather {step.channel}: {step.strategy.value} until {until}"
    yield from _parts(step.parts)
    for node in step.when:
        yield "  condition"
        yield from _indented(_indented(print_node(node)))


@print_step.register
def _split(step: s.Split) -> Iterator[str]:
    yield f"split {step.channel}"
    for group in step.groups:
        yield f"  {group.relation} by {_names(group.by)}" if group.by else f"  {group.relation}"
        yield from _indented(_indented(print_node(group.node)))


@print_step.register
def _send(step: s.Send) -> Iterator[str]:
    yield f"send {step.sink}"
    yield from _parts(step.parts)


def _parts(parts: tuple[s.Part, ...]) -> Iterator[str]:
    for part in parts:
        yield f"  {part.relation}"
        yield from _indented(_indented(print_node(part.node)))


@print_step.register
def _answer(step: s.Answer) -> Iterator[str]:
    yield f"answer {step.text}"
    yield from _indented(print_node(step.node))


@print_step.register
def _count(step: s.Count) -> Iterator[str]:
    yield f"count {step.relation}"
    yield from _indented(print_node(step.node))
