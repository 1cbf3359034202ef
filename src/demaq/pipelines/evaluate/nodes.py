"""Nodes of a plan as functions that give rows: a small function for each kind.

A compiled node knows at which place of its rows each column stands; the number of the message is a column like the
others there, called `MESSAGE`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from demaq.pipelines.evaluate.aggregates import summary
from demaq.pipelines.evaluate.expressions import Places, compiled_condition, compiled_expression
from demaq.pipelines.evaluate.rows import Row, Rows
from demaq.pipelines.evaluate.state import State
from demaq.pipelines.evaluate.tuples import key_of, rearranged
from demaq.pipelines.evaluate.values import all_entering
from demaq.pipelines.plan import nodes as n
from demaq.pipelines.plan.numbers import needs_conversion
from demaq.pipelines.program import Variable
from demaq.pipelines.values import ValueType
from demaq.pipelines.vocabulary import Function

MESSAGE = "#"

Run = Callable[[State], Iterable[Row]]


@dataclass(frozen=True, slots=True)
class Compiled:
    """`layout` names the column at each place of the rows."""

    layout: tuple[str, ...]
    run: Run

    @property
    def places(self) -> Places:
        return {name: place for place, name in enumerate(self.layout)}

    def in_order(self, layout: tuple[str, ...]) -> "Compiled":
        """The same rows with other places, without the columns that are left out."""
        if layout == self.layout:
            return self
        places, width = [self.places[name] for name in layout], len(self.layout)
        return Compiled(layout, lambda state: rearranged(self.run(state), places, width))


def standard(node: n.Node) -> tuple[str, ...]:
    """The layout in which rows are kept: the message, then the columns in their order."""
    names = tuple(column.name for column in node.columns)
    return (MESSAGE, *names) if node.channels else names


def compile_node(node: n.Node) -> Compiled:
    return _COMPILERS[type(node)](node)


def compile_standard(node: n.Node) -> Compiled:
    return compile_node(node).in_order(standard(node))


# Where rows come from


def _scan(node: n.Scan) -> Compiled:
    source = (node.channel, node.relation)
    return _brought(node, (MESSAGE,), source, lambda state: state.facts.get(source, ()))


def _load(node: n.Load) -> Compiled:
    source = (node.enricher, node.relation)
    return _brought(node, (), source, lambda state: state.input.enrichers.get(source[0], {}).get(source[1], ()))


def _brought(
    node: n.Scan | n.Load, first: tuple[str, ...], source: tuple[str, str], rows: Callable[[State], Rows]
) -> Compiled:
    """What comes from outside is brought in once for all."""
    layout = (*first, *(parameter.name for parameter in node.parameters))
    types = [*(None for _ in first), *(parameter.type for parameter in node.parameters)]

    def run(state: State) -> Rows:
        if source not in state.entered:
            state.entered[source] = all_entering(rows(state), types)
        return state.entered[source]

    found = _selected(Compiled(layout, run), node.conditions)
    return found.in_order((*first, *(column.name for column in node.columns)))


def _values(node: n.Values) -> Compiled:
    types = [column.type for column in node.columns]
    rows = tuple(all_entering(node.rows, types))
    return Compiled(standard(node), lambda _state: rows)


def _read(node: n.Read) -> Compiled:
    relation = node.relation
    if node.version is n.Version.NEW:
        return Compiled(standard(node), lambda state: state.new[relation])
    return Compiled(standard(node), lambda state: state.relations[relation])


# One input


def _select(node: n.Select) -> Compiled:
    return _selected(compile_node(node.input), node.conditions)


def _selected(found: Compiled, conditions: Sequence[n.Condition]) -> Compiled:
    tests = [compiled_condition(condition, found.places) for condition in conditions]

    def run(state: State) -> Iterable[Row]:
        rows = found.run(state)
        for test in tests:
            rows = filter(test, rows)
        return rows

    return Compiled(found.layout, run) if tests else found


def _project(node: n.Project) -> Compiled:
    layout = standard(node)
    first = layout[: len(layout) - len(node.items)]
    taken = [
        term.name
        for column, term in node.items
        if isinstance(term, Variable) and not needs_conversion(term.type, column.type)
    ]
    if len(taken) == len(node.items):
        return _taken(node.input, (*first, *taken), layout)
    found = compile_node(node.input)
    functions = [compiled_expression(Variable(name, ValueType.INTEGER), found.places) for name in first]
    functions += [compiled_expression(term, found.places, column.type) for column, term in node.items]
    return Compiled(layout, lambda state: (tuple([get(row) for get in functions]) for row in found.run(state)))


def _taken(input_: n.Node, names: tuple[str, ...], layout: tuple[str, ...]) -> Compiled:
    """Columns of the input under other names. A join is told which it has to give."""
    is_told = isinstance(input_, n.Join) and len(set(names)) == len(names)
    found = _COMPILERS[n.Join](input_, names) if is_told else compile_node(input_)
    places, width = [found.places[name] for name in names], len(found.layout)
    return Compiled(layout, lambda state: rearranged(found.run(state), places, width))


def _assign(node: n.Assign) -> Compiled:
    found = compile_node(node.input)
    value = compiled_expression(node.value, found.places, node.column.type)

    def run(state: State) -> Iterable[Row]:
        return ((*row, computed) for row in found.run(state) if (computed := value(row)) is not None)

    return Compiled((*found.layout, node.column.name), run)


def _distinct(node: n.Distinct) -> Compiled:
    found = compile_node(node.input)

    def run(state: State) -> Iterable[Row]:
        rows = found.run(state)
        return rows if isinstance(rows, set | frozenset) else set(rows)

    return Compiled(found.layout, run)


def _spread(node: n.Spread) -> Compiled:
    found = compile_node(node.input)

    def run(state: State) -> Iterable[Row]:
        rows = list(found.run(state))
        return ((number, *row) for number in range(state.count(node.channels)) for row in rows)

    return Compiled((MESSAGE, *found.layout), run)


def _pair(node: n.Pair) -> Compiled:
    found = compile_node(node.input)
    message = found.places[MESSAGE]

    def run(state: State) -> Iterable[Row]:
        count = state.count(node.channels)
        return (row for row in found.run(state) if row[message] < count)

    return Compiled(found.layout, run)


def _union(node: n.Union) -> Compiled:
    layout = standard(node)
    inputs = [compile_node(each).in_order(layout) for each in node.inputs]
    return Compiled(layout, lambda state: chain.from_iterable(each.run(state) for each in inputs))


def _aggregate(node: n.Aggregate) -> Compiled:
    found = compile_node(node.input)
    layout = standard(node)
    keys = [found.places[name] for name in layout[:-1]]
    key = key_of(keys)
    row_of: Callable[[Any], Row] = (lambda value: (value,)) if len(keys) == 1 else lambda value: value
    if node.over is None:
        return Compiled(
            layout,
            lambda state: ((*row_of(by), count) for by, count in Counter(map(key, found.run(state))).items()),
        )
    place = found.places[node.over.name]
    summarise = summary(node.function, node.over.type)
    is_kept = node.function is Function.SUM

    def run(state: State) -> Iterable[Row]:
        groups: defaultdict[Any, list[Any]] = defaultdict(list)
        for row in found.run(state):
            groups[key(row)].append(row[place])
        results = ((by, summarise(values)) for by, values in groups.items())
        return ((*row_of(by), result) for by, result in results if result is not None or is_kept)

    return Compiled(layout, run)


_COMPILERS: dict[type, Callable[..., Compiled]] = {
    n.Scan: _scan,
    n.Load: _load,
    n.Values: _values,
    n.Read: _read,
    n.Select: _select,
    n.Project: _project,
    n.Assign: _assign,
    n.Distinct: _distinct,
    n.Spread: _spread,
    n.Pair: _pair,
    n.Union: _union,
    n.Aggregate: _aggregate,
}


def compiles(kind: type) -> Callable[[Callable[..., Compiled]], Callable[..., Compiled]]:
    """Says how nodes of a kind are compiled."""

    def register(compiler: Callable[..., Compiled]) -> Callable[..., Compiled]:
        _COMPILERS[kind] = compiler
        return compiler

    return register
