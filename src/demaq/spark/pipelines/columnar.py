"""Nodes of a plan over tables of Arrow, in one process: for what stays within the messages that it has read.

Not all nodes, conditions and types: what cannot be done here is done by Spark. What is done is the same. The columns of
tables are called as the variables of nodes; where there are messages, their numbers come first.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_type

from demaq.pipelines.evaluate.arithmetic import operation
from demaq.pipelines.plan import nodes as n
from demaq.pipelines.plan.steps import Count, Define, Fixpoint, Plan, Send
from demaq.pipelines.plan.walk import below, nodes, reads
from demaq.pipelines.program import Compare, CompareText, Expression, Operation, Term, Variable
from demaq.pipelines.values import Constant, ValueType
from demaq.pipelines.vocabulary import TextRelation
from demaq.spark.pipelines.values import MESSAGE, encoder, place, spark_type

_COMPARED = {
    ValueType.ANY,
    ValueType.TEXT,
    ValueType.BOOLEAN,
    ValueType.INTEGER,
    ValueType.DOUBLE,
    ValueType.NUMBER,
    ValueType.DATE,
}
_FLOATING = (ValueType.DOUBLE, ValueType.NUMBER)
MOST_FOUND = 20_000_000  # facts of a fixpoint, or of a join, some tens of bytes each,
MOST_BYTES = 1024 * 1024 * 1024  # and of a join in all
MOST_ROUNDS = 300  # and rounds to find them, of some milliseconds each: what is deeper goes faster row by row
_MUCH = 16  # times as many rows, among which it pays to look for those that are wanted

Tables = Mapping[tuple[str, str], pa.Table]
"""The facts of relations, by place: of the source or an enricher, and by relation."""


class TooMuch(Exception):
    """Recursion that is too deep for this, or a result that is too large for one process."""


# What can be done


def can_evaluate(plan: Plan) -> bool:
    """Is all of a plan within messages, and of what is known here?"""
    return all(
        isinstance(step, Define | Send | Fixpoint | Count)
        and _are_of_messages(step)
        and all(_is_known(each) for node in nodes(step) for each in below(node))
        for step in plan.steps
    )


def _are_of_messages(step: Define | Send | Fixpoint | Count) -> bool:
    return not isinstance(step, Send) or all(part.node.channels for part in step.parts)


def _is_known(node: n.Node) -> bool:
    if not (node.channels or node.columns):
        return False
    if isinstance(node, n.Join | n.AntiJoin):
        return bool({column.name for column in node.left.columns} & {column.name for column in node.right.columns}) or (
            bool(node.left.channels) and bool(node.right.channels)
        )
    if isinstance(node, n.Scan | n.Load | n.Select):
        return all(map(_is_known_condition, node.conditions))
    if isinstance(node, n.Project):
        return all(_is_taken(term, column.type) for column, term in node.items)
    if isinstance(node, n.Assign):
        is_integer = node.column.type is ValueType.INTEGER and _is_integer(node.value)
        return is_integer or _is_taken(node.value, node.column.type)
    if isinstance(node, n.Spread):
        return node.input == n.Values(node.columns, ())
    return isinstance(node, n.Values | n.Read | n.Distinct | n.Union | n.Pair)


def _is_taken(term: Expression, type_: ValueType) -> bool:
    """Is it a constant, or a column that needs no conversion?"""
    return isinstance(term, Constant) or (isinstance(term, Variable) and term.type is type_)


def _is_integer(value: Expression) -> bool:
    """An integer that can be computed here."""
    if not isinstance(value, Operation):
        return value.type is ValueType.INTEGER
    return value.operator in _ARITHMETIC and len(value.operands) == 2 and all(map(_is_integer, value.operands))


def _is_known_condition(condition: n.Condition) -> bool:
    if isinstance(condition, n.Present):
        return True
    left, right = condition.left, condition.right
    if isinstance(left, Operation) or isinstance(right, Operation):
        return isinstance(condition, Compare) and _is_integer(left) and _is_integer(right)
    if not isinstance(left, Variable | Constant) or not isinstance(right, Variable | Constant):
        return False
    if isinstance(condition, CompareText):
        is_text = left.type is right.type is ValueType.TEXT and isinstance(left, Variable)
        return is_text and (condition.test is TextRelation.EQUALS or isinstance(right, Constant))
    return _are_alike(condition.operator, left, right)


def _are_alike(operator: str, left: Term, right: Term) -> bool:
    """Can they be compared as they are, or a constant be turned into what the other is?"""
    if isinstance(left, Constant):
        return isinstance(right, Variable) and _are_alike(operator, right, left)
    if left.type is ValueType.ANY:
        return operator in ("=", "!=") and (isinstance(right, Constant) or right.type is ValueType.ANY)
    if left.type in _FLOATING and isinstance(right, Constant):
        return right.type.is_number
    return left.type is right.type and left.type in _COMPARED


# What is done


@dataclass(slots=True)
class Evaluation:
    """`given` is what comes from outside; `relations` are defined by steps. Both are by place. A channel that is
    `empty` has no message; the messages of all others have the same numbers. `counts` are of relations."""

    given: Tables
    empty: Collection[str] = ()
    relations: dict[str, pa.Table] = field(default_factory=dict)
    new: dict[str, pa.Table] = field(default_factory=dict)  # of a fixpoint, what the last round has found
    counts: dict[str, int] = field(default_factory=dict)
    _kept: "dict[int, _Kept | None]" = field(default_factory=dict)  # what is the same in all of its rounds, by node

    def run(self, plan: Plan) -> dict[str, dict[str, pa.Table]]:
        """What leaves, by sink and relation, with the numbers of messages. A fact may be there more than once."""
        sent: dict[str, dict[str, pa.Table]] = {}
        for step in plan.steps:
            if isinstance(step, Define):
                self.relations[step.relation] = self._by_place(step.node)
            elif isinstance(step, Fixpoint):
                self.relations.update(self._found(step))
            elif isinstance(step, Count):
                self.counts[step.relation] = self.table(step.node).num_rows
            else:
                assert isinstance(step, Send)
                sent[step.sink] = {part.relation: self._by_place(_bag(part.node)) for part in step.parts}
        return sent

    def _found(self, step: Fixpoint) -> dict[str, pa.Table]:
        """The relations of a fixpoint, semi-naively; raises `TooMuch`."""
        known = {each.relation: self._by_place(each.base) for each in step.relations}
        inner = Evaluation(self.given, self.empty, {**self.relations, **known}, known)
        rounds = 0
        while any(table.num_rows for table in inner.new.values()):
            rounds += 1
            if rounds > MOST_ROUNDS or sum(table.num_rows for table in known.values()) > MOST_FOUND:
                raise TooMuch
            found = {
                each.relation: _unknown([inner._by_place(node) for node in each.rounds], known[each.relation])
                for each in step.relations
            }
            known = {name: pa.concat_tables([table, found[name]]) for name, table in known.items()}
            inner.relations.update(known)
            inner.new = found
        return known

    def _by_place(self, node: n.Node) -> pa.Table:
        return _renamed(self.table(node), [_name(column) for column in node.columns], _places(node.columns))

    def table(self, node: n.Node) -> pa.Table:
        """The rows of a node."""
        kept = self.kept(node)
        return self._evaluated(node) if kept is None else kept.table

    def kept(self, node: n.Node) -> "_Kept | None":
        """The rows of a node that are the same in all rounds of a fixpoint, in one of which this is."""
        if not self.new:
            return None
        if id(node) not in self._kept:
            is_same = not any(read.relation in self.new for read in reads(node))
            self._kept[id(node)] = _Kept(self._evaluated(node)) if is_same else None
        return self._kept[id(node)]

    def _evaluated(self, node: n.Node) -> pa.Table:
        return _EVALUATORS[type(node)](node, self)


def _unknown(found: Sequence[pa.Table], known: pa.Table) -> pa.Table:
    """The rows that are not known yet, each once."""
    if not found:
        return known.slice(0, 0)
    names = known.column_names
    every = pa.concat_tables(found).group_by(names, use_threads=False).aggregate([])
    return every.join(known, names, join_type="left anti", use_threads=False).select(names)


@dataclass(slots=True)
class _Kept:
    """A table among whose rows others look for partners, again and again."""

    table: pa.Table
    _orders: dict[str, tuple[pa.Table, Any]] = field(default_factory=dict)

    def near(self, other: pa.Table, common: Sequence[str]) -> pa.Table:
        """Rows among which are all partners of those in a table that is much smaller, by integers that both have."""
        name = next((each for each in common if each != MESSAGE and self.table.column(each).type == pa.int64()), None)
        if name is None or other.num_rows * _MUCH > self.table.num_rows:
            return self.table
        ordered, values = self._order(name)
        wanted = pc.unique(other.column(name)).drop_null().to_numpy(zero_copy_only=False)
        first, end = (np.searchsorted(values, wanted, side) for side in ("left", "right"))
        stretches = [ordered[start:stop] for start, stop in zip(first, end, strict=True) if start < stop]
        return pa.concat_tables(stretches or [ordered[:0]])

    def _order(self, name: str) -> tuple[pa.Table, Any]:
        """The rows by the values in a column, so that those with the same one are a stretch, and these values. Null has
        no partner."""
        if name not in self._orders:
            places = pc.sort_indices(self.table, sort_keys=[(name, "ascending")])
            column = self.table.column(name)
            places = places.slice(0, len(column) - column.null_count)
            ordered = self.table.combine_chunks().take(places)
            self._orders[name] = ordered, ordered.column(name).to_numpy()
        return self._orders[name]


def _bag(node: n.Node) -> n.Node:
    return node.input if isinstance(node, n.Distinct) else node


def _name(column: Variable) -> str:
    """What a column is called; the number of the message is no variable."""
    return f"${column.name}"


def _layout(node: n.Node) -> list[str]:
    return [*([MESSAGE] if node.channels else []), *map(_name, node.columns)]


def _places(columns: n.Columns) -> list[str]:
    return [place(at) for at in range(len(columns))]


def _renamed(table: pa.Table, names: Sequence[str], others: Sequence[str]) -> pa.Table:
    """Columns under other names, behind the numbers of messages, if there are any."""
    first = [MESSAGE] if MESSAGE in table.column_names else []
    return table.select([*first, *names]).rename_columns([*first, *others])


def arrow_type(type_: ValueType) -> pa.DataType:
    return to_arrow_type(spark_type(type_), timezone="UTC")


# Where rows come from


def _scan(node: n.Scan, state: Evaluation) -> pa.Table:
    return _brought(node, state.given[node.channel, node.relation])


def _load(node: n.Load, state: Evaluation) -> pa.Table:
    return _brought(node, state.given[node.enricher, node.relation])


def _brought(node: n.Scan | n.Load, table: pa.Table) -> pa.Table:
    named = _renamed(table, _places(node.parameters), [_name(parameter) for parameter in node.parameters])
    return _selected(named, node.conditions).select(_layout(node))


def _values(node: n.Values, _state: Evaluation) -> pa.Table:
    encoders = [encoder(column.type) for column in node.columns]
    rows = [[encode(value) for encode, value in zip(encoders, row, strict=True)] for row in node.rows]
    columns = zip(*rows, strict=True) if rows else ([] for _ in node.columns)
    arrays = [pa.array(values, arrow_type(column.type)) for values, column in zip(columns, node.columns, strict=True)]
    return pa.table(arrays, names=_layout(node))


def _read(node: n.Read, state: Evaluation) -> pa.Table:
    found = state.new if node.version is n.Version.NEW else state.relations
    return _renamed(found[node.relation], _places(node.columns), [_name(column) for column in node.columns])


# One input


def _select(node: n.Select, state: Evaluation) -> pa.Table:
    return _selected(state.table(node.input), node.conditions)


def _selected(table: pa.Table, conditions: Sequence[n.Condition]) -> pa.Table:
    if not conditions:
        return table
    return table.filter(reduce(pc.and_kleene, (_holds(each, table) for each in conditions)))


def _holds(condition: n.Condition, table: pa.Table) -> Any:
    if isinstance(condition, n.Present):
        return pc.is_valid(table.column(_name(condition.column)))
    if isinstance(condition.left, Operation) or isinstance(condition.right, Operation):
        assert isinstance(condition, Compare)
        sides = [_column(side, table, ValueType.INTEGER) for side in (condition.left, condition.right)]
        return _COMPARISONS[condition.operator](*sides)
    type_ = next(side.type for side in (condition.left, condition.right) if isinstance(side, Variable))
    left, right = (_side(side, table, type_) for side in (condition.left, condition.right))
    if isinstance(condition, Compare):
        return _COMPARISONS[condition.operator](left, right)
    found = (
        pc.equal(left, right) if condition.test is TextRelation.EQUALS else _TESTS[condition.test](left, right.as_py())
    )
    return pc.invert(found) if condition.is_negated else found


def _side(side: Expression, table: pa.Table, type_: ValueType) -> Any:
    if isinstance(side, Variable):
        return table.column(_name(side))
    assert isinstance(side, Constant)
    return pa.scalar(encoder(type_)(side.value), arrow_type(type_))


def _column(value: Expression, table: pa.Table, type_: ValueType) -> Any:
    """A value for each row."""
    if isinstance(value, Operation):
        return _computed(value, table)
    found = _side(value, table, type_)
    return pa.repeat(found, table.num_rows) if isinstance(value, Constant) else found


def _computed(value: Operation, table: pa.Table) -> Any:
    """An integer for each row. One that is too large is null."""
    operands = [_column(operand, table, ValueType.INTEGER) for operand in value.operands]
    try:
        return _ARITHMETIC[value.operator](*operands)
    except pa.ArrowInvalid:
        compute = operation(value.operator, 2, (ValueType.INTEGER,) * 2)
        return pa.array(map(compute, *(operand.to_pylist() for operand in operands)), pa.int64())


def _project(node: n.Project, state: Evaluation) -> pa.Table:
    table = state.table(node.input)
    arrays = [table.column(MESSAGE)] if node.channels else []
    arrays += [_column(term, table, column.type) for column, term in node.items]
    return pa.table(arrays, names=_layout(node))


def _assign(node: n.Assign, state: Evaluation) -> pa.Table:
    table = state.table(node.input)
    more = table.append_column(_name(node.column), _column(node.value, table, node.column.type))
    return more.filter(pc.is_valid(more.column(_name(node.column))))


def _spread(node: n.Spread, state: Evaluation) -> pa.Table:
    """Nothing, for each message."""
    return state.table(node.input).add_column(0, MESSAGE, pa.array([], pa.int64()))


def _pair(node: n.Pair, state: Evaluation) -> pa.Table:
    table = state.table(node.input)
    return table.slice(0, 0) if any(channel in state.empty for channel in node.channels) else table


def _distinct(node: n.Distinct, state: Evaluation) -> pa.Table:
    return state.table(node.input).group_by(_layout(node), use_threads=False).aggregate([])


# Several inputs


def _union(node: n.Union, state: Evaluation) -> pa.Table:
    return pa.concat_tables([state.table(each).select(_layout(node)) for each in node.inputs])


def _join(node: n.Join, state: Evaluation) -> pa.Table:
    return _joined(node, state, "inner").select(_layout(node))


def _anti_join(node: n.AntiJoin, state: Evaluation) -> pa.Table:
    return _joined(node, state, "left anti").select(_layout(node))


def _joined(node: n.Join | n.AntiJoin, state: Evaluation, kind: str) -> pa.Table:
    own = _layout(node.left)
    common = [name for name in _layout(node.right) if name in own]
    left, right = state.table(node.left), state.table(node.right)
    if kind == "inner":
        kept_left, kept_right = state.kept(node.left), state.kept(node.right)
        if kept_left is not None and kept_right is None:
            left = kept_left.near(right, common)
        elif kept_right is not None and kept_left is None:
            right = kept_right.near(left, common)
        if _is_too_much(left, right, common):
            raise TooMuch
    return left.join(right, common, join_type=kind, use_threads=False)


def _is_too_much(left: pa.Table, right: pa.Table, common: list[str]) -> bool:
    """Will they have more partners than one process should hold?"""
    if not left.num_rows or not right.num_rows:
        return False
    size = left.nbytes / left.num_rows + right.nbytes / right.num_rows  # of a row
    most = min(MOST_FOUND, MOST_BYTES / size) if size else MOST_FOUND
    if left.num_rows * right.num_rows <= most:
        return False
    small, large = sorted((left, right), key=lambda table: table.num_rows)
    counts = small.group_by(common, use_threads=False).aggregate([([], "count_all")])
    if large.num_rows * pc.max(counts.column("count_all")).as_py() <= most:
        return False
    found = large.select(common).join(counts, common, join_type="inner", use_threads=False)
    return bool(found.num_rows) and pc.sum(found.column("count_all")).as_py() > most


_COMPARISONS: dict[str, Callable[..., Any]] = {
    "<": pc.less,
    ">": pc.greater,
    "<=": pc.less_equal,
    ">=": pc.greater_equal,
    "=": pc.equal,
    "!=": pc.not_equal,
}
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
}
_TESTS: dict[TextRelation, Callable[..., Any]] = {
    TextRelation.CONTAINS: pc.match_substring,
    TextRelation.STARTSWITH: pc.starts_with,
    TextRelation.ENDSWITH: pc.ends_with,
}
_EVALUATORS: dict[type, Callable[..., pa.Table]] = {
    n.Scan: _scan,
    n.Load: _load,
    n.Values: _values,
    n.Read: _read,
    n.Select: _select,
    n.Project: _project,
    n.Assign: _assign,
    n.Spread: _spread,
    n.Pair: _pair,
    n.Distinct: _distinct,
    n.Union: _union,
    n.Join: _join,
    n.AntiJoin: _anti_join,
}
