"""Which messages of a batch are evaluated together on Spark, and where a batch is evaluated at all."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demaq.engine.plan import Plan
from demaq.engine.records import Batch, Task, mate_of
from demaq.model import Message, Value
from demaq.spark.choice import Costs
from demaq.spark.partition import Homes, Partitions, partitions
from running import START, plan_from

TEXT = """
create queue orders kind basic
create queue notes kind basic
create queue out kind outgoingGateway
create property customer as xs:string queue orders, notes
create slicing customers on customer
create rule tell for customers if (/order) then do enqueue <n>{count(qs:slice())}</n> into out
create rule look for orders if (/look) then do enqueue <n>{count(qs:queue("notes"))}</n> into out
create rule forget for customers if (/forget) then do reset
"""


@cache
def plan() -> Plan:
    with TemporaryDirectory() as folder:
        return plan_from(Path(folder) / "app", TEXT)


def tasks(*customers: str | None, queue: str = "orders") -> list[Task]:
    """Messages of these customers, in the order of their positions."""
    messages = [
        Message(
            id=10 + number,
            queue=queue,
            body="",
            properties={} if customer is None else {"customer": Value("xs:string", customer)},
            created=START,
        )
        for number, customer in enumerate(customers)
    ]
    return [Task(message, number, START, plan().slices(message)) for number, message in enumerate(messages)]


def parted(found: Sequence[Task], number: int, homes: Mapping[int, int] | None = None) -> Partitions:
    known = Homes()
    for message, home in (homes or {}).items():
        known.note(message, home)
    return partitions(Batch(tasks=tuple(found)), plan(), number, known)


@given(st.lists(st.sampled_from([None, "a", "b", "c", "d"]), min_size=1, max_size=60), st.integers(1, 7))
def test_every_message_is_evaluated_once_and_sees_what_it_may_read(customers: list[str | None], number: int) -> None:
    found = tasks(*customers)
    parts = parted(found, number).parts
    assert sorted(one for part in parts for one in part.tasks) == list(range(len(customers)))
    assert len(parts) <= number
    for part in parts:
        mates = {mate.position for mate in part.mates}
        assert not set(part.tasks) & mates
        for own in part.tasks:
            earlier = {n for n in range(own) if customers[n] is not None and customers[n] == customers[own]}
            assert earlier <= {*part.tasks, *mates}


def test_a_slice_is_kept_together() -> None:
    parts = parted(tasks(*["a", "b", "c", "d"] * 5), 2).parts
    assert [len(part.tasks) for part in parts] == [10, 10]
    assert all(part.mates == () for part in parts)


def test_a_slice_with_half_of_all_messages_is_divided() -> None:
    parts = parted(tasks(*["big"] * 50, *(f"small{n}" for n in range(50))), 4).parts
    assert max(len(part.tasks) for part in parts) <= 30
    assert any(part.mates for part in parts)


def test_messages_of_a_queue_that_is_read_are_seen_by_all() -> None:
    found = [*tasks("a", queue="notes"), *tasks(*(f"c{n}" for n in range(9)))]
    found = [Task(task.message, n, START, task.slices) for n, task in enumerate(found)]
    assert [mate.position for mate in parted(found, 3).shared] == [0]


def test_messages_of_the_batch_before_are_seen_where_their_slices_are() -> None:
    before = [Task(task.message, -10 + n, START, task.slices) for n, task in enumerate(tasks("a", "b", "c", None))]
    batch = Batch(tasks=tuple(tasks("b", "c", "b")), mates=tuple(mate_of(task) for task in before if task.slices))
    found = partitions(batch, plan(), 2)
    assert found.shared == ()
    assert sorted([mate.position for mate in part.mates] for part in found.parts) == [[-9], [-8]]


def test_where_a_batch_is_evaluated_follows_what_was_measured() -> None:
    costs = Costs(local=0.001, spark=0.0005, job=0.2)
    costs.note_spark(1000, 10.0)  # the first job: workers had to be made
    assert costs.worthwhile == 400
    for _ in range(50):
        costs.note_spark(1000, 0.2 + 1000 * 0.00025)
        costs.note_local(1000, 1000 * 0.0005)
    assert costs.worthwhile == pytest.approx(800, rel=0.01)
    for _ in range(50):
        costs.note_local(1000, 1000 * 0.0001)
    assert costs.worthwhile is None


def test_the_first_measurement_takes_the_place_of_what_was_assumed() -> None:
    costs = Costs()
    costs.note_local(1000, 1000 * 0.002)
    assert costs.local == pytest.approx(0.002)
    costs.note_spark(1000, 10.0)  # with workers that know nothing
    assert costs.spark == Costs().spark
    costs.note_spark(1000, 0.2 + 1000 * 0.001)
    assert costs.spark == pytest.approx(0.001)
    costs.note_local(1000, 1000 * 0.003)
    assert costs.local == pytest.approx(0.002 + 0.3 * 0.001)
    costs.note_local(1, 0.0)  # the worker died
    assert costs.local == pytest.approx(0.002 + 0.3 * 0.001)


def test_spark_is_tried_again_now_and_then() -> None:
    costs = Costs()
    for _ in range(2):
        costs.note_spark(1000, 0.2 + 1000 * 0.01)  # it was busy with something else
    for _ in range(199):
        costs.note_local(1000, 1000 * 0.001)
    assert costs.worthwhile is None
    costs.note_local(1000, 1000 * 0.001)
    assert costs.worthwhile == 4000
    costs.note_spark(4000, 10.0)  # its workers had gone meanwhile
    assert costs.worthwhile == 4000
    costs.note_spark(4000, 0.2 + 4000 * 0.01)
    assert costs.worthwhile is None
    for _ in range(200):
        costs.note_local(1000, 1000 * 0.001)
    for _ in range(2):
        costs.note_spark(4000, 0.2 + 4000 * 0.0005)
    assert costs.worthwhile == 400


def test_messages_without_slices_are_spread() -> None:
    parts = parted(tasks(*[None] * 100), 4).parts
    assert sorted(len(part.tasks) for part in parts) == pytest.approx([25] * 4, abs=3)
    assert all(part.mates == () for part in parts)


def test_what_messages_have_caused_is_evaluated_where_they_were() -> None:
    found = [
        Task(replace(task.message, cause=n % 4), task.position, task.now, task.slices)
        for n, task in enumerate([*tasks(*[None] * 80), *tasks(*(f"c{n}" for n in range(80)))])
    ]
    parts = parted(found, 4, {0: 2, 1: 3, 2: 0, 3: 1}).parts
    homes = [{found[number].message.cause for number in part.tasks} for part in parts]
    assert homes == [{2}, {3}, {0}, {1}]
    parts = parted(found, 4, {0: 1, 1: 1, 2: 1, 3: 1}).parts
    assert [len(part.tasks) for part in parts] == [40] * 4


def test_where_messages_were_is_known_for_many_batches() -> None:
    homes = Homes()
    first = tasks(*(f"c{n}" for n in range(100)))
    before = partitions(Batch(tasks=tuple(first)), plan(), 4, homes)
    for _ in range(20):
        others = [replace(task.message, id=1000 + n) for n, task in enumerate(tasks(*[None] * 100))]
        partitions(Batch(tasks=tuple(Task(one, 0, START, ()) for one in others)), plan(), 4, homes)
    caused = [
        Task(replace(task.message, id=5000 + task.message.id, cause=task.message.id), 0, START, ()) for task in first
    ]
    after = partitions(Batch(tasks=tuple(caused)), plan(), 4, homes)
    assert [part.tasks for part in after.parts] == [part.tasks for part in before.parts]


def test_where_messages_were_takes_no_more_memory_than_it_may() -> None:
    homes = Homes(8)
    homes.note(3, 5)
    assert (homes.of(3), homes.of(4), homes.of(None)) == (5, None, None)
    homes.note(11, 6)
    assert (homes.of(11), homes.of(3)) == (6, 6)  # wrong, and harmless
    homes.note(4, 70_000)
    assert homes.of(4) == 70_000 % 65_535
