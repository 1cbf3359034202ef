"""A plan, evaluated on Spark: all messages at once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from demaq.pipelines.plan.nodes import Distinct
from demaq.pipelines.plan.steps import Answer, Define, Fixpoint, Gather, Plan, Send, Split
from demaq.spark.pipelines.fixpoint import run_fixpoint
from demaq.spark.pipelines.messages import run_gather, run_split
from demaq.spark.pipelines.relations import by_place, numbered
from demaq.spark.pipelines.state import Channel, State


@dataclass(slots=True)
class Leaving:
    """What leaves: for each sink, the facts of its messages by relation, with their numbers; the same as `bags`, in
    which a fact may be more than once; answers to queries; and how many facts relations and messages channels have,
    where that is known anyway."""

    sent: dict[str, dict[str, DataFrame]] = field(default_factory=dict)
    bags: dict[str, dict[str, DataFrame]] = field(default_factory=dict)
    answers: list[tuple[Answer, DataFrame]] = field(default_factory=list)
    facts: Mapping[str, int] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)


def run_plan(
    plan: Plan,
    spark: SparkSession,
    channels: Mapping[str, Channel],
    enrichers: Mapping[tuple[str, str], DataFrame],
) -> Leaving:
    """The data frames that leave a pipeline. Most is computed when they are: only recursion and new messages before."""
    state, leaving = State(spark, dict(channels), enrichers, plan.aligned), Leaving()
    for step in plan.steps:
        _STEPS[type(step)](step, state, leaving)
    leaving.facts, leaving.numbers = state.facts, state.numbers
    return leaving


def _define(step: Define, state: State, _leaving: Leaving) -> None:
    state.relations[step.relation] = by_place(step.node, state)


def _fixpoint(step: Fixpoint, state: State, _leaving: Leaving) -> None:
    run_fixpoint(step, state)


def _gather(step: Gather, state: State, _leaving: Leaving) -> None:
    run_gather(step, state)


def _split(step: Split, state: State, _leaving: Leaving) -> None:
    run_split(step, state, is_aligned=step.channel in state.aligned)


def _send(step: Send, state: State, leaving: Leaving) -> None:
    leaving.sent[step.sink] = {part.relation: numbered(part.node, state) for part in step.parts}
    leaving.bags[step.sink] = {
        part.relation: numbered(part.node.input if isinstance(part.node, Distinct) else part.node, state)
        for part in step.parts
    }


def _answer(step: Answer, state: State, leaving: Leaving) -> None:
    leaving.answers.append((step, by_place(step.node, state)))


_STEPS: dict[type, Callable[..., None]] = {
    Define: _define,
    Fixpoint: _fixpoint,
    Gather: _gather,
    Split: _split,
    Send: _send,
    Answer: _answer,
}
