"""Reading queues by keys gives what reading them whole gives."""

from pathlib import Path

import pytest

from running import Start, deploy, plan_from

SHOP = """
create queue orders kind basic mode persistent
create queue ask kind basic mode persistent
create queue out kind basic mode persistent
create property group as xs:string fixed queue orders value /*/@group
create slicing groups on group
create rule forget for groups if (/end) then do reset
"""


def asking(predicate: str) -> str:
    """A rule that reads by a key, beside one that reads everything and chooses by itself."""
    return f"""
create rule keyed for ask
if (/ask) then do enqueue <r>{{qs:queue("orders")[{predicate}]/*/@n ! string(.)}}</r> into out
create rule whole for ask
if (/ask) then
  let $all := qs:queue("orders")
  return do enqueue <r all="{{count($all)}}">{{for $m in $all return $m[{predicate}]/*/@n ! string(.)}}</r> into out
"""


ORDERS = [
    '<order group="1" n="1"><id>7</id><id>8</id><name>a</name></order>',
    '<order group="1" n="2"><id>07</id><name>b</name></order>',
    '<order group="1" n="3"><id>7.0</id><name>a</name></order>',
    '<order group="1" n="4"><id> 7 </id><name/></order>',
    '<order group="2" n="5"><id>7e0</id><name>A</name></order>',
    '<order group="1" n="6"><name>a</name></order>',
    '<order group="1" n="7"><id>INF</id><name>7</name></order>',
    '<order group="1" n="8"><id>NaN</id><name>ä𝄞</name></order>',
    '<order group="1" n="9"><id>-0</id><name>a</name></order>',
    '<order n="10"><id>7</id><name>a</name></order>',
]


@pytest.mark.parametrize("batch", [1, 3, 256])
@pytest.mark.parametrize(
    ("predicate", "found"),
    [
        ('/order/id = "7"', "1"),
        ("/order/id = 7", "1 2 3 4 5"),
        ("/order/id = 7.0", "1 2 3 4 5"),
        ("/order/id = 7e0", "1 2 3 4 5"),
        ("/order/id = (8, 7)", "1 2 3 4 5"),
        ('/order/id = ("8", "07")', "1 2"),
        ("/order/id = xs:double('INF')", "7"),
        ("/order/id = xs:double('NaN')", ""),
        ("/order/id = 0", "9"),
        ("/order/id = ()", ""),
        ("//name = qs:message()//name", "1 3 6 9"),
        ("/order/name = ''", "4"),
        ("/order/name = 'ä𝄞'", "8"),
        ("7 = /order/id", "1 2 3 4 5"),
        ("xs:string(7) = /order/name", "7"),
        ("/order/name = 'a' and /order/id = 7", "1 3"),
        ("/order/@n = 3 or /order/name = 'b'", "2 3"),
        ("/order/@n = qs:message()/ask/@n", "5"),
        ("/order/name = string(qs:message()//name)", "1 3 6 9"),
    ],
)
def test_reading_by_a_key_is_reading_the_whole(start: Start, predicate: str, found: str, batch: int) -> None:
    running = start(SHOP + asking(predicate), batch=batch)
    running.send("orders", *ORDERS)
    running.send("ask", '<ask n="5"><name>a</name></ask>')
    running.run()
    text = f">{found}</r>" if found else "/>"
    assert running.errors() == []
    assert running.bodies("out") == [f"<r{text}", f'<r all="9"{text}']


@pytest.mark.parametrize("batch", [1, 2, 256])
def test_a_value_that_is_no_number_is_the_same_error_in_any_batch(start: Start, batch: int) -> None:
    """What an index leaves out cannot fail: not in the batch that brings it, either."""
    keyed = """
create rule keyed for ask
if (/ask) then do enqueue <r>{qs:queue("orders")[/order/id = 7]/*/@n ! string(.)}</r> into out
"""
    running = start(SHOP + keyed, batch=batch)
    running.send("orders", '<order group="1" n="1"><id>seven</id></order>', '<order group="1" n="2"><id>7</id></order>')
    running.send("ask", "<ask/>")
    running.run()
    assert (running.bodies("out"), len(running.errors())) == (["<r>2</r>"], 0)


@pytest.mark.parametrize("batch", [1, 256])
def test_lookups_do_not_find_what_is_no_longer_retained(start: Start, batch: int) -> None:
    running = start(SHOP + asking("/order/id = 7"), batch=batch)
    running.send("orders", *ORDERS[:5])
    running.send("orders", '<end group="1"/>')
    running.send("ask", "<ask/>")
    running.run()
    assert running.bodies("out") == ["<r>5</r>", '<r all="1">5</r>']


def test_lookups_whose_keys_come_from_lookups(start: Start) -> None:
    running = start(
        SHOP
        + """
create rule chain for ask
if (/ask) then
  let $first := qs:queue("orders")[/order/@n = qs:message()/ask/@n]
  let $second := qs:queue("orders")[/order/@n = $first/order/next]
  let $third := qs:queue("orders")[/order/@n = $second/order/next]
  return do enqueue <r>{$third/order/@n ! string(.)}</r> into out
"""
    )
    running.send("orders", *(f'<order group="1" n="{n}"><next>{n + 1}</next></order>' for n in range(5)))
    running.send("ask", '<ask n="1"/>', '<ask n="2"/>')
    running.run()
    assert running.bodies("out") == ["<r>3</r>", "<r>4</r>"]


def test_a_long_key_is_found_whole(start: Start) -> None:
    running = start(SHOP + asking("/order/name = qs:message()//name"))
    long = "x" * 3000
    running.send(
        "orders",
        f'<order group="1" n="1"><name>{long}</name></order>',
        f'<order group="1" n="2"><name>{long}y</name></order>',
    )
    running.run()
    running.play("ask", f"<ask><name>{long}</name></ask>")
    assert running.bodies("out") == ["<r>1</r>", '<r all="2">1</r>']


WAITING = """
create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create property all as xs:string fixed queue inbox value "all"
create slicing everything on all
create rule forget for everything if (/forget) then do reset
create rule ask for inbox
if (/ask) then do enqueue <found>{qs:queue("inbox")[/m/@PATH = "1"]/m/@n ! string(.)}</found> into out
"""


@pytest.mark.parametrize("batch", [1, 256])
def test_messages_that_wait_are_found_by_the_paths_of_a_new_version(start: Start, tmp_path: Path, batch: int) -> None:
    running = start(WAITING.replace("PATH", "x"), batch=batch)
    running.send("inbox", '<m n="a" x="1" y="2"/>', '<m n="b" x="2" y="1"/>', "<ask/>")
    deploy(running.base, plan_from(tmp_path / "new", WAITING.replace("PATH", "y")))
    running.run()
    assert running.bodies("out") == ["<found>b</found>"]
