"""Messages that are made of messages: aggregations and splits."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from demaq.pipelines.evaluate.nodes import MESSAGE, Compiled, compile_standard
from demaq.pipelines.evaluate.rows import Row
from demaq.pipelines.evaluate.state import State
from demaq.pipelines.evaluate.tuples import key_of
from demaq.pipelines.evaluate.values import order
from demaq.pipelines.plan.nodes import Channels, Node
from demaq.pipelines.plan.steps import Gather, Split
from demaq.pipelines.vocabulary import Strategy

_Message = dict[str, set[Row]]
Id = tuple[Channels, int]


def compile_numbered(node: Node) -> Compiled:
    """The rows with the numbers of their messages; what belongs to every message is in one message here."""
    found = compile_standard(node)
    if node.channels:
        return found
    return Compiled((MESSAGE, *found.layout), lambda state: ((0, *row) for row in found.run(state)))


# Aggregations


def compile_gather(step: Gather) -> Callable[[State], None]:
    """A function that adds the channel and its facts to the state."""
    parts = [(part.relation, part.node.channels, compile_numbered(part.node)) for part in step.parts]
    when = [(node.channels, compile_numbered(node)) for node in step.when]

    def run(state: State) -> None:
        closing = {(channels, row[0]) for channels, node in when for row in node.run(state)}
        facts: dict[str, set[Row]] = {part.relation: set() for part in step.parts}
        arrivals: list[datetime] = []
        messages = _messages(state, parts)
        for ids, arrival in groups(step, _in_turn(state, messages), closing):
            for relation, rows in merged([messages[id] for id in ids], step.strategy).items():
                facts[relation].update((len(arrivals), *row) for row in rows)
            arrivals.append(arrival)
        state.add_channel(step.channel, facts, arrivals)

    return run


def _messages(state: State, parts: list[tuple[str, Channels, Compiled]]) -> dict[Id, _Message]:
    """The messages that take part, with their facts."""
    found: defaultdict[Id, defaultdict[str, set[Row]]] = defaultdict(lambda: defaultdict(set))
    for relation, channels, node in parts:
        for number, *values in node.run(state):
            found[channels, number][relation].add(tuple(values))
    return {id: dict(message) for id, message in found.items()}


def _in_turn(state: State, ids: Iterable[Id]) -> list[tuple[datetime, Id]]:
    """Messages in the order in which they come, with their times."""
    found = [(state.arrival(channels, number), (channels, number)) for channels, number in ids]
    return sorted(found, key=lambda each: (each[0], each[1][1], each[1][0]))


def groups(
    step: Gather, messages: list[tuple[datetime, Id]], closing: set[Id], now: datetime | None = None
) -> Iterator[tuple[list[Id], datetime]]:
    """The messages that become one, and when that is complete.

    The last of them are complete since the input ends; not if it is said what time it is now, and theirs is not over.
    """
    group: list[Id] = []
    end: datetime | None = None
    for arrival, id in messages:
        if group and end is not None and arrival >= end:
            yield group, end
            group = []
        if not group:
            end = _end(arrival, step.time)
        group.append(id)
        if len(group) == step.size or id in closing:
            yield group, arrival
            group = []
    if group and now is None:
        yield group, messages[-1][0]
    elif group and end is not None and now is not None and now >= end:
        yield group, end


def _end(arrival: datetime, time: timedelta | None) -> datetime | None:
    return None if time is None else arrival + time


def merged(messages: list[_Message], strategy: Strategy) -> _Message:
    """The facts of all messages; or, of each relation, those of the first or the last message that has any."""
    merged: _Message = {}
    for message in reversed(messages) if strategy is Strategy.FIRST else messages:
        for relation, rows in message.items():
            merged[relation] = rows | merged.get(relation, set()) if strategy is Strategy.UNION else rows
    return merged


# Splits


def compile_split(step: Split) -> Callable[[State], None]:
    """A function that adds the channel and its facts to the state."""
    groups = [(group.relation, compile_numbered(group.node), group.by) for group in step.groups]
    compiled = [
        (relation, node, key_of([node.places[column.name] for column in by]), len(by)) for relation, node, by in groups
    ]

    def run(state: State) -> None:
        pieces: list[tuple[tuple[Any, ...], str, list[Row]]] = []
        for place, (relation, node, key, width) in enumerate(compiled):
            found: defaultdict[tuple[int, Any], list[Row]] = defaultdict(list)
            for row in node.run(state):
                found[row[0], key(row)].append(row)
            for (number, value), rows in found.items():
                by = (value,) if width == 1 else value
                pieces.append(((number, place, [order(each) for each in by]), relation, rows))
        pieces.sort(key=lambda piece: piece[0])
        _add_pieces(step, state, pieces)

    return run


def _add_pieces(step: Split, state: State, pieces: list[tuple[tuple[Any, ...], str, list[Row]]]) -> None:
    facts: dict[str, set[Row]] = {group.relation: set() for group in step.groups}
    for number, (_, relation, rows) in enumerate(pieces):
        facts[relation].update((number, *row[1:]) for row in rows)
    arrivals = [state.arrival(step.inputs, whole) for (whole, *_), _, _ in pieces]
    state.add_channel(step.channel, facts, arrivals)
    state.wholes[step.channel] = [whole for (whole, *_), _, _ in pieces]
