"""The log, as people want to look at it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from demaq.diagnostics import DemaqError
from demaq.engine.destinations import Destination, failing_destinations
from demaq.engine.pipelines import places
from demaq.engine.plan import plan_from_text
from demaq.model import Message, MessageState, Origin, Slice
from demaq.store import QueueCounts, Selection, Store, Version

MOST_TRACED = 10_000
"""The messages of a trace whose effects are looked up."""


class MessageUnknown(DemaqError):
    """There is no message of that id. It may have been reclaimed."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A message with all that came of it. `is_asked_for` marks the one whose trace this is."""

    message: Message
    resets: tuple[Slice, ...]
    effects: tuple["Trace", ...]
    is_asked_for: bool = False

    def walk(self, depth: int = 0) -> Iterator[tuple[int, "Trace"]]:
        ahead = [(depth, self)]
        while ahead:
            depth, found = ahead.pop()
            yield depth, found
            ahead.extend((depth + 1, effect) for effect in reversed(found.effects))


@dataclass(frozen=True, slots=True)
class PipelineStatus:
    """A pipeline has had all messages of its queues up to a position; so many of them wait for others."""

    name: str
    position: int
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How a store stands. `alarms` say what does not add up; `spark` is what the node told last of its use of it,
    `destinations` are those that it could not send to then."""

    version: Version | None
    position: int
    queues: tuple[QueueCounts, ...]
    next_due: datetime | None
    spark: Mapping[str, Any] | None = None
    pipelines: tuple["PipelineStatus", ...] = ()
    destinations: tuple[Destination, ...] = ()

    @property
    def alarms(self) -> list[str]:
        return [counted.mismatch for counted in self.queues if counted.mismatch is not None]


class Log:
    def __init__(self, store: Store) -> None:
        self._store = store

    def messages(
        self, queue: str | None = None, *, everything: bool = False, limit: int | None = None, after: int = 0
    ) -> list[Message]:
        """The messages that wait or are retained, of one queue or of all; with `everything`, also those only kept."""
        return self._store.select(Selection(queue=queue, everything=everything, limit=limit, after=after))

    def message(self, number: int) -> Message:
        found = self._store.messages([number])
        if number not in found:
            raise MessageUnknown(f"there is no message {number}: it was never there, or it was reclaimed")
        return found[number]

    def slices(self, slicing: str | None = None) -> list[tuple[Slice, int]]:
        """The slices that have members, and how many."""
        return self._store.slices(slicing)

    def slice(self, slicing: str, key: str, *, limit: int | None = None, after: int = 0) -> list[Message]:
        """The members of a slice in its current lifetime, behind a position, in the order of their positions."""
        slice_ = Slice(slicing, key)
        members = [member for member in self._store.members([slice_])[slice_] if member.position > after]
        ids = [member.message for member in members[:limit]]
        found = self._store.messages(ids)
        return [found[number] for number in ids]

    def errors(self, *, limit: int | None = None, after: int = 0) -> list[Message]:
        """Error messages, the latest first; those behind one of them."""
        return self._store.select(
            Selection(everything=True, origin=Origin.ERROR, newest_first=True, limit=limit, after=after)
        )

    def failed(self, error: Message) -> Message | None:
        """The message that an error message is about, if it became one."""
        if error.cause is None:
            return error if error.state is MessageState.FAILED else None
        return self._store.messages([error.cause]).get(error.cause)

    def retried_as(self, number: int) -> int | None:
        return self._store.retry_of(number)

    def timers(self, *, limit: int | None = None, after: int = 0) -> list[Message]:
        """The messages that wait in echo queues, in the order in which they are due; those behind one of them."""
        before = self._store.messages([after], light=True).get(after)
        due = None if before is None else before.due
        return self._store.select(Selection(timers=True, limit=limit, after=after, due=due))

    def trace(self, number: int) -> Trace:
        """Where a message came from, and what came of it: the whole tree, from its first cause on."""
        first = message = self.message(number)
        while first.cause is not None:
            causes = self._store.messages([first.cause])
            if first.cause not in causes:
                break  # reclaimed
            first = causes[first.cause]
        return self._traced(first, message.id)

    def _traced(self, first: Message, asked_for: int) -> Trace:
        caused = self._caused(first)
        traces: dict[int, Trace] = {}
        for message, effects in reversed(caused):
            resets = tuple(self._store.resets_of(message.id))
            traced = tuple(traces.pop(effect.id) for effect in effects)
            traces[message.id] = Trace(message, resets, traced, message.id == asked_for)
        return traces[first.id]

    def _caused(self, first: Message) -> list[tuple[Message, list[Message]]]:
        """Messages with those that they caused, each message before its effects."""
        found: list[tuple[Message, list[Message]]] = []
        ahead = [first]
        while ahead:
            message = ahead.pop()
            is_looked_up = len(found) < MOST_TRACED
            effects = self._store.select(Selection(everything=True, caused_by=message.id)) if is_looked_up else []
            found.append((message, effects))
            ahead.extend(reversed(effects))
        return found

    def status(self) -> Status:
        versions = [version for version in self._store.versions() if version.position is not None]
        notes = self._store.notes()
        plan = plan_from_text(versions[-1].plan) if versions else None
        return Status(
            version=versions[-1] if versions else None,
            position=self._store.position(),
            queues=tuple(self._store.counts()),
            next_due=self._store.next_due(),
            spark=json.loads(notes["spark"][0]) if "spark" in notes else None,
            pipelines=tuple(
                PipelineStatus(name, place.position, place.waiting)
                for name, place in places(self._store).items()
                if plan is not None and name in plan.pipelines
            ),
            destinations=failing_destinations(self._store),
        )
