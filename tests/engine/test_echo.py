"""Echo queues: messages that wait for their time."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from demaq.engine.durations import DurationInvalid, due_after
from demaq.model import MessageState, Origin, Value
from demaq.node import retry
from demaq.store import open_store
from running import START, Running, Start, deploy, plan_from, text_values

TIMERS = """
create queue inbox kind basic mode persistent
create queue later kind echo mode persistent
create queue out kind basic mode persistent
create property note as xs:string queue later, out
create property travels as xs:string inherited queue inbox, out value "computed"
create property size as xs:integer fixed queue out value count(//*)
create rule wait for inbox
if (/wait) then do enqueue <w n="{/wait/@n}"/> into later
  with timeout value xs:dayTimeDuration(/wait/@for) with target value "out" with note value "kept"
create rule until for inbox
if (/until) then do enqueue <w n="{/until/@n}"/> into later
  with timeout value xs:dateTime(/until/@at) with target value "out"
"""


def test_a_message_goes_on_when_its_time_has_come_and_not_before(start: Start) -> None:
    running = start(TIMERS)
    running.play("inbox", '<wait n="1" for="PT2H"/>', '<until n="2" at="2007-01-10T13:00:00Z"/>')
    running.advance(minutes=59)
    assert running.bodies("out") == []
    running.advance(minutes=1)
    assert running.bodies("out") == ['<w n="2"/>']
    running.advance(minutes=60)
    assert running.bodies("out") == ['<w n="2"/>', '<w n="1"/>']
    assert running.engine.store.next_due() is None


def test_what_is_due_goes_on_in_the_order_in_which_it_is(start: Start) -> None:
    running = start(TIMERS)
    running.send("inbox", *(f'<wait n="{hours}" for="PT{hours}H"/>' for hours in (5, 1, 3, 1, 4)))
    running.send("inbox", '<until n="2" at="2007-01-10T09:00:00-05:00"/>', '<wait n="-1" for="-PT1S"/>')
    running.run()
    assert running.bodies("out") == ['<w n="-1"/>']
    running.advance(days=1)
    assert running.bodies("out")[1:] == [f'<w n="{n}"/>' for n in (1, 1, 2, 3, 4, 5)]


def test_it_takes_its_other_properties_along(start: Start) -> None:
    running = start(TIMERS)
    running.send("inbox", '<wait n="1" for="PT1H"/>', travels=Value("xs:string", "given"))
    running.run()
    running.advance(hours=1)
    (timer,), (fired,) = running.messages("later"), running.messages("out")
    assert fired.properties["note"] == Value("xs:string", "kept")
    assert fired.properties["size"] == Value("xs:integer", "1")
    assert "timeout" not in fired.properties
    assert "target" not in fired.properties
    assert (fired.cause, fired.origin, fired.rule) == (timer.id, Origin.TIMER, None)
    assert timer.state is MessageState.COMPLETED
    assert str(timer.due) == "2007-01-10 13:00:00+00:00"
    assert str(timer.processed) == str(fired.created) == "2007-01-10 13:00:00+00:00"


def test_overdue_timers_fire_after_a_restart_in_due_order(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'log.db'}"
    plan = plan_from(tmp_path / "app", TIMERS)
    store = open_store(url)
    running = Running(plan, store)
    running.play("inbox", '<wait n="3" for="PT3H"/>', '<wait n="1" for="PT1H"/>', '<wait n="9" for="P9D"/>')
    store.close()
    again = open_store(url)
    running = Running(plan, again, start=START + timedelta(days=1))
    running.run()
    assert running.bodies("out") == ['<w n="1"/>', '<w n="3"/>']
    assert str(again.next_due()) == "2007-01-19 12:00:00+00:00"
    again.close()


def test_a_message_from_outside_may_wait_too(start: Start) -> None:
    running = start(TIMERS)
    timeout, target = Value("xs:dayTimeDuration", "PT1M"), Value("xs:string", "out")
    running.send("later", '<w n="0"/>', timeout=timeout, target=target)
    running.advance(minutes=1)
    assert running.bodies("out") == ['<w n="0"/>']
    assert running.refused("later", "<w/>", timeout=timeout).kind == "property"
    assert running.refused("later", "<w/>", target=target).kind == "property"
    assert running.refused("later", "<w/>", timeout=timeout, target=Value("xs:string", "later")).kind == "property"
    assert "xs:date" in running.refused("later", "<w/>", timeout=Value("xs:date", "2007-01-10"), target=target).reason


def test_a_timer_whose_target_refuses_the_message_is_an_error(start: Start) -> None:
    schema = '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="right"/></xs:schema>'
    running = start(TIMERS + 'create queue strict kind basic mode persistent schema "s.xsd"\n', files={"s.xsd": schema})
    running.send("later", "<wrong/>", timeout=Value("xs:dayTimeDuration", "PT0S"), target=Value("xs:string", "strict"))
    running.send("later", "<right/>", timeout=Value("xs:dayTimeDuration", "PT0S"), target=Value("xs:string", "strict"))
    running.run()
    assert running.bodies("strict") == ["<right/>"]
    (error,) = running.errors()
    assert (error.kind, error.queue, error.initial) == ("schema", "later", "<wrong/>")
    assert [message.state.value for message in running.messages("later")] == ["failed", "completed"]


def test_time_of_what_a_timer_starts_is_the_time_it_fires(start: Start) -> None:
    running = start(
        TIMERS
        + """
create queue told kind basic mode persistent
create rule tell for out if (/w) then do enqueue <t>{current-dateTime()}</t> into told
"""
    )
    running.play("inbox", '<wait n="1" for="PT1H"/>')
    running.advance(hours=5)
    assert running.bodies("told") == ["<t>2007-01-10T17:00:00Z</t>"]


def test_timers_that_set_timers(start: Start) -> None:
    running = start(
        TIMERS
        + """
create rule again for out
if (/w/@n < 3) then do enqueue <w n="{/w/@n + 1}"/> into later
  with timeout value xs:dayTimeDuration("PT1H") with target value "out"
"""
    )
    running.play("inbox", '<wait n="0" for="PT1H"/>')
    for _ in range(6):
        running.advance(hours=1)
    assert running.bodies("out") == [f'<w n="{n}"/>' for n in range(4)]
    assert text_values(running.messages("out"), "size") == ["1"] * 4


@pytest.mark.parametrize(
    ("type_", "text", "due"),
    [
        ("xs:dayTimeDuration", "P1DT2H3M4.5S", "2007-01-11 14:03:04.500000+00:00"),
        ("xs:dayTimeDuration", "-PT1H", "2007-01-10 11:00:00+00:00"),
        ("xs:dayTimeDuration", "P1D", "2007-01-11 12:00:00+00:00"),
        ("xs:dayTimeDuration", "PT0S", "2007-01-10 12:00:00+00:00"),
        ("xs:dayTimeDuration", "P99999999999D", "9999-01-01 00:00:00+00:00"),
        ("xs:dateTime", "2007-01-10T12:00:00", "2007-01-10 12:00:00+00:00"),
        ("xs:dateTime", "2007-01-10T12:00:00+02:00", "2007-01-10 10:00:00+00:00"),
        ("xs:dateTime", "2007-01-10T12:00:00.123456789Z", "2007-01-10 12:00:00.123456+00:00"),
        ("xs:string", " PT1H ", "2007-01-10 13:00:00+00:00"),
        ("xs:string", "2007-01-11T00:00:00Z", "2007-01-11 00:00:00+00:00"),
        ("xs:dateTime", "0001-01-01T00:00:00+14:00", "0001-01-01 00:00:00+00:00"),
        ("xs:dateTime", "9999-12-31T23:00:00-14:00", "9999-01-01 00:00:00+00:00"),
    ],
)
def test_when_a_timeout_is_due(type_: str, text: str, due: str) -> None:
    assert str(due_after(Value(type_, text), datetime(2007, 1, 10, 12, tzinfo=UTC))) == due


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("xs:string", "soon"),
        ("xs:yearMonthDuration", "P1M"),
        ("xs:dateTime", "12007-01-10T12:00:00Z"),
        ("xs:dateTime", "-0044-03-15T12:00:00Z"),
        ("xs:dayTimeDuration", "P1M"),
    ],
)
def test_what_is_no_timeout(type_: str, text: str) -> None:
    with pytest.raises(DurationInvalid):
        due_after(Value(type_, text), START)


@pytest.mark.parametrize("batch", [1, 2, 256])
def test_a_timer_that_is_due_at_once_goes_first_whatever_the_batch(start: Start, batch: int) -> None:
    running = start(TIMERS, batch=batch)
    past = "2001-01-01T00:00:00Z"
    running.send(
        "inbox", '<wait n="1" for="PT0S"/>', '<wait n="2" for="PT1H"/>', f'<until n="3" at="{past}"/>', "<other/>"
    )
    running.run()
    assert running.order() == [1, 5, 2, 3, 8, 4, 6, 9]
    running.check_ledger()


def test_a_message_whose_target_refused_it_is_sent_on_when_it_is_retried(start: Start, tmp_path: Path) -> None:
    refusing = TIMERS.replace(
        "create queue out kind basic mode persistent", 'create queue out kind basic schema "o.xsd"'
    )
    schema = '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="ROOT"/></xs:schema>'
    running = start(refusing, files={"o.xsd": schema.replace("ROOT", "other")})
    running.play("inbox", '<wait n="1" for="PT1H"/>')
    running.advance(hours=1)
    (timer,) = running.messages("later")
    assert (timer.state, running.bodies("out")) == (MessageState.FAILED, [])
    deploy(running.base, plan_from(tmp_path / "new", refusing, {"o.xsd": schema.replace("ROOT", "w")}))
    retry(timer, running.engine.store, running.clock.now())
    running.run()
    assert running.bodies("out") == ['<w n="1"/>']
    running.check_ledger()
