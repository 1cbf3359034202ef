"""What rules will look up is loaded beforehand, if messages of their kind have asked for it so far."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from demaq.engine import foresight
from demaq.engine.evaluator import Evaluator
from demaq.engine.foresight import Foresight
from demaq.engine.plan import plan_from_text
from engine.random_programs import Story, stories
from engine.test_differences import a_plan, played
from property.effort import scaled
from running import Running, plan_from

LOOKUPS = """
create queue inbox kind basic mode persistent
create queue prices kind basic mode persistent
create queue out kind outgoingGateway mode persistent
create property sku as xs:string queue prices value /price/@sku
create property k as xs:string queue inbox value */@k
create slicing skus on sku
create slicing ks on k
create rule forgetPrice for skus if (/end) then do reset
create rule forget for ks if (/end) then do reset
create rule offer for inbox
if (/order) then
  do enqueue <offer>{qs:queue("prices")[/price/@sku = qs:message()/order/sku]/price/text()}</offer> into out
create rule seldom for inbox
if (/order/rare) then do enqueue <rare>{qs:queue("prices")[/price/@rare = qs:message()/order/rare]}</rare> into out
create rule keyed for ks
if (/same) then do enqueue <same>{count(qs:queue("inbox")[/same/@k = qs:slicekey()])}</same> into out
"""


@contextmanager
def nothing_foreseen() -> Iterator[None]:
    with patch.object(Foresight, "habit", return_value=None):
        yield


def evaluations(running: Running, queue: str, *bodies: str) -> int:
    """How often rules are evaluated."""
    with patch.object(Evaluator, "_answer", autospec=True, side_effect=Evaluator._answer) as calls:
        running.play(queue, *bodies)
    return calls.call_count


def test_messages_that_ask_as_others_did_are_evaluated_once(tmp_path: Path) -> None:
    running = Running(plan_from(tmp_path, LOOKUPS))
    running.play("prices", *(f"<price sku='s{n}'>{n}</price>" for n in range(5)))
    orders = [f"<order><sku>s{n % 5}</sku></order>" for n in range(20)]
    assert evaluations(running, "inbox", *orders[:8]) == 16
    assert evaluations(running, "inbox", *orders[8:]) == 12
    assert running.bodies("out") == [f"<offer>{n % 5}</offer>" for n in range(20)]


def test_keys_of_slices_are_foreseen(tmp_path: Path) -> None:
    running = Running(plan_from(tmp_path, LOOKUPS))
    evaluations(running, "inbox", *(["<same k='1'/>"] * 8))
    assert evaluations(running, "inbox", *(["<same k='1'/>", "<same k='2'/>"] * 2)) == 4
    assert running.bodies("out")[-4:] == [f"<same>{n}</same>" for n in (9, 1, 10, 2)]


def test_what_is_seldom_asked_for_is_not_loaded(tmp_path: Path) -> None:
    running = Running(plan_from(tmp_path, LOOKUPS))
    evaluations(running, "inbox", *(f"<order><sku>s1</sku>{'<rare>x</rare>' * (n % 4 == 0)}</order>" for n in range(8)))
    with patch.object(type(running.base), "find", autospec=True, side_effect=type(running.base).find) as find:
        running.play("inbox", "<order><sku>s1</sku></order>")
    ((_, entries), _) = find.call_args
    assert {entry.index.path for entry in entries} == {"/price/@sku"}


def test_habits_change(tmp_path: Path) -> None:
    text = LOOKUPS.replace("if (/order) then", "if (/order/sku != 'none') then")
    running = Running(plan_from(tmp_path, text))
    evaluations(running, "inbox", *["<order><sku>s1</sku></order>"] * 40)
    assert evaluations(running, "inbox", "<order><sku>s1</sku></order>") == 1
    evaluations(running, "inbox", *["<order><sku>none</sku></order>"] * 1000)
    with patch.object(Evaluator, "_foresee") as foreseen:
        running.play("inbox", "<order><sku>s1</sku></order>")
    foreseen.assert_not_called()


def test_a_key_that_cannot_be_computed_is_no_error(tmp_path: Path) -> None:
    text = (
        LOOKUPS
        + """
create rule fails for inbox
if (/strange) then do enqueue <x>{
  if (/strange/n castable as xs:integer)
  then count(qs:queue("prices")[/price/@n = xs:integer(qs:message()/strange/n)]) else 'none'}</x> into out
"""
    )
    running = Running(plan_from(tmp_path, text))
    running.play("inbox", *["<strange><n>1</n></strange>"] * 10, "<strange><n>x</n></strange>")
    assert running.errors() == []
    assert running.bodies("out") == ["<x>0</x>"] * 10 + ["<x>none</x>"]


@pytest.mark.parametrize(("number", "most"), [(1000, 2), (4000, 8)])
def test_what_many_messages_ask_for_is_fetched_together(tmp_path: Path, number: int, most: int) -> None:
    """Each asks for something else. The worker of a node and those of Spark evaluate a thousand at a time."""
    running = Running(plan_from(tmp_path, LOOKUPS), batch=5000)
    running.play("prices", *(f"<price sku='s{n}'>{n}</price>" for n in range(0, number, 100)))
    running.send("inbox", *(f"<order><sku>s{n}</sku></order>" for n in range(number)))
    with patch.object(type(running.base), "find", autospec=True, side_effect=type(running.base).find) as find:
        running.run()
    assert find.call_count <= most
    found = [f"<offer>{n}</offer>" if n % 100 == 0 else "<offer/>" for n in range(number)]
    assert running.bodies("out") == found


@settings(max_examples=scaled(15))
@given(stories(), st.integers(0, 3))
def test_random_programs_give_the_same_log(story: Story, first: int) -> None:
    with a_plan(story) as plan, patch.object(foresight, "_FIRST", first):
        running = Running(plan)
        played(running, story)
        with nothing_foreseen():
            expected = Running(plan)
            played(expected, story)
        assert running.log() == expected.log()


def test_a_plan_keeps_lookups(tmp_path: Path) -> None:
    plan = plan_from(tmp_path, LOOKUPS)
    assert [lookup.path for rule in plan.rules for lookup in rule.lookups] == [
        "/price/@sku",
        "/price/@rare",
        "/same/@k",
    ]
    assert plan_from_text(plan.text) == plan
