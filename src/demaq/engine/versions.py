"""Versions of the program: put into force between two batches, without stopping and without losing anything."""

from collections.abc import Callable, Iterator, Sequence

from demaq.engine.executor import Executor
from demaq.engine.pipelines import unfinished
from demaq.engine.plan import Plan, plan_from_text
from demaq.model import Message, QueueKind
from demaq.store import Index, Member, Store

Progress = Callable[[int, int], None]
"""Is told how many messages are done, and how many there are."""

_AT_ONCE = 500


def latest_plan(store: Store) -> Plan | None:
    """The version that was deployed last and not refused."""
    number = store.latest_version()
    return plan_from_text(store.version(number).plan) if number else None


def obstacles(plan: Plan, old: Plan | None, store: Store) -> list[str]:
    """Why a plan cannot come into force now: what it would lose."""
    found = []
    for counted in store.counts():
        there = counted.waiting + counted.retained + counted.held
        queue = plan.queues.get(counted.queue)
        if queue is None and there:
            unsent = f", and {_count(counted.held, 'unsent')}" if counted.held else ""
            found.append(
                f"the queue `{counted.queue}` is gone, but holds {_count(counted.waiting, 'waiting')} and "
                f"{_count(counted.retained, 'retained')}{unsent}: keep the queue until they are processed and reset"
            )
        before = None if old is None else old.queues.get(counted.queue)
        if queue is None or before is None or not counted.waiting:
            continue
        if (queue.kind is QueueKind.ECHO) != (before.kind is QueueKind.ECHO):
            found.append(
                f"the queue `{queue.name}` changes from `{before.kind.value}` to `{queue.kind.value}`, but holds "
                f"{_count(counted.waiting, 'waiting')}: let them be processed first"
            )
    return found + unfinished(plan.pipelines, None if old is None else old.pipelines, store)


def _count(number: int, what: str) -> str:
    return f"{number} {what} message{'' if number == 1 else 's'}"


def new_indexes(plan: Plan, old: Plan | None) -> list[Index]:
    known = set() if old is None else set(old.indexes)
    return [index for index in plan.indexes if index not in known]


def fill(indexes: Sequence[Index], store: Store, executor: Executor, progress: Progress) -> None:
    """Fill new indexes with the messages that are retained already. The executor has the new plan."""
    queues = list(dict.fromkeys(index.queue for index in indexes))
    members = {queue: found for queue, found in store.retained(queues).items() if found} if queues else {}
    total = sum(map(len, members.values()))
    done = 0
    for messages, some in _chunks(members, store):
        entries = executor.entries(messages)
        wanted = set(indexes)
        store.add_entries(
            [
                (entry, member)
                for found, member in zip(entries, some, strict=True)
                for entry in dict.fromkeys(found)
                if entry.index in wanted
            ]
        )
        done += len(some)
        progress(done, total)


def _chunks(members: dict[str, list[Member]], store: Store) -> Iterator[tuple[list[Message], list[Member]]]:
    for found in members.values():
        for start in range(0, len(found), _AT_ONCE):
            some = found[start : start + _AT_ONCE]
            messages = store.messages([member.message for member in some])
            there = [member for member in some if member.message in messages]
            yield [messages[member.message] for member in there], there
