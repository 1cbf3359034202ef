"""A rule that takes too much costs its message an error, and the worker its life, never the node's."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from demaq.engine.evaluate import evaluator_with_room
from demaq.engine.evaluator import Care, Evaluator
from demaq.engine.local import LocalExecutor
from demaq.engine.records import Batch, Incoming, Task
from demaq.engine.xml import MessageRefused
from demaq.model import Limits, Message
from demaq.store import MemoryStore, Store, open_store
from demaq.xquery.saxon import Saxon, SaxonExhausted
from running import START, Running, plan_from

MEGABYTE = 1024 * 1024
TIGHT = Limits(seconds=1, memory=1200 * MEGABYTE)
SHOP = """
create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create property key as xs:string fixed queue inbox value /*/@key
create slicing keys on key
create rule forget for keys if (/end) then do reset
create rule good for inbox if (/*) then do enqueue <good>{/*/@n}</good> into out
declare function local:deep($n as xs:integer) as xs:integer { if ($n lt 0) then 0 else 1 + local:deep($n + 1) };
declare function local:tail($n as xs:integer) as xs:integer { if ($n lt 0) then 0 else local:tail($n + 1) };
declare function local:double($s as xs:string, $n as xs:integer) as xs:string {
  if ($n le 0) then $s else local:double($s || $s, $n - 1)
};
create rule deep for inbox if (/deep) then do enqueue <bad>{local:deep(/deep/@n)}</bad> into out
create rule tail for inbox if (/tail) then do enqueue <bad>{local:tail(/tail/@n)}</bad> into out
create rule loop for inbox
if (/loop) then
  let $found := for $n in 1 to 1000000, $m in 1 to 1000000 where $n * $m = /loop/@n return $n
  return do enqueue <bad>{count($found)}</bad> into out
create rule text for inbox
if (/text) then do enqueue <bad>{string-length(local:double("0123456789abcdef", /text/@n))}</bad> into out
create rule sequence for inbox
if (/sequence) then
  let $all := for $n in 1 to xs:integer(/sequence/@n) return <n>{$n}</n>
  return do enqueue <bad>{count($all), string($all[last()])}</bad> into out
"""


class Shop(Running):
    """An application whose rules are evaluated in a worker."""

    def __init__(self, folder: Path, limits: Limits, text: str = SHOP) -> None:
        url = f"sqlite:///{folder / 'log.db'}"
        self.store: Store = open_store(url)
        self.worker = LocalExecutor(url)
        super().__init__(plan_from(folder / "app", text), self.store, self.worker, limits=limits)

    def close(self) -> None:
        self.worker.close()
        self.store.close()

    def kill(self) -> None:
        assert self.worker.pid is not None
        os.kill(self.worker.pid, signal.SIGKILL)


Open = Callable[..., Shop]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    shops: list[Shop] = []

    def shop(limits: Limits = TIGHT, text: str = SHOP) -> Shop:
        shops.append(Shop(tmp_path, limits, text))
        return shops[-1]

    yield shop
    for one in shops:
        one.close()


@pytest.mark.parametrize(
    ("rule", "n"),
    [("deep", 1), ("tail", 1), ("loop", 3), ("text", 30), ("sequence", 20_000_000)],
)
def test_a_rule_that_takes_too_much_costs_its_message_an_error(opened: Open, rule: str, n: int) -> None:
    shop = opened()
    shop.send("inbox", '<m n="1" key="1"/>', f'<{rule} n="{n}" key="1"/>', '<m n="2" key="1"/>')
    shop.run()
    (error,) = shop.errors()
    assert (error.kind, error.rule, error.message, error.file) == ("resource", rule, "2", "main.demaq")
    assert error.description
    assert shop.bodies("out") == ['<good n="1"/>', '<good n="2"/>']
    shop.play("inbox", '<m n="3"/>')
    assert shop.bodies("out")[2:] == ['<good n="3"/>']


def test_several_rules_of_a_message_that_take_too_much_are_all_named(opened: Open) -> None:
    shop = opened(
        TIGHT,
        SHOP + "create rule again for inbox if (/tail) then do enqueue <bad>{local:tail(/tail/@n)}</bad> into out\n",
    )
    shop.play("inbox", '<tail n="1"/>')
    assert [(error.kind, error.rule) for error in shop.errors()] == [("resource", "tail"), ("resource", "again")]
    assert shop.bodies("out") == []


def test_two_messages_that_take_too_much_do_not_hold_up_a_batch(opened: Open) -> None:
    shop = opened()
    shop.send("inbox", *['<m n="1"/>', '<tail n="1"/>'] * 2, '<m n="1"/>')
    shop.run()
    assert [error.rule for error in shop.errors()] == ["tail"] * 2
    assert len(shop.bodies("out")) == 3


def test_a_worker_that_is_killed_between_batches_is_replaced(opened: Open) -> None:
    shop = opened()
    shop.play("inbox", '<m n="1" key="1"/>')
    before = shop.worker.pid
    shop.kill()
    shop.play("inbox", '<m n="2" key="1"/>')
    assert shop.worker.pid != before
    assert shop.bodies("out") == ['<good n="1"/>', '<good n="2"/>']
    assert shop.errors() == []


def test_a_worker_that_is_killed_before_messages_come_in_is_replaced(opened: Open) -> None:
    shop = opened()
    shop.kill()
    time.sleep(0.1)
    assert shop.send("inbox", '<m n="1"/>') == [1]
    shop.run()
    assert shop.bodies("out") == ['<good n="1"/>']


SLOW = """
create rule slow for inbox
if (/slow) then do enqueue <slow>{count(for $n in 1 to 300000 where $n mod 7 = /slow/@n return $n)}</slow> into out
"""


def test_a_worker_that_is_killed_during_a_batch_does_it_again(opened: Open) -> None:
    shop = opened(Limits(), SHOP + SLOW)
    shop.send("inbox", *(f'<slow n="{n}"/>' for n in range(5)), '<m n="9"/>')
    killer = threading.Timer(0.4, shop.kill)
    killer.start()
    shop.run()
    killer.join()
    assert shop.errors() == []
    assert len(shop.bodies("out")) == 11
    assert shop.bodies("out")[1] == "<slow>42857</slow>"


def test_a_worker_is_replaced_when_it_is_worn_out_by_names(opened: Open) -> None:
    shop = opened(Limits(worker_names=300))
    seen = set()
    for n in range(3):
        body = f'<m n="{n}">' + "".join(f"<n{n}-{m}/>" for m in range(200)) + "</m>"
        shop.play("inbox", body)
        seen.add(shop.worker.pid)
    assert len(seen) >= 2
    assert shop.bodies("out") == [f'<good n="{n}"/>' for n in range(3)]


def test_an_engine_that_has_seen_many_names_makes_room_for_another(tmp_path: Path) -> None:
    plan = replace(plan_from(tmp_path, SHOP), limits=Limits(worker_names=300)).text
    before = evaluator_with_room(plan)
    assert evaluator_with_room(plan) is before
    body = "<m>" + "".join(f"<n{m}/>" for m in range(400)) + "</m>"
    before.admission.admit(Incoming(queue="inbox", body=body, now=START))
    assert before.is_worn_out
    after = evaluator_with_room(plan)
    assert after is not before
    assert not after.is_worn_out


NAMES = """
create rule names for inbox
if (/names) then do enqueue
  <names>{count((1 to xs:integer(/names/@n)) ! element {"n" || qs:property("sys:id") || "-" || .} {})}</names>
into out
"""


def test_a_worker_is_replaced_when_rules_have_made_too_many_names(opened: Open) -> None:
    shop = opened(Limits(), SHOP + NAMES)
    shop.send("inbox", *['<names n="400000"/>'] * 3, '<m n="1"/>', '<names n="1200000"/>', '<m n="2"/>')
    shop.run()
    assert [body for body in shop.bodies("out") if "names" in body] == ["<names>400000</names>"] * 3
    assert [body for body in shop.bodies("out") if 'n="1"' in body or 'n="2"' in body] == [
        '<good n="1"/>',
        '<good n="2"/>',
    ]
    (error,) = shop.errors()
    assert (error.kind, error.rule, error.message) == ("resource", "names", "5")


def test_an_exhausted_engine_is_no_error_of_the_rule_if_someone_watches(tmp_path: Path) -> None:
    evaluator = Evaluator(plan_from(tmp_path, SHOP))
    exhausted = SaxonExhausted("Too many distinct names in NamePool", code=None, line=None, column=None)
    message = Message(id=1, queue="inbox", body='<m n="1"/>', properties={}, created=START)
    batch = Batch(tasks=(Task(message, 1, START, ()),))
    with patch.object(Saxon, "call_for_items", side_effect=exhausted), pytest.raises(SaxonExhausted):
        list(evaluator.process(batch, MemoryStore(), Care(is_watched=True)))
    with patch.object(Saxon, "call_for_items", side_effect=[exhausted, *[("", [])] * 3]):
        (outcome,) = evaluator.process(batch, MemoryStore())
    assert [failure.kind for failure in outcome.failures] == ["resource"]


def test_a_worker_is_replaced_when_it_has_grown(opened: Open) -> None:
    shop = opened(Limits(worker_memory=1))
    before = shop.worker.pid
    shop.play("inbox", '<m n="1" key="1"/>')
    assert shop.worker.pid != before
    shop.play("inbox", '<m n="2" key="1"/>')
    assert shop.bodies("out") == ['<good n="1"/>', '<good n="2"/>']


def test_the_time_is_that_of_a_message_and_not_of_a_batch(opened: Open) -> None:
    shop = opened(Limits(seconds=2), SHOP + SLOW)
    shop.send("inbox", *(f'<slow n="{n % 7}"/>' for n in range(25)))
    shop.run()
    assert shop.errors() == []


def test_hostile_messages_are_refused_by_the_worker_too(opened: Open) -> None:
    shop = opened()
    for body in ("<a", "<!DOCTYPE a><a/>", b'<?xml version="1.0" encoding="undefined"?><a/>', "<a>\ud800</a>"):
        assert shop.refused("inbox", body).kind == "malformed"
    shop.play("inbox", '<m n="1"/>')
    assert len(shop.errors()) == 4
    assert shop.bodies("out") == ['<good n="1"/>']


LOOPING = """
create queue errors kind basic mode persistent
create queue later kind echo mode persistent
create property endless as xs:integer queue errors, out
  value if (/error or /w) then local:tail(1) else ()
create rule fail for inbox errorqueue errors if (/fail) then do enqueue <bad>{1 div 0}</bad> into out
create rule wait for inbox
if (/wait) then do enqueue <w/> into later with timeout value xs:dayTimeDuration("PT0S") with target value "out"
"""


def test_an_error_message_whose_property_never_ends_goes_without_it(opened: Open) -> None:
    shop = opened(TIGHT, SHOP + LOOPING)
    shop.send("inbox", '<m n="1"/>', "<fail/>", '<m n="2"/>')
    shop.run()
    (error,) = shop.errors("errors")
    assert (error.kind, error.rule, error.message) == ("evaluation", "fail", "2")
    assert shop.bodies("out") == ['<good n="1"/>', '<good n="2"/>']


def test_a_message_from_outside_whose_property_never_ends_is_refused_alone(opened: Open) -> None:
    shop = opened(TIGHT, SHOP + LOOPING)
    first, second, third = shop.send("out", "<m/>", "<w/>", "<n/>")
    assert isinstance(second, MessageRefused)
    assert second.kind == "resource"
    assert (first, third) == (1, 3)
    (error,) = shop.errors()
    assert (error.kind, error.queue, error.initial) == ("resource", "out", "<w/>")
    assert shop.bodies("out") == ["<m/>", "<n/>"]


def test_a_timer_whose_target_takes_too_long_is_an_error_of_its_message(opened: Open) -> None:
    shop = opened(TIGHT, SHOP + LOOPING)
    shop.send("inbox", "<wait n='0'/>", '<m n="1"/>')
    shop.run()
    (error,) = shop.errors()
    assert (error.kind, error.queue) == ("resource", "later")
    assert shop.bodies("out") == ['<good n="0"/>', '<good n="1"/>']


def test_times_without_a_zone_do_not_depend_on_the_machine(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    shop = opened(
        TIGHT,
        SHOP
        + """
create rule zone for inbox
if (/zone) then
  do enqueue <zone>{implicit-timezone(), static-base-uri(), base-uri(<a/>), resolve-uri("x")}</zone> into out
""",
    )
    shop.play("inbox", "<zone/>")
    assert shop.bodies("out")[1:] == ["<zone>PT0S http://demaq.org/ http://demaq.org/ http://demaq.org/x</zone>"]
