"""Joins by hashing: one side is indexed, and the rows of the other look their partners up."""

from collections.abc import Callable, Iterable

from demaq.pipelines.evaluate.indexes import Identity, Indexed, kept
from demaq.pipelines.evaluate.nodes import Compiled, compile_node, compiles, standard
from demaq.pipelines.evaluate.rows import Row
from demaq.pipelines.evaluate.state import State
from demaq.pipelines.evaluate.tuples import key_of, row_of
from demaq.pipelines.evaluate.values import entering
from demaq.pipelines.plan import nodes as n
from demaq.pipelines.plan.numbers import converted
from demaq.pipelines.plan.walk import reads


@compiles(n.Join)
def _join(node: n.Join, wanted: tuple[str, ...] | None = None) -> Compiled:
    """A join of which some columns are wanted, each once, or all. Those of the side that looks up come first."""
    wanted = standard(node) if wanted is None else wanted
    probe, build = (node.right, node.left) if _is_left_indexed(node) else (node.left, node.right)
    rows = compile_node(probe)
    first = tuple(name for name in wanted if name in rows.places)
    rest = tuple(name for name in wanted if name not in rows.places)
    keys = tuple(name for name in standard(build) if name in rows.places)
    indexed = Indexed(build, keys, rest)
    key = key_of([rows.places[name] for name in keys])
    head = None if first == rows.layout else row_of([rows.places[name] for name in first])

    def run(state: State) -> Iterable[Row]:
        find, found = indexed.index(state).get, rows.run(state)
        if head is None:
            return (row + other for row in found for other in find(key(row), ()))
        return (
            start + other for row in found if (others := find(key(row))) for start in (head(row),) for other in others
        )

    return Compiled((*first, *rest), run)


def _is_left_indexed(node: n.Join) -> bool:
    """New facts look up what is old; rows of messages look up what belongs to every message."""
    news = [any(read.version is n.Version.NEW for read in reads(side)) for side in (node.left, node.right)]
    if news[0] is not news[1]:
        return news[1]
    return not node.left.channels and bool(node.right.channels)


@compiles(n.AntiJoin)
def _anti_join(node: n.AntiJoin) -> Compiled:
    rows, key, identity, others = _sides(node, standard(node.right), "keys")
    right_key = key_of([others.places[name] for name in standard(node.right)])

    def run(state: State) -> Iterable[Row]:
        there = kept(state, identity, lambda: set(map(right_key, others.run(state))))
        return (row for row in rows.run(state) if key(row) not in there)

    return Compiled(rows.layout, run)


@compiles(n.OuterJoin)
def _outer_join(node: n.OuterJoin) -> Compiled:
    *keys, result = standard(node.right)
    rows, key, identity, others = _sides(node, tuple(keys), "values")
    right_key = key_of([others.places[name] for name in keys])
    value = others.places[result]
    type_ = node.right.columns[-1].type
    otherwise = entering(converted(node.otherwise.value, type_), type_)

    def run(state: State) -> Iterable[Row]:
        find = kept(state, identity, lambda: {right_key(row): row[value] for row in others.run(state)}).get
        return ((*row, found) for row in rows.run(state) if (found := find(key(row), otherwise)) is not None)

    return Compiled((*rows.layout, result), run)


def _sides(
    node: n.AntiJoin | n.OuterJoin, keys: tuple[str, ...], kind: str
) -> tuple[Compiled, Callable[[Row], object], Identity, Compiled]:
    """The left, the key of its rows, what to keep about the right, and the right. The right is never part of a fixpoint
    that is under way, for it has to be complete."""
    rows = compile_node(node.left)
    key = key_of([rows.places[name] for name in keys])
    return rows, key, Identity(kind, node.right, keys), compile_node(node.right)
