"""A plan that is compiled once and evaluated many times."""

from collections.abc import Callable, Sized
from functools import singledispatch

from demaq.pipelines.evaluate import joins  # noqa: F401  # says how joins are compiled
from demaq.pipelines.evaluate.fixpoint import compile_fixpoint
from demaq.pipelines.evaluate.messages import compile_gather, compile_numbered, compile_split
from demaq.pipelines.evaluate.nodes import compile_standard
from demaq.pipelines.evaluate.rows import Answered, Input, Output, Row
from demaq.pipelines.evaluate.state import State
from demaq.pipelines.evaluate.values import all_leaving
from demaq.pipelines.plan.steps import Answer, Count, Define, Fixpoint, Gather, Plan, Send, Split, Step

_Compiled = Callable[[State, "Leaving"], None]


def evaluate(plan: Plan, given: Input) -> Output:
    """What leaves a pipeline."""
    return Evaluator(plan).run(given)


class Evaluator:
    """A plan, ready to be evaluated. It keeps nothing of what it evaluated."""

    def __init__(self, plan: Plan) -> None:
        self._steps = [compile_step(step) for step in plan.steps]

    def run(self, given: Input) -> Output:
        state, leaving = State.begin(given), Leaving()
        for step in self._steps:
            step(state, leaving)
        numbers = {channel: len(times) for channel, times in state.arrivals.items()}
        return Output(sent=leaving.sent, answers=tuple(leaving.answers), counts=leaving.counts, numbers=numbers)


class Leaving:
    """What leaves while steps are evaluated."""

    def __init__(self) -> None:
        self.sent: dict[str, dict[str, tuple[Row, ...]]] = {}
        self.answers: list[Answered] = []
        self.counts: dict[str, int] = {}


@singledispatch
def compile_step(step: Step) -> _Compiled:
    """A function that does a step."""
    raise TypeError(f"{type(step).__name__} cannot be evaluated")


@compile_step.register
def _define(step: Define) -> _Compiled:
    node = compile_standard(step.node)

    def run(state: State, _leaving: Leaving) -> None:
        rows = node.run(state)
        state.relations[step.relation] = rows if isinstance(rows, set | frozenset) else list(rows)

    return run


@compile_step.register
def _fixpoint(step: Fixpoint) -> _Compiled:
    run = compile_fixpoint(step)
    return lambda state, _leaving: run(state)


@compile_step.register
def _gather(step: Gather) -> _Compiled:
    run = compile_gather(step)
    return lambda state, _leaving: run(state)


@compile_step.register
def _split(step: Split) -> _Compiled:
    run = compile_split(step)
    return lambda state, _leaving: run(state)


@compile_step.register
def _send(step: Send) -> _Compiled:
    parts = [
        (part.relation, compile_numbered(part.node), [None, *(column.type for column in part.node.columns)])
        for part in step.parts
    ]

    def run(state: State, leaving: Leaving) -> None:
        leaving.sent[step.sink] = {relation: all_leaving(node.run(state), types) for relation, node, types in parts}

    return run


@compile_step.register
def _answer(step: Answer) -> _Compiled:
    node = compile_standard(step.node)
    types = [*([None] if step.node.channels else []), *(column.type for column in step.node.columns)]
    columns = tuple(column.name for column in step.node.columns)

    def run(state: State, leaving: Leaving) -> None:
        rows = all_leaving(node.run(state), types)
        leaving.answers.append(Answered(step.text, columns, bool(step.node.channels), rows))

    return run


@compile_step.register
def _count(step: Count) -> _Compiled:
    node = compile_standard(step.node)

    def run(state: State, leaving: Leaving) -> None:
        rows = node.run(state)
        leaving.counts[step.relation] = len(rows) if isinstance(rows, Sized) else sum(1 for _ in rows)

    return run
