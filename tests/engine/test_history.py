"""Positions, and what rules see: section 1 of the semantics."""

from itertools import permutations

import pytest

from demaq.model import MessageState
from running import Start, text_values

JOIN = """
create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create property order as xs:string fixed queue inbox value /*/order
create slicing orders on order
create rule join for orders
if (qs:slice()[/a] and qs:slice()[/b] and qs:slice()[/c]) then
  do enqueue <joined>{qs:slice()/*/local-name()}</joined> into out
create rule forget for orders if (/forget) then do reset
"""


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("order", list(permutations("abc")))
def test_a_join_fires_once_at_the_message_that_completes_it(start: Start, order: tuple[str, ...], batch: int) -> None:
    running = start(JOIN, batch=batch)
    running.send("inbox", *(f"<{name}><order>1</order></{name}>" for name in order), "<d><order>2</order></d>")
    running.run()
    assert running.bodies("out") == [f"<joined>{' '.join(order)}</joined>"]
    assert running.messages("out")[0].cause == 3


SEES = """
create queue inbox kind basic mode persistent
create queue high kind basic mode persistent priority 10
create queue low kind basic mode persistent priority -10
create queue out kind basic mode persistent
create property key as xs:string fixed queue inbox, high, low value /*/key
create slicing keys on key
create rule forget for keys if (/forget) then do reset
"""


@pytest.mark.parametrize("batch", [1, 256])
def test_messages_that_are_not_processed_yet_are_not_there(start: Start, batch: int) -> None:
    running = start(
        SEES
        + """
create rule look for inbox
if (/look) then do enqueue <seen>{qs:queue("inbox")/*/@n ! string(.)}</seen> into out
""",
        batch=batch,
    )
    running.send("inbox", *(f'<look n="{n}"><key>1</key></look>' for n in range(3)))
    running.run()
    assert running.bodies("out") == ["<seen>0</seen>", "<seen>0 1</seen>", "<seen>0 1 2</seen>"]


def test_what_a_message_makes_has_not_arrived_when_the_next_is_processed(start: Start) -> None:
    running = start(
        SEES
        + """
create rule make for inbox if (/make) then do enqueue <made><key>1</key></made> into low
create rule look for inbox if (/look) then do enqueue <seen>{count(qs:queue("low"))}</seen> into out
"""
    )
    running.send("inbox", "<make/>", "<look/>")
    running.run()
    running.play("inbox", "<look/>")
    assert running.bodies("out") == ["<seen>0</seen>", "<seen>1</seen>"]


@pytest.mark.parametrize("batch", [1, 256])
def test_queues_with_a_higher_priority_come_first_then_lower_ids(start: Start, batch: int) -> None:
    running = start(SEES, batch=batch)
    for queue in ("low", "inbox", "high", "low", "inbox", "high"):
        running.send(queue, "<m/>")
    running.run()
    assert running.order() == [3, 6, 2, 5, 1, 4]
    assert [message.position for message in running.messages()] == [5, 3, 1, 6, 4, 2]


def test_a_message_of_a_high_queue_overtakes_what_waits(start: Start) -> None:
    running = start(SEES + "create rule alarm for inbox if (/alarm) then do enqueue <a/> into high\n", batch=1)
    running.send("inbox", "<alarm/>", "<m/>")
    running.run()
    assert running.order() == [1, 3, 2]


TIME = """
create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create property at as xs:dateTime queue out value current-dateTime()
create rule one for inbox if (/m) then do enqueue <t>{current-dateTime()}</t> into out
create rule two for inbox if (/m) then do enqueue <t>{current-date(), current-time()}</t> into out
"""


def test_time_is_that_of_processing_and_the_same_for_all_rules(start: Start) -> None:
    running = start(TIME)
    running.send("inbox", "<m/>")
    running.advance(hours=1)
    running.send("inbox", "<m/>")
    running.advance(hours=1)
    assert running.bodies("out") == [
        "<t>2007-01-10T13:00:00Z</t>",
        "<t>2007-01-10Z 13:00:00Z</t>",
        "<t>2007-01-10T14:00:00Z</t>",
        "<t>2007-01-10Z 14:00:00Z</t>",
    ]
    first, *_ = running.messages("inbox")
    assert str(first.created) == "2007-01-10 12:00:00+00:00"
    assert str(first.processed) == "2007-01-10 13:00:00+00:00"
    assert text_values(running.messages("out"), "at")[2:] == ["2007-01-10T14:00:00Z"] * 2


def test_actions_come_in_the_order_of_the_rules(start: Start) -> None:
    running = start(
        JOIN
        + """
create rule second for inbox if (/m) then (do enqueue <r n="2"/> into out, do enqueue <r n="3"/> into out)
create rule third for orders if (/m) then do enqueue <r n="4"/> into out
create rule fourth for inbox if (/m) then for $n in 5 to 7 return do enqueue <r n="{$n}"/> into out
"""
    )
    running.play("inbox", "<m><order>1</order></m>")
    assert running.bodies("out") == [f'<r n="{n}"/>' for n in range(2, 8)]
    assert [message.rule for message in running.messages("out")] == ["second"] * 2 + ["third"] + ["fourth"] * 3


def test_each_message_knows_its_cause_rule_position_and_version(start: Start) -> None:
    running = start(SEES + "create rule make for inbox if (/make) then do enqueue <made/> into out\n")
    running.play("inbox", "<make/>")
    first, made = running.messages()
    assert (first.cause, first.rule, first.position, first.version) == (None, None, 1, 1)
    assert (made.cause, made.rule, made.position, made.version) == (1, "make", 2, 1)
    assert first.state is made.state is MessageState.COMPLETED


def test_a_message_for_which_there_is_no_rule_is_processed_too(start: Start) -> None:
    running = start(SEES)
    running.play("out", "<m/>")
    assert running.messages("out")[0].position == 1


def test_nodes_of_several_messages_are_in_the_order_of_their_positions(start: Start) -> None:
    running = start(
        SEES
        + """
create rule look for inbox
if (/look) then
  do enqueue <seen>{(qs:queue("high")/*/@n | qs:queue("low")/*/@n | qs:queue("inbox")/*/@n) ! string(.)}</seen> into out
""",
        batch=1,
    )
    for n, queue in enumerate(("low", "inbox", "high", "low", "high")):
        running.play(queue, f'<m n="{n}"><key>1</key></m>')
    running.play("inbox", '<look n="a"><key>1</key></look>', '<look n="b"><key>1</key></look>')
    assert running.bodies("out") == ["<seen>0 1 2 3 4 a</seen>", "<seen>0 1 2 3 4 a b</seen>"]
