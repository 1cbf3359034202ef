"""Slices, resets and retention: section 2 of the semantics."""

import pytest

from running import Start

TWO = """
create queue inbox kind basic mode persistent
create queue other kind basic mode persistent
create queue out kind basic mode persistent
create property a as xs:string fixed queue inbox, other value /*/@a
create property b as xs:integer fixed queue inbox value /*/@b
create slicing as on a
create slicing bs on b
create rule forgetA for as if (/endA) then do reset
create rule forgetB for bs if (/endB) then do reset
create rule tellA for as if (/tell) then do enqueue <a key="{qs:slicekey()}">{qs:slice()/*/@n ! string(.)}</a> into out
create rule tellB for bs if (/tell) then do enqueue <b key="{qs:slicekey()}">{qs:slice()/*/@n ! string(.)}</b> into out
create rule tellQueue for inbox
if (/tell or /count) then do enqueue <q>{qs:queue("inbox")/*/@n ! string(.)}</q> into out
create rule elsewhere for other
if (/endOther) then (do reset as key /*/@key, do reset bs key xs:integer(/*/@key))
"""


def test_members_are_those_with_the_same_key_in_the_order_of_positions(start: Start) -> None:
    running = start(TWO)
    running.send("inbox", '<m n="1" a="x"/>', '<m n="2" a="y"/>', '<m n="3"/>')
    running.send("other", '<m n="4" a="x"/>')
    running.send("inbox", '<m n="5" b="7"/>', '<tell n="6" a="x"/>')
    running.run()
    assert running.bodies("out")[0] == '<a key="x">1 4 6</a>'
    assert running.members("as", "x") == [1, 4, 6]
    assert running.members("as", "y") == [2]


@pytest.mark.parametrize("text", ["7", "07", " 7 ", "+7"])
def test_keys_are_compared_as_values_of_their_type(start: Start, text: str) -> None:
    running = start(TWO)
    running.play("inbox", '<m n="1" b="7"/>', f'<tell n="2" b="{text}"/>')
    assert running.bodies("out")[0] == '<b key="7">1 2</b>'


@pytest.mark.parametrize(
    ("type_", "one", "same", "shown"),
    [
        ("xs:decimal", "1.50", "1.5", "1.5"),
        ("xs:boolean", "1", "true", "true"),
        ("xs:date", "2007-01-10", " 2007-01-10 ", "2007-01-10"),
        ("xs:dayTimeDuration", "PT24H", "P1D", "P1D"),
        ("xs:string", "", "", ""),
        ("xs:double", "1e2", "100", "100"),
        ("xs:token", " a  b ", "a b", "a b"),
    ],
)
def test_keys_have_the_type_of_the_property(start: Start, type_: str, one: str, same: str, shown: str) -> None:
    running = start(
        f"""
create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create property k as {type_} fixed queue inbox value /*/@k
create slicing ks on k
create rule forget for ks if (/end) then do reset
create rule tell for ks
if (/tell) then do enqueue
  <k is="{{qs:slicekey() instance of {type_}}}" key="{{qs:slicekey()}}">{{count(qs:slice())}}</k>
into out
"""
    )
    running.play("inbox", f'<m k="{one}"/>', f'<tell k="{same}"/>')
    assert running.bodies("out") == [f'<k is="true" key="{shown}">2</k>']


@pytest.mark.parametrize("batch", [1, 256])
def test_a_reset_begins_a_new_lifetime_for_what_is_processed_after_it(start: Start, batch: int) -> None:
    running = start(TWO, batch=batch)
    running.send("inbox", '<m n="1" a="x"/>', '<endA n="2" a="x"/>', '<m n="3" a="x"/>', '<tell n="4" a="x"/>')
    running.run()
    assert running.bodies("out")[0] == '<a key="x">3 4</a>'
    assert [message.retained for message in running.messages("inbox")] == [False, False, True, True]


@pytest.mark.parametrize("batch", [1, 256])
def test_a_reset_does_not_change_what_other_rules_of_its_message_see(start: Start, batch: int) -> None:
    running = start(
        TWO
        + """
create rule both for as if (/both) then (do reset, do enqueue <n>{count(qs:slice())}</n> into out)
create rule late for as if (/both) then do enqueue <n>{count(qs:slice())}</n> into out
create rule queue for inbox if (/both) then do enqueue <n>{count(qs:queue("inbox"))}</n> into out
""",
        batch=batch,
    )
    running.send("inbox", '<m n="1" a="x"/>', '<both n="2" a="x"/>', '<both n="3" a="x"/>')
    running.run()
    assert running.bodies("out") == ["<n>2</n>"] * 3 + ["<n>1</n>"] * 3


@pytest.mark.parametrize("batch", [1, 256])
def test_slices_are_reset_from_elsewhere_by_name_and_key(start: Start, batch: int) -> None:
    running = start(TWO, batch=batch)
    running.send("inbox", '<m n="1" a="7" b="7"/>', '<m n="2" a="8" b="8"/>')
    running.send("other", '<endOther key="7"/>')
    running.send("inbox", '<tell n="3" a="7" b="8"/>')
    running.run()
    assert running.bodies("out") == ['<a key="7">3</a>', '<b key="8">2 3</b>', "<q>2 3</q>"]


def test_the_key_of_a_reset_is_a_value_of_the_type(start: Start) -> None:
    running = start(TWO + "create rule untyped for other if (/untyped) then do reset bs key /*/@key\n")
    running.play("inbox", '<m n="1" b="7"/>')
    running.play("other", '<untyped key=" 07"/>')
    assert running.members("bs", "7") == []
    assert running.messages("inbox")[0].retained is False


def test_a_reset_of_a_slice_without_members_or_without_a_key_does_nothing(start: Start) -> None:
    running = start(TWO + "create rule nothing for other if (/nothing) then do reset as key /*/@key\n")
    running.play("inbox", '<m n="1" a="x"/>')
    running.play("other", "<nothing/>", '<endOther key="99"/>')
    assert running.members("as", "x") == [1]
    assert running.errors() == []


@pytest.mark.parametrize("batch", [1, 256])
def test_a_message_enqueued_before_a_reset_and_processed_after_it_is_in_the_new_lifetime(
    start: Start, batch: int
) -> None:
    running = start(
        TWO + 'create rule again for inbox if (/again) then do enqueue <m n="9" a="x"/> into inbox\n', batch=batch
    )
    running.send("inbox", '<m n="1" a="x"/>', '<again n="2" a="x"/>', '<endA n="3" a="x"/>')
    running.run()
    running.play("inbox", '<tell n="4" a="x"/>')
    assert running.bodies("out")[0] == '<a key="x">9 4</a>'


@pytest.mark.parametrize("batch", [1, 256])
def test_a_message_is_retained_while_one_of_its_slices_has_it(start: Start, batch: int) -> None:
    running = start(TWO, batch=batch)
    running.send("inbox", '<m n="1" a="x" b="1"/>', '<count n="2"/>')
    running.send("inbox", '<endA n="3" a="x"/>', '<count n="4"/>', '<endB n="5" b="1"/>', '<count n="6"/>')
    running.run()
    assert running.bodies("out") == ["<q>1 2</q>", "<q>1 4</q>", "<q>6</q>"]


def test_what_is_in_no_slice_is_gone_once_it_is_processed(start: Start) -> None:
    running = start(TWO)
    running.play("inbox", '<m n="1"/>', '<count n="2"/>')
    assert running.bodies("out") == ["<q>2</q>"]
    assert running.retained("inbox") == []


def test_a_failed_message_joins_its_slices(start: Start) -> None:
    running = start(TWO + "create rule fail for inbox if (/fail) then error()\n")
    running.play("inbox", '<fail n="1" a="x"/>', '<tell n="2" a="x"/>')
    assert running.bodies("out")[0] == '<a key="x">1 2</a>'


def test_a_message_that_fails_resets_nothing(start: Start) -> None:
    running = start(TWO + "create rule fail for inbox if (/endA/@fail) then error()\n")
    running.play("inbox", '<m n="1" a="x"/>', '<endA n="2" a="x" fail=""/>', '<tell n="3" a="x"/>')
    assert running.bodies("out")[0] == '<a key="x">1 2 3</a>'


def test_slicings_on_properties_of_the_system(start: Start) -> None:
    running = start(
        """
create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create slicing perQueue on sys:queue
create slicing perCause on sys:cause
create rule forget for perQueue if (/end) then do reset
create rule forgetToo for perCause if (/end) then do reset
create rule make for inbox if (/make) then (do enqueue <m/> into inbox, do enqueue <tell/> into inbox)
create rule tell for perCause if (/tell) then do enqueue <n>{count(qs:slice())}</n> into out
create rule tellToo for perQueue if (/tell) then do enqueue <q>{count(qs:slice())}</q> into out
"""
    )
    running.play("inbox", "<make/>")
    assert running.bodies("out") == ["<n>2</n>", "<q>3</q>"]
    assert running.members("perQueue", "inbox") == [1, 2, 3]


def test_reclaiming_takes_what_was_kept_long_enough_and_nothing_that_rules_see(start: Start) -> None:
    running = start(TWO)
    running.play("inbox", '<m n="1"/>', '<m n="2" a="x"/>')
    running.advance(days=6)
    assert running.engine.reclaim() == 0
    running.advance(days=2)
    assert running.engine.reclaim() == 1
    running.check_ledger()
    assert running.bodies("inbox") == ['<m n="2" a="x"/>']
    running.play("inbox", '<tell n="3" a="x"/>')
    assert running.bodies("out")[0] == '<a key="x">2 3</a>'


@pytest.mark.parametrize("batch", [1, 256])
def test_equal_times_are_one_key_however_they_are_written(start: Start, batch: int) -> None:
    running = start(
        """
create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create property at as xs:dateTime fixed queue inbox value /*/@at
create slicing times on at
create rule tell for times if (/tell) then do enqueue <n>{count(qs:slice())}</n> into out
create rule forget for inbox if (/forget) then do reset times key xs:dateTime(/forget/@which)
""",
        batch=batch,
    )
    running.play(
        "inbox",
        '<m at="2024-05-01T00:00:00.5Z"/>',
        '<tell at="2024-05-01T02:00:00.5+02:00"/>',
        '<tell at="2024-04-30T19:30:00.5-04:30"/>',
        '<tell at="2024-05-01T00:00:00.5"/>',
        '<forget which="2024-05-01T01:00:00.5+01:00"/>',
        '<tell at="2024-05-01T00:00:00.5Z"/>',
    )
    assert running.bodies("out") == ["<n>2</n>", "<n>3</n>", "<n>1</n>", "<n>1</n>"]
