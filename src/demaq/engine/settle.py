"""From outcomes to what is committed: as if the messages of a batch had been processed one by one.

Only resets can make a difference: inside the batch, or in the one before, if that was not settled yet when this one was
evaluated. An outcome that depends on what an earlier message has reset is evaluated again, with that in view.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from demaq.engine.plan import Plan
from demaq.engine.records import Batch, Outcome, Task
from demaq.model import Message, QueueKind, Slice
from demaq.store import Member, Processed, Reader

Evaluate = Callable[[Batch], Sequence[Outcome]]
_Joined = tuple[Member, Sequence[Slice]]  # a message, and its slices
_AT_ONCE = 8  # messages that are evaluated again together, at first


@dataclass(frozen=True, slots=True)
class Ended:
    """What the resets of a batch have ended: slices, up to a position, and the retention of messages."""

    slices: Mapping[Slice, int] = field(default_factory=dict)
    hidden: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class Settled:
    """What is to be committed; what was ended; and how many messages were evaluated again."""

    done: list[Processed]
    ended: Ended
    again: int


def settle(
    batch: Batch,
    outcomes: Sequence[Outcome],
    plan: Plan,
    version: int,
    reader: Reader,
    evaluate: Evaluate,
    missed: Ended | None = None,
) -> Settled:
    """`missed` is what the batch before has ended, unless that was known when this one was evaluated. The reader knows
    that batch as processed."""
    return _Settling(batch, list(outcomes), plan, version, reader, evaluate, missed or Ended()).settled()


class _Settling:
    def __init__(
        self,
        batch: Batch,
        outcomes: list[Outcome],
        plan: Plan,
        version: int,
        reader: Reader,
        evaluate: Evaluate,
        missed: Ended,
    ) -> None:
        self._batch = batch
        self._outcomes = outcomes
        self._plan = plan
        self._version = version
        self._reader = reader
        self._evaluate = evaluate
        self._resets: dict[Slice, int] = {**batch.resets, **missed.slices}
        self._hidden: set[int] = {*batch.hidden, *missed.hidden}
        self._evaluated_with = [0] * len(outcomes)  # how many changes were known
        self._changes = 1 if missed.slices else 0  # so far: what was missed is the first one, then each reset
        self._reset_at: dict[Slice, int] = dict.fromkeys(missed.slices, 0)  # the last change of each slice,
        self._hidden_at: dict[int, int] = dict.fromkeys(missed.hidden, 0)  # and the one that has hidden a message
        self._ended: dict[Slice, int] = {}
        self._newly_hidden: list[int] = []
        self._again = 0
        self._at_once = _AT_ONCE
        self._stored = _Stored(reader, plan)

    def settled(self) -> Settled:
        self._stored.load(reset.slice for outcome in self._outcomes for reset in outcome.resets)
        done = []
        for number, task in enumerate(self._batch.tasks):
            if not self._is_valid(number):
                self._evaluate_again(number)
            outcome = self._outcomes[number]
            done.append(self._processed(task, outcome))
            for reset in outcome.resets:
                self._reset(reset.slice, task)
        return Settled(done, Ended(self._ended, self._newly_hidden), self._again)

    def _is_valid(self, number: int) -> bool:
        """Has nothing changed since that the outcome depends on?"""
        outcome, known = self._outcomes[number], self._evaluated_with[number]
        if known == self._changes:
            return True
        if any(self._reset_at.get(slice_, -1) >= known for slice_ in outcome.slices):
            return False
        return not any(self._hidden_at[message] >= known for message in self._hidden_at.keys() & outcome.seen)

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
        self._again += len(numbers)
        for number, outcome in zip(numbers, self._evaluate(batch), strict=True):
            self._outcomes[number] = outcome
            self._evaluated_with[number] = self._changes

    def _reset(self, slice_: Slice, task: Task) -> None:
        """From now on the slice is empty, and members that have no other slice are hidden."""
        gone = self._members(slice_, task)
        self._resets[slice_] = self._ended[slice_] = task.position
        for member, slices in gone:
            if not self._is_retained(member, slices):
                self._newly_hidden.append(member.message)
                self._hidden.add(member.message)
                self._hidden_at[member.message] = self._changes
        self._reset_at[slice_] = self._changes
        self._changes += 1

    def _members(self, slice_: Slice, task: Task) -> list[_Joined]:
        """Who is in a slice when a message has been processed, and the slices of each."""
        after = self._resets.get(slice_, 0)
        stored = [(member, slices) for member, slices in self._stored.members(slice_) if member.position > after]
        recent = [
            (member, slices)
            for member, slices in self._recent.get(slice_, ())
            if after < member.position <= task.position
        ]
        return [*stored, *recent]

    @cached_property
    def _recent(self) -> dict[Slice, list[_Joined]]:
        """The messages that are not in the store yet, or not as processed ones."""
        found: dict[Slice, list[_Joined]] = {}
        earlier = ((Member(one.position or 0, one.id), self._plan.slices(one)) for one in self._batch.recent)
        own = ((Member(task.position, task.message.id), task.slices) for task in self._batch.tasks)
        for member, slices in (*earlier, *own):
            for slice_ in slices:
                found.setdefault(slice_, []).append((member, slices))
        return found

    def _is_retained(self, member: Member, slices: Sequence[Slice]) -> bool:
        """Is it still in one of its slices?"""
        others = [slice_ for slice_ in slices if self._resets.get(slice_, 0) < member.position]
        if not others or member.message in self._recent_ids:
            return bool(others)
        return any(self._stored.contains(slice_, member) for slice_ in others)

    @cached_property
    def _recent_ids(self) -> set[int]:
        return {one.id for one in self._batch.recent} | {task.message.id for task in self._batch.tasks}

    def _processed(self, task: Task, outcome: Outcome) -> Processed:
        message = task.message
        return Processed(
            message=message.id,
            queue=message.queue,
            position=task.position,
            at=task.now,
            version=self._version,
            failed=bool(outcome.failures),
            held=self._is_held(message.queue),
            transient=message.transient,
            joins=task.slices,
            entries=outcome.entries,
            resets=outcome.resets,
            produced=outcome.produced,
        )

    def _is_held(self, name: str) -> bool:
        queue = self._plan.queues.get(name)
        return queue is not None and queue.kind is QueueKind.OUTGOING_GATEWAY


class _Stored:
    """The members of slices that the store knows. Those of all slices that are reset are loaded together."""

    def __init__(self, reader: Reader, plan: Plan) -> None:
        self._reader = reader
        self._plan = plan
        self._members: dict[Slice, dict[int, Member]] = {}
        self._messages: dict[int, Message] = {}

    def load(self, slices: Iterable[Slice]) -> None:
        """Slices, and the messages in them."""
        wanted = list(dict.fromkeys(slices))
        self._load_members(wanted)
        ids = {number for slice_ in wanted for number in self._members[slice_] if number not in self._messages}
        if ids:
            self._messages.update(self._reader.messages(ids, light=True))

    def _load_members(self, slices: Sequence[Slice]) -> None:
        absent = [slice_ for slice_ in slices if slice_ not in self._members]
        if absent:
            for slice_, members in self._reader.members(absent).items():
                self._members[slice_] = {member.message: member for member in members}

    def members(self, slice_: Slice) -> list[_Joined]:
        self.load([slice_])
        found = [member for member in self._members[slice_].values() if member.message in self._messages]
        return [(member, self._plan.slices(self._messages[member.message])) for member in found]

    def contains(self, slice_: Slice, member: Member) -> bool:
        self._load_members([slice_])
        return member.message in self._members[slice_]


def processed_message(task: Task) -> Message:
    """The message as it will be when the batch is committed."""
    return replace(task.message, position=task.position)
