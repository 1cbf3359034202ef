"""Small applications that run in tests: messages go in, the engine processes them, and the log tells what happened."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lxml import etree

from demaq.engine.engine import Engine
from demaq.engine.executor import Executor, InlineExecutor, Pending
from demaq.engine.plan import Plan, plan_of
from demaq.engine.records import Batch, Incoming, Outcome
from demaq.engine.xml import MessageRefused
from demaq.language import check
from demaq.model import Limits, ManualClock, Message, Slice, Value
from demaq.store import MemoryStore, Selection, Store

START = datetime(2007, 1, 10, 12, tzinfo=UTC)
_STEPS = 10_000  # more than any test takes
NEVER = 1_000_000_000  # messages that are never in a batch: none is begun ahead


def plan_from(folder: Path, text: str, files: Mapping[str, str] | None = None) -> Plan:
    """The plan of an application with one module `main.demaq`, and other files beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in {"main.demaq": text, **(files or {})}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return plan_at(folder)


def plan_at(folder: Path) -> Plan:
    checked = check(folder)
    assert checked.program is not None, [diagnostic.message for diagnostic in checked.report]
    return plan_of(checked)


class LateExecutor(InlineExecutor):
    """Evaluates a batch when its outcomes are asked for: what was begun ahead, after the batch before is committed."""

    def start(self, batch: Batch) -> Pending:
        return _Late(self, batch)


class _Late:
    def __init__(self, executor: InlineExecutor, batch: Batch) -> None:
        self._executor = executor
        self._batch = batch
        self._found: Sequence[Outcome] | None = None
        self.where = "node"

    def outcomes(self) -> Sequence[Outcome]:
        if self._found is None:
            self._found = self._executor.evaluate(self._batch)
        return self._found


def deploy(store: Store, plan: Plan, at: datetime = START) -> None:
    store.propose(plan.application, plan.text, at)


class Running:
    """An application that runs in a store. Time stands still unless it is moved."""

    def __init__(
        self,
        plan: Plan,
        store: Store | None = None,
        executor: Executor | None = None,
        *,
        batch: int = 256,
        ahead: int = 1,
        limits: Limits | None = None,
        start: datetime = START,
    ) -> None:
        plan = plan if limits is None else replace(plan, limits=limits)
        self.base = MemoryStore() if store is None else store
        self.clock = ManualClock(start)
        self.executor = executor or InlineExecutor(self.base)
        if not any(version.plan == plan.text for version in self.base.versions()):
            deploy(self.base, plan, start)
        self.engine = Engine(self.base, self.executor, self.clock, batch=batch, ahead=ahead)
        assert self.engine.plan.text == plan.text, "the plan was refused"

    def send(self, queue: str, *bodies: str | bytes, **properties: Value) -> list[int | MessageRefused]:
        now = self.clock.now()
        return self.engine.send([Incoming(queue=queue, body=body, properties=properties, now=now) for body in bodies])

    def refused(self, queue: str, body: str | bytes, **properties: Value) -> MessageRefused:
        """Why a message is not taken in."""
        (answer,) = self.send(queue, body, **properties)
        assert isinstance(answer, MessageRefused), f"message {answer} was taken in"
        return answer

    def run(self) -> int:
        """Process until nothing waits; how many messages were processed."""
        processed = 0
        for _ in range(_STEPS):
            step = self.engine.step()
            if step is None:
                self.check_ledger()
                return processed
            processed += step.processed
        raise AssertionError("this goes on for ever")

    def play(self, queue: str, *bodies: str) -> None:
        """Send messages, one after the other, and process each with all that follows from it."""
        for body in bodies:
            answers = self.send(queue, body)
            assert not any(isinstance(answer, MessageRefused) for answer in answers), answers
            self.run()

    def advance(self, **by: float) -> None:
        self.clock.advance(timedelta(**by))
        self.run()

    def check_ledger(self) -> None:
        assert [counts.mismatch for counts in self.engine.store.counts() if counts.mismatch] == []

    # What is there

    def messages(self, queue: str | None = None) -> list[Message]:
        """All messages, those that rules no longer see included."""
        return self.engine.store.select(Selection(queue=queue, everything=True))

    def bodies(self, queue: str) -> list[str]:
        return [message.body for message in self.messages(queue)]

    def retained(self, queue: str) -> list[str]:
        """The bodies of messages that wait, or that rules see."""
        return [message.body for message in self.engine.store.select(Selection(queue=queue))]

    def members(self, slicing: str, key: str) -> list[int]:
        slice_ = Slice(slicing, key)
        return [member.message for member in self.engine.store.members([slice_])[slice_]]

    def order(self) -> list[int]:
        """The ids of processed messages, in the order of processing."""
        done = [message for message in self.messages() if message.position is not None]
        return [message.id for message in sorted(done, key=lambda message: message.position or 0)]

    def errors(self, queue: str = "systemErrors") -> list["Problem"]:
        return [problem(message.body) for message in self.messages(queue)]

    def log(self) -> dict[str, Any]:
        return log_of(self.engine.store)


Start = Callable[..., Running]
"""Starts an application with this text."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """An error message, read."""

    kind: str
    code: str
    description: str
    queue: str
    rule: str
    line: str
    column: str
    file: str
    message: str
    time: str
    initial: str


def problem(body: str) -> Problem:
    root = etree.fromstring(body)
    assert root.tag == "error", body
    location, initial = root.find("location"), root.find("initialMessage")
    inside = "".join(etree.tostring(child, encoding="unicode") for child in initial)
    return Problem(
        kind=root[0].tag,
        code=root.findtext("code"),
        description=root.findtext("description"),
        queue=root.findtext("queue"),
        rule=root.findtext("rule"),
        line=location.get("line"),
        column=location.get("column"),
        file=location.get("file", ""),
        message=root.findtext("messageID"),
        time=root.findtext("time"),
        initial=(initial.text or "") + inside,
    )


def log_of(store: Store) -> dict[str, Any]:
    """All that two runs with the same result have in common, to be compared."""
    messages = store.select(Selection(everything=True))
    return {
        "messages": [_row(message) for message in messages],
        "resets": {message.id: _sorted(found) for message in messages if (found := store.resets_of(message.id))},
        "members": {
            (slice_.slicing, slice_.key): [(one.position, one.message) for one in store.members([slice_])[slice_]]
            for slice_, _ in store.slices()
        },
        "counts": store.counts(),
        "position": store.position(),
    }


def _sorted(slices: Sequence[Slice]) -> list[Slice]:
    return sorted(slices, key=lambda slice_: (slice_.slicing, slice_.key))


def _row(message: Message) -> tuple[Any, ...]:
    return (
        message.id,
        message.position,
        message.queue,
        message.body,
        sorted((name, value.type, value.text) for name, value in message.properties.items()),
        message.state.value,
        message.retained,
        message.origin.value,
        message.cause,
        message.rule,
        message.created,
        message.processed,
        message.due,
        message.version,
    )


def text_values(messages: Sequence[Message], name: str) -> list[str | None]:
    """The values of a property."""
    found = [message.properties.get(name) for message in messages]
    return [None if value is None else value.text for value in found]
