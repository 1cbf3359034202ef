"""Nodes of a plan over tables of Arrow, in one process: for what stays within the messages that it has read.

Not all nodes, conditions and types: what cannot be done here is done by Spark. What is done is the same. The columns of
tables are called as the variables of nodes; where there are messages, their numbers come first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_type

from demaq.pipelines.plan import nodes as n
from demaq.pipelines.plan.steps import Define, Plan, Send
from demaq.pipelines.plan.walk import below, nodes
from demaq.pipelines.program import Compare, CompareText, Expression, Term, Variable
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

Tables = Mapping[tuple[str, str], pa.Table]
"""The facts of relations, by place: of the source or an enricher, and by relation."""


# What can be done


def can_evaluate(plan: Plan) -> bool:
    """Is all of a plan within messages, and of what is known here?"""
    return all(
        isinstance(step, Define | Send)
        and _are_of_messages(step)
        and all(_is_known(each) for node in nodes(step) for each in below(node))
        for step in plan.steps
    )


def _are_of_messages(step: Define | Send) -> bool:
    return isinstance(step, Define) or all(part.node.channels for part in step.parts)


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
    return isinstance(node, n.Values | n.Read | n.Distinct | n.Union)


def _is_taken(term: Expression, type_: ValueType) -> bool:
    """Is it a constant, or a column that needs no conversion?"""
    return isinstance(term, Constant) or (isinstance(term, Variable) and term.type is type_)


def _is_known_condition(condition: n.Condition) -> bool:
    if isinstance(condition, n.Present):
        return True
    left, right = condition.left, condition.right
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
    """`given` is what comes from outside; `relations` are defined by steps. Both are by place."""

    given: Tables
    relations: dict[str, pa.Table] = field(default_factory=dict)

    def run(self, plan: Plan) -> dict[str, dict[str, pa.Table]]:
        """What leaves, by sink and relation, with the numbers of messages. A fact may be there more than once."""
        sent: dict[str, dict[str, pa.Table]] = {}
        for step in plan.steps:
            if isinstance(step, Define):
                self.relations[step.relation] = self._by_place(step.node)
            else:
                assert isinstance(step, Send)
                sent[step.sink] = {part.relation: self._by_place(_bag(part.node)) for part in step.parts}
        return sent

    def _by_place(self, node: n.Node) -> pa.Table:
        return _renamed(self.table(node), [_name(column) for column in node.columns], _places(node.columns))

    def table(self, node: n.Node) -> pa.Table:
        """The rows of a node."""
        return _EVALUATORS[type(node)](node, self)


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
    return _renamed(state.relations[node.relation], _places(node.columns), [_name(column) for column in node.columns])


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


def _project(node: n.Project, state: Evaluation) -> pa.Table:
    table = state.table(node.input)
    arrays = [table.column(MESSAGE)] if node.channels else []
    for column, term in node.items:
        found = _side(term, table, column.type)
        arrays.append(pa.repeat(found, table.num_rows) if isinstance(term, Constant) else found)
    return pa.table(arrays, names=_layout(node))


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
    return state.table(node.left).join(state.table(node.right), common, join_type=kind, use_threads=False)


_COMPARISONS: dict[str, Callable[..., Any]] = {
    "<": pc.less,
    ">": pc.greater,
    "<=": pc.less_equal,
    ">=": pc.greater_equal,
    "=": pc.equal,
    "!=": pc.not_equal,
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
    n.Distinct: _distinct,
    n.Union: _union,
    n.Join: _join,
    n.AntiJoin: _anti_join,
}
