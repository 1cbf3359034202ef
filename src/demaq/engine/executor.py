"""Where rules are evaluated."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from demaq.engine.evaluator import Evaluator
from demaq.engine.plan import Plan
from demaq.engine.records import Batch, Incoming, Outcome
from demaq.engine.xml import MessageRefused
from demaq.model import Message, NewMessage
from demaq.store import Entry, Reader

Admission = tuple[NewMessage | None, MessageRefused | None]
"""The message as it goes into the log, or the error message about it and the refusal."""


class Pending(Protocol):
    """A batch that is being evaluated."""

    @property
    def where(self) -> str:
        """Where it is, or was: by the `node`, by its `worker`, or on `spark`."""

    def outcomes(self) -> Sequence[Outcome]:
        """Wait for the outcome of each task, in their order."""


class Executor(Protocol):
    @property
    def reads_the_store(self) -> bool:
        """Can it see the store? If not, all that rules may read goes with the batch."""

    @property
    def large(self) -> range:
        """Sizes of batches that it takes at once and without the bodies of messages, if so many wait."""

    def load(self, plan: Plan) -> None:
        """Evaluate by this plan from now on."""

    def start(self, batch: Batch) -> Pending:
        """Begin to evaluate a batch, after those that were begun before."""

    def evaluate(self, batch: Batch) -> Sequence[Outcome]:
        """The outcome of each task, in their order, at once."""

    def admit(self, messages: Sequence[Incoming]) -> list[Admission]:
        """Check messages from outside."""

    def entries(self, messages: Sequence[Message]) -> list[tuple[Entry, ...]]:
        """The values of indexed paths in messages."""

    def close(self) -> None: ...


def admit(evaluator: Evaluator, messages: Sequence[Incoming]) -> list[Admission]:
    found: list[Admission] = []
    for incoming in messages:
        try:
            found.append((evaluator.admission.admit(incoming), None))
        except MessageRefused as refusal:
            found.append((evaluator.admission.refused(incoming, refusal), refusal))
    return found


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A batch whose outcomes are there."""

    found: Sequence[Outcome]
    where: str = "node"

    def outcomes(self) -> Sequence[Outcome]:
        return self.found


class InlineExecutor:
    """Evaluates in this process. A rule that does not end takes the process with it: for tests."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._evaluator: Evaluator | None = None

    @property
    def reads_the_store(self) -> bool:
        return True

    @property
    def large(self) -> range:
        return range(0)

    def load(self, plan: Plan) -> None:
        self._evaluator = Evaluator(plan)

    def start(self, batch: Batch) -> Pending:
        return Evaluated(self.evaluate(batch))

    def evaluate(self, batch: Batch) -> Sequence[Outcome]:
        assert self._evaluator is not None
        return list(self._evaluator.process(batch, self._reader))

    def admit(self, messages: Sequence[Incoming]) -> list[Admission]:
        assert self._evaluator is not None
        return admit(self._evaluator, messages)

    def entries(self, messages: Sequence[Message]) -> list[tuple[Entry, ...]]:
        assert self._evaluator is not None
        return self._evaluator.entries(messages)

    def close(self) -> None:
        self._evaluator = None
