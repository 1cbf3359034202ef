"""Runs scenarios on a node of their own, with a clock that they move."""

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from demaq.engine.incoming import PropertyInvalid, QueueUnknown
from demaq.engine.xml import MessageRefused
from demaq.model import ManualClock, Message, Origin
from demaq.node import NeverIdle, Node
from demaq.testing.compare import difference, matches
from demaq.testing.scenario import Expect, Scenario, Send, Step, Wait

MOST_MESSAGES = 100_000
"""That a step of a scenario may take to process: more, and its rules do not end."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What went otherwise than the scenario says, and where it says so."""

    line: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    scenario: Scenario
    problems: tuple[Problem, ...]
    processed: int = 0

    @property
    def passed(self) -> bool:
        return not self.problems


def run_scenario(app: Path, scenario: Scenario) -> Result:
    """Run one scenario from an empty store."""
    clock = ManualClock(scenario.start)
    with Node(app, "memory:", clock=clock, inline=True) as node:
        run = _Run(node, clock, scenario)
        run.all()
        return Result(scenario=scenario, problems=tuple(run.problems), processed=node.status().position)


@dataclass(slots=True)
class _Run:
    node: Node
    clock: ManualClock
    scenario: Scenario
    problems: list[Problem] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)  # the last message looked at in each queue

    def all(self) -> None:
        for step in self.scenario.steps:
            try:
                self._step(step)
            except NeverIdle as error:
                self.problems.append(Problem(step.line, str(error)))
                return
        self._nothing_else()

    def _step(self, step: Step) -> None:
        if isinstance(step, Send):
            self._send(step)
        elif isinstance(step, Wait):
            pass_time(self.node, self.clock, step.time)
        else:
            self._expect(step)

    def _send(self, step: Send) -> None:
        try:
            answers = self.node.send_many(step.queue, step.bodies, step.properties)
        except (QueueUnknown, PropertyInvalid) as error:
            self.problems.append(Problem(step.line, str(error)))
            return
        refusals = [answer for answer in answers if isinstance(answer, MessageRefused)]
        if step.refused and not refusals:
            self.problems.append(Problem(step.line, f"a message for {step.queue} was to be refused, but was taken in"))
        if refusals and not step.refused:
            self.problems.append(Problem(step.line, f"a message for {step.queue} was refused: {refusals[0].reason}"))
        self.node.run_until_idle(MOST_MESSAGES)

    def _new(self, queue: str) -> list[Message]:
        found = self.node.log.messages(queue, everything=True, after=self.seen.get(queue, 0))
        if found:
            self.seen[queue] = found[-1].id
        return found

    def _expect(self, step: Expect) -> None:
        if step.queue not in self.node.plan.queues:
            self.problems.append(Problem(step.line, f"there is no queue {step.queue}"))
            return
        self.seen.setdefault(step.queue, 0)
        came = [message.body for message in self._new(step.queue)]
        expected = list(step.bodies)
        fits = len(came) == len(expected) and all(map(matches, expected, came))
        if not fits:
            numbers = f"{len(expected)} expected, {len(came)} came"
            self.problems.append(Problem(step.line, f"in {step.queue} ({numbers}):\n{difference(expected, came)}"))

    def _nothing_else(self) -> None:
        """Nothing more in the queues that were looked at, and no error that nobody expected."""
        last = self.scenario.steps[-1].line if self.scenario.steps else 0
        for queue in list(self.seen):
            more = self._new(queue)
            if more:
                text = difference([], [message.body for message in more])
                self.problems.append(Problem(last, f"nothing else was expected in {queue}:\n{text}"))
        for error in self.node.errors():
            if error.origin is Origin.ERROR and error.queue not in self.seen:
                text = difference([], [error.body])
                self.problems.append(Problem(last, f"no error was expected in {error.queue}:\n{text}"))


def pass_time(node: Node, clock: ManualClock, time: timedelta) -> None:
    """Let time pass on a node: what is due meanwhile happens at its time."""
    until = clock.now() + time
    node.run_until_idle(MOST_MESSAGES)
    while (due := node.status().next_due) is not None and due <= until:
        clock.advance_to(max(due, clock.now()))
        node.run_until_idle(MOST_MESSAGES)
    clock.advance_to(until)
    node.run_until_idle(MOST_MESSAGES)
