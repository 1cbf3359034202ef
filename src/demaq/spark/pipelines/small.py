"""Recursion over few facts, evaluated beside Spark: a round of it takes less time than Spark takes to plan one."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from demaq.pipelines.evaluate import Input
from demaq.pipelines.evaluate.fixpoint import TooManyFacts, compile_fixpoint
from demaq.pipelines.evaluate.rows import Row
from demaq.pipelines.evaluate.state import State as Memory
from demaq.pipelines.evaluate.values import all_entering, all_leaving
from demaq.pipelines.plan.nodes import Columns, Load, Node, Pair, Read, Scan, Spread
from demaq.pipelines.plan.steps import Fixpoint
from demaq.pipelines.plan.walk import below
from demaq.pipelines.values import ValueType
from demaq.spark.pipelines.state import State
from demaq.spark.pipelines.values import decoder, frame

MOST = 1_000_000  # facts that go in
_MOST_FOUND = 6_000_000  # facts in all, some two hundred bytes each


class _TooMany(Exception):
    """There are more facts than it is good for."""


def run_beside(step: Fixpoint, state: State) -> bool:
    """Adds the relations of a fixpoint to the state, if few facts go into it; whether it did."""
    nodes = [each for found in step.relations for node in (found.base, *found.rounds) for each in below(node)]
    if any(isinstance(node, Spread | Pair) for node in nodes):
        return False  # they ask how many messages there are
    try:
        memory = _brought(step, nodes, state)
        compile_fixpoint(step, _MOST_FOUND)(memory)
    except (_TooMany, TooManyFacts):
        return False
    for found in step.relations:
        columns, has_messages = found.base.columns, bool(found.base.channels)
        types = [*([None] if has_messages else []), *(column.type for column in columns)]
        rows = all_leaving(memory.relations[found.relation], types)
        state.facts[found.relation] = len(rows)
        state.relations[found.relation] = frame(state.spark, columns, rows, numbered=has_messages)
    return True


def _brought(step: Fixpoint, nodes: Sequence[Node], state: State) -> Memory:
    """What the nodes of a fixpoint read, in memory."""
    own = {found.relation for found in step.relations}
    left = MOST
    enriched: dict[str, dict[str, list[Row]]] = {}
    memory = Memory(Input(enrichers=enriched))
    for node in dict.fromkeys(node for node in nodes if isinstance(node, Read | Scan | Load)):
        if isinstance(node, Read):
            if node.relation in own or node.relation in memory.relations:
                continue
            rows = _collected(state.relations[node.relation], node.columns, bool(node.channels), left)
            types = [*([None] if node.channels else []), *(column.type for column in node.columns)]
            memory.relations[node.relation] = list(all_entering(rows, types))
        elif isinstance(node, Scan):
            facts = state.channels[node.channel].facts.get(node.relation)
            rows = [] if facts is None else _collected(facts, node.parameters, True, left)
            memory.facts[node.channel, node.relation] = rows
        else:
            facts = state.enrichers.get((node.enricher, node.relation))
            rows = [] if facts is None else _collected(facts, node.parameters, False, left)
            enriched.setdefault(node.enricher, {})[node.relation] = rows
        left -= len(rows)
    return memory


def _collected(found: DataFrame, columns: Columns, has_messages: bool, most: int) -> list[Row]:
    table = found.limit(most + 1).toArrow()
    if table.num_rows > most:
        raise _TooMany
    width = len(columns) + bool(has_messages)
    types: list[ValueType | None] = [*([None] if has_messages else []), *(column.type for column in columns)]
    values = (_values(table.column(at), type_) for at, type_ in enumerate(types))
    return list(zip(*values, strict=True)) if width else [()] * table.num_rows


def _values(column: pa.ChunkedArray, type_: ValueType | None) -> list[Any]:
    if type_ not in (ValueType.ANY, ValueType.DATETIME):
        found: list[Any] = column.to_pylist()
        return found
    decode = decoder(type_)
    return [decode(value) for value in column.to_pylist()]
