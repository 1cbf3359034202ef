"""Recursion, semi-naively: each round looks only at what the one before it found."""

from collections.abc import Callable
from dataclasses import replace

from demaq.pipelines.evaluate.nodes import Compiled, compile_standard
from demaq.pipelines.evaluate.rows import Row, Rows
from demaq.pipelines.evaluate.state import State
from demaq.pipelines.plan.nodes import Version
from demaq.pipelines.plan.steps import Fixpoint
from demaq.pipelines.plan.walk import reads

_Facts = dict[str, set[Row]]


class TooManyFacts(Exception):
    """A fixpoint has found more than there is room for."""


def compile_fixpoint(step: Fixpoint, most: int | None = None) -> Callable[[State], None]:
    """A function that adds the relations of the fixpoint to the state, unless they have more facts than `most`, or than
    the input allows."""
    own = frozenset(found.relation for found in step.relations)
    bases = {found.relation: compile_standard(found.base) for found in step.relations}
    rounds = [
        (found.relation, _read_anew(node), compile_standard(node)) for found in step.relations for node in found.rounds
    ]

    def run(state: State) -> None:
        limit = state.input.most if most is None else most
        known: _Facts = {relation: set(base.run(state)) for relation, base in bases.items()}
        inner = replace(state, relations={**state.relations, **known}, own=own, growing={})
        new: dict[str, Rows] = {relation: frozenset(rows) for relation, rows in known.items()}
        while any(new.values()):
            inner.new = new
            found = _round(inner, rounds, known)
            for relation, rows in found.items():
                known[relation] |= rows
            if limit is not None and sum(map(len, known.values())) > limit:
                raise TooManyFacts
            _grow(inner, found)
            new = dict(found)
        state.relations.update(known)

    return run


def _read_anew(node: object) -> str:
    """The relation whose new facts a round looks at."""
    (found,) = (read.relation for read in reads(node) if read.version is Version.NEW)  # type: ignore[arg-type]
    return found


def _round(state: State, rounds: list[tuple[str, str, Compiled]], known: _Facts) -> _Facts:
    """What one round finds that is not known yet."""
    found: _Facts = {relation: set() for relation in known}
    for relation, read, node in rounds:
        if state.new[read]:
            found[relation].update(node.run(state))
    for relation, rows in found.items():
        rows -= known[relation]
    return found


def _grow(state: State, found: _Facts) -> None:
    """Indexes over all facts get the new ones: what they are made of is, for once, just those."""
    if state.growing:
        apart = replace(state, relations={**state.relations, **found})
        for growing in state.growing.values():
            growing.grow(apart)
