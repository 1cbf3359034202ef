"""From outcomes to what is committed: as if the messages of a batch had been processed one by one.

Only resets inside the batch can make a difference. An outcome that depends on what an earlier message has reset is
evaluated again, with that in view.
"""

from collections.abc import Callable, Sequence

from demaq.engine.plan import Plan
from demaq.engine.records import Batch, Outcome, Task
from demaq.model import Message, QueueKind, Slice
from demaq.store import Processed, Reader

Evaluate = Callable[[Batch], Sequence[Outcome]]
_AT_ONCE = 8  # messages that are evaluated again together, at first


def settle(
    batch: Batch, outcomes: Sequence[Outcome], plan: Plan, version: int, reader: Reader, evaluate: Evaluate
) -> list[Processed]:
    return _Settling(batch, list(outcomes), plan, version, reader, evaluate).settled()


class _Settling:
    def __init__(
        self,
        batch: Batch,
        outcomes: list[Outcome],
        plan: Plan,
        version: int,
        reader: Reader,
        evaluate: Evaluate,
    ) -> None:
        self._batch = batch
        self._outcomes = outcomes
        self._plan = plan
        self._version = version
        self._reader = reader
        self._evaluate = evaluate
        self._resets: dict[Slice, int] = dict(batch.resets)
        self._hidden: set[int] = set(batch.hidden)
        self._evaluated_with = [0] * len(outcomes)  # how many resets were known
        self._changes: list[tuple[Slice, frozenset[int]]] = []  # each reset, and whom it has hidden
        self._at_once = _AT_ONCE

    def settled(self) -> list[Processed]:
        done = []
        for number, task in enumerate(self._batch.tasks):
            if not self._is_valid(number):
                self._evaluate_again(number)
            outcome = self._outcomes[number]
            done.append(self._processed(task, outcome))
            for reset in outcome.resets:
                self._reset(reset.slice, task)
        return done

    def _is_valid(self, number: int) -> bool:
        outcome = self._outcomes[number]
        changes = self._changes[self._evaluated_with[number] :]
        return not any(slice_ in outcome.slices or hidden & outcome.seen for slice_, hidden in changes)

    def _evaluate_again(self, first: int) -> None:
        """This one, and some of those after it that would have to be evaluated again, too."""
        numbers = [first]
        for number in range(first + 1, len(self._outcomes)):
            if len(numbers) >= self._at_once:
                break
            if not self._is_valid(number):
                numbers.append(number)
        again = set(numbers)
        earlier = tuple(
            processed_message(task)
            for number, task in enumerate(self._batch.tasks[: numbers[-1]])
            if number not in again
        )
        batch = Batch(
            tasks=tuple(self._batch.tasks[number] for number in numbers),
            recent=(*self._batch.recent, *earlier),
            resets=dict(self._resets),
            hidden=frozenset(self._hidden),
        )
        for number, outcome in zip(numbers, self._evaluate(batch), strict=True):
            self._outcomes[number] = outcome
            self._evaluated_with[number] = len(self._changes)

    def _reset(self, slice_: Slice, task: Task) -> None:
        """From now on the slice is empty, and members that have no other slice are hidden."""
        gone = self._members(slice_, task)
        self._resets[slice_] = task.position
        hidden = frozenset(message.id for message in gone if not self._is_retained(message))
        self._hidden |= hidden
        self._changes.append((slice_, hidden))

    def _members(self, slice_: Slice, task: Task) -> list[Message]:
        """Who is in a slice when a message has been processed."""
        after = self._resets.get(slice_, 0)
        ids = [member.message for member in self._reader.members([slice_])[slice_] if member.position > after]
        stored = list(self._reader.messages(ids).values()) if ids else []
        recent = [
            message
            for message in (*self._batch.recent, *map(processed_message, self._batch.tasks))
            if after < (message.position or 0) <= task.position and slice_ in self._slices(message)
        ]
        return [*stored, *recent]

    def _slices(self, message: Message) -> tuple[Slice, ...]:
        return self._plan.slices(message)

    def _is_retained(self, message: Message) -> bool:
        """Is it still in one of its slices?"""
        position = message.position or 0
        others = [slice_ for slice_ in self._slices(message) if self._resets.get(slice_, 0) < position]
        if not others:
            return False
        recent = {one.id for one in self._batch.recent} | {task.message.id for task in self._batch.tasks}
        if message.id in recent:
            return True
        stored = self._reader.members(others)
        return any(member.message == message.id for members in stored.values() for member in members)

    def _processed(self, task: Task, outcome: Outcome) -> Processed:
        message = task.message
        return Processed(
            message=message.id,
            queue=message.queue,
            position=task.position,
            at=task.now,
            version=self._version,
            failed=bool(outcome.failures),
            held=self._plan.queues[message.queue].kind is QueueKind.OUTGOING_GATEWAY,
            transient=message.transient,
            joins=self._slices(message),
            entries=outcome.entries,
            resets=outcome.resets,
            produced=outcome.produced,
        )


def processed_message(task: Task) -> Message:
    """The message as it will be when the batch is committed."""
    message = task.message
    return Message(
        id=message.id,
        queue=message.queue,
        body=message.body,
        properties=message.properties,
        created=message.created,
        origin=message.origin,
        cause=message.cause,
        rule=message.rule,
        position=task.position,
        transient=message.transient,
    )
