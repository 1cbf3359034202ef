"""Evaluation is one pure function of the plan's text, the store's address and the batch."""

import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from demaq import ManualClock, Node
from demaq.engine.evaluate import evaluate
from demaq.engine.evaluator import Evaluator
from demaq.engine.plan import plan_of
from demaq.engine.records import Batch, Task
from demaq.language import check
from demaq.model import Message, Origin, Value
from demaq.store import MemoryStore, open_store

NOW = datetime(2024, 1, 1, tzinfo=UTC)
APP = """
create queue inbox kind basic
create queue outbox kind outgoingGateway
create property k as xs:string queue inbox value /*/@k
create slicing ks on k
create rule tell for ks
if (/a) then
  do enqueue <n at="{current-dateTime()}">{count(qs:slice()), count(qs:queue("inbox")[/a/@k = "x"])}</n> into outbox
create rule forget for ks if (/end) then do reset
"""
LONG = """
create queue inbox kind basic
create queue outbox kind outgoingGateway
create rule r for inbox if (/a) then do enqueue <n>{(1 to 100) ! "x"}</n> into outbox
"""
_MAPS = {
    'as array(*) { ["enqueue", $queue, $body, $properties] }': (
        'as map(*) { map { "do" : "enqueue", "queue" : $queue, "body" : $body, "properties" : $properties } }'
    ),
    'as array(*) { ["reset", $slicing, $key] }': (
        'as map(*) { map { "do" : "reset", "slicing" : $slicing, "key" : $key } }'
    ),
}


def test_another_process_gives_the_same_outcomes(tmp_path: Path) -> None:
    file = tmp_path / "app.demaq"
    file.write_text(APP, encoding="utf-8")
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with Node(file, url, clock=ManualClock(NOW), inline=True) as node:
        node.send_many("inbox", ["<a k='x'/>", "<a k='y'/>"])
        node.run_until_idle()
        node.send_many("inbox", ["<a k='x'/>", "<a k='x'/>"])
    store = open_store(url)
    position = store.position()
    waiting = store.waiting(10)
    store.close()
    program = plan_of(check(file))
    plan = program.text
    batch = Batch(
        tasks=tuple(
            Task(message, position + number, NOW, program.slices(message)) for number, message in enumerate(waiting, 1)
        )
    )
    here = evaluate(plan, url, batch)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        there = pool.submit(evaluate, plan, url, batch).result(60)
    assert here == there == evaluate(plan, url, batch)
    assert [message.body for outcome in here for message in outcome.produced] == [
        '<n at="2024-01-01T00:00:00Z">2 2</n>',
        '<n at="2024-01-01T00:00:00Z">3 3</n>',
    ]


def test_programs_of_earlier_versions_run_as_they_are(tmp_path: Path) -> None:
    """A log may hold a program whose actions are maps."""
    file = tmp_path / "app.demaq"
    file.write_text(APP, encoding="utf-8")
    program = plan_of(check(file))
    plan = program.text
    message = Message(
        id=1, queue="inbox", body="<a/>", properties={"k": Value("xs:string", "x")}, origin=Origin.OUTSIDE, created=NOW
    )
    end = replace(message, id=2, body="<end/>")
    slices = program.slices(message)
    batch = Batch(tasks=(Task(message, 1, NOW, slices), Task(end, 2, NOW, slices)))
    earlier = json.loads(plan)
    for rule in earlier["rules"]:
        rule["function"]["text"] = rule["function"]["text"].replace("demaq:enqueue-built", "demaq:enqueue")
    for module, prolog in earlier["modules"].items():
        for new, old in _MAPS.items():
            assert prolog.count(new) == 1
            prolog = prolog.replace(new, old)
        earlier["modules"][module] = prolog
    found = evaluate(json.dumps(earlier), None, batch)
    assert found == evaluate(plan, None, batch)
    assert [len(outcome.produced) for outcome in found] == [1, 0]
    assert [len(outcome.resets) for outcome in found] == [0, 1]


def test_messages_that_come_without_their_bodies_are_read_once(tmp_path: Path) -> None:
    file = tmp_path / "app.demaq"
    file.write_text(APP, encoding="utf-8")
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with Node(file, url, clock=ManualClock(NOW), inline=True) as node:
        node.send_many("inbox", [f"<a k='{n % 3}'/>" for n in range(9)])
    program = plan_of(check(file))
    store = open_store(url, read_only=True)
    whole, light = (
        Batch(
            tasks=tuple(Task(one, n, NOW, program.slices(one)) for n, one in enumerate(store.waiting(9, light=way), 1))
        )
        for way in (False, True)
    )
    evaluator = Evaluator(program)
    with (
        patch.object(store, "bodies", wraps=store.bodies) as bodies,
        patch.object(store, "messages", wraps=store.messages) as messages,
    ):
        found = list(evaluator.process(light, store))
    assert (bodies.call_count, messages.call_count) == (1, 0)
    assert found == list(Evaluator(program).process(whole, store))
    store.close()


@pytest.mark.parametrize(
    ("together", "small", "order"),
    [
        (4, 10**6, "aaaaccccaaaaccccac"),
        (4, 1, "ac" * 9),  # each message is large
        (4, 300, "aaaaccacacaaaaccacacac"),  # two answers are: what was to be asked next is asked again
    ],
)
def test_what_is_held_while_the_engine_is_asked_is_bounded(
    tmp_path: Path, together: int, small: int, order: str
) -> None:
    """`a`: what a message needs is put together. `c`: the engine is called."""
    file = tmp_path / "app.demaq"
    file.write_text(LONG, encoding="utf-8")
    program = plan_of(check(file))
    messages = [Message(id=n, queue="inbox", body="<a/>", properties={}, created=NOW) for n in range(1, 10)]
    batch = Batch(tasks=tuple(Task(one, one.id, NOW, ()) for one in messages))
    expected = list(Evaluator(program).process(batch, MemoryStore()))
    told: list[str] = []

    def telling(name: str, letter: str) -> Any:
        own = getattr(Evaluator, name)

        def work(*arguments: Any, **named: Any) -> Any:
            told.append(letter)
            return own(*arguments, **named)

        return patch.object(Evaluator, name, work)

    with (
        patch("demaq.engine.evaluator._TOGETHER", together),
        patch("demaq.engine.evaluator._SMALL", small),
        telling("_arguments", "a"),
        telling("_answer", "c"),
    ):
        found = list(Evaluator(program).process(batch, MemoryStore()))
    assert found == expected
    assert "".join(told) == order
