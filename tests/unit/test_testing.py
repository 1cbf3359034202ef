"""Scenarios and the fixture for pytest."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from demaq import MessageRefused, Node
from demaq.testing import ScenarioInvalid, difference, matches, read_scenarios, run_scenario, scenarios_of

APP = """
create queue inbox kind basic
create queue later kind echo
create queue outbox kind outgoingGateway
create rule answer for inbox if (/ping) then do enqueue <pong>{/ping/text()}</pong> into outbox
create rule wait for inbox if (/wait) then do enqueue <ping>late</ping> into later
  with timeout value xs:dayTimeDuration("PT1H") with target value "inbox"
create rule fail for inbox if (/fail) then do enqueue <pong>{1 div 0}</pong> into outbox
"""


@pytest.fixture
def app(tmp_path: Path) -> Path:
    (tmp_path / "main.demaq").write_text(APP, encoding="utf-8")
    (tmp_path / "scenarios").mkdir()
    return tmp_path


def told(app: Path, steps: str) -> list[str]:
    """What a scenario of these steps finds wrong."""
    file = app / "scenarios" / "one.xml"
    file.write_text(f"<scenario name='one'>{steps}</scenario>", encoding="utf-8")
    (scenario,) = scenarios_of(app)
    return [problem.message.splitlines()[0] for problem in run_scenario(app, scenario).problems]


PING = '<send queue="inbox"><ping>a</ping></send>'


@pytest.mark.parametrize(
    ("steps", "wrong"),
    [
        (f'{PING}<expect queue="outbox"><pong>a</pong></expect>', []),
        (f'{PING}<expect queue="outbox"> <pong>…</pong> </expect>', []),
        (f'{PING}<expect queue="outbox"><pong>b</pong></expect>', ["in outbox (1 expected, 1 came):"]),
        (f'{PING}<expect queue="outbox"/>', ["in outbox (0 expected, 1 came):"]),
        ('<expect queue="outbox"><pong/></expect>', ["in outbox (1 expected, 0 came):"]),
        (f'<expect queue="outbox"/>{PING}', ["nothing else was expected in outbox:"]),
        (PING, []),
        ('<send queue="inbox"><fail/></send>', ["no error was expected in systemErrors:"]),
        ('<send queue="inbox"><fail/></send><expect queue="systemErrors"><error>…</error></expect>', []),
        ('<send queue="inbox"><wait/></send><wait for="PT59M"/><expect queue="outbox"/>', []),
        (
            '<send queue="inbox"><wait/></send><wait for="P1D"/><expect queue="outbox"><pong>late</pong></expect>',
            [],
        ),
        ('<expect queue="nowhere"/>', ["there is no queue nowhere"]),
        ('<send queue="inbax"><ping/></send>', ["there is no queue `inbax`: did you mean `inbox`?"]),
        ('<send queue="inbox" colour="red"><ping/></send>', ["there is no property `colour`:"]),
        (
            '<send queue="inbox" times="3"><ping/></send><expect queue="outbox"><pong/><pong/><pong/></expect>',
            [],
        ),
        (
            '<send queue="inbox" refused="true"><ping/></send>',
            ["a message for inbox was to be refused, but was taken in"],
        ),
    ],
)
def test_what_a_scenario_finds(app: Path, steps: str, wrong: list[str]) -> None:
    found = told(app, steps)
    assert [message[: len(start)] for message, start in zip(found, wrong, strict=True)] == wrong


def test_files_are_sent_as_they_are(app: Path) -> None:
    (app / "scenarios" / "utf16.txt").write_bytes(
        "<?xml version='1.0' encoding='utf-16'?><ping>ä</ping>".encode("utf-16")
    )
    (app / "scenarios" / "bad.txt").write_text("<ping>", encoding="utf-8")
    (app / "scenarios" / "pong.txt").write_bytes(
        "<?xml version='1.0' encoding='latin-1'?><pong>ä</pong>".encode("latin-1")
    )
    steps = '<send queue="inbox" file="utf16.txt"/><expect queue="outbox" file="pong.txt"/>'
    refused = (
        '<send queue="inbox" file="bad.txt" refused="true"/><expect queue="systemErrors"><error>…</error></expect>'
    )
    assert told(app, steps + refused) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<scenario", "one.xml"),
        ("<other/>", "a scenario begins with"),
        ("<scenario><wait/></scenario>", "`for` is missing"),
        ("<scenario><send><a/></send></scenario>", "`queue` is missing"),
        ("<scenario><wait for='soon'/></scenario>", "soon"),
        ("<scenario><sned queue='inbox'/></scenario>", "use <send>, <wait> or <expect>"),
        ("<scenario><send queue='inbox' file='none.xml'/></scenario>", "there is no file"),
        ("<scenario start='yesterday'/>", "`yesterday` is no time"),
        ("<scenario start='0001-01-01T00:00:00+14:00'/>", "is no time"),
        ("<scenario>\n<send queue='q' times='abc'><a/></send></scenario>", "line 2: <send>: `times` is .* not `abc`"),
        ("<scenario><send queue='q' times='0'><a/></send></scenario>", "from 1 to 100,000, not `0`"),
        ("<scenario><send queue='q' times='-1'><a/></send></scenario>", "from 1 to 100,000, not `-1`"),
        (f"<scenario><send queue='q' times='{'9' * 5000}'><a/></send></scenario>", "from 1 to 100,000"),
        ("<scenario>\n<wait for='-PT5S'/></scenario>", "line 2: <wait>: `-PT5S` is negative: time does not go back"),
        ("<scenario><wait for='P9999999999D'/></scenario>", "line 1: <wait>: time ends with the year 9999"),
        ("<scenario><wait for='P9999999D'/></scenario>", "time ends with the year 9999"),
        ("<scenario>\n<wait></scenario>", "one.xml, line 2: not well-formed: Opening and ending tag mismatch"),
        ("<!DOCTYPE scenario [<!ENTITY a 'b'>]><scenario/>", "one.xml: document types are not allowed"),
    ],
)
def test_scenarios_that_are_wrong(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "one.xml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioInvalid, match=reason):
        read_scenarios(file)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "message.xml`: document types are not allowed in messages"),
        ("<a>\n<b></a>", "message.xml, line 2`: not well-formed: Opening and ending tag mismatch"),
        ("", "message.xml, line 1`: not well-formed"),
    ],
)
def test_files_with_expected_messages_that_are_wrong(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "one.xml"
    file.write_text("<scenario>\n<expect queue='outbox' file='message.xml'/></scenario>", encoding="utf-8")
    (tmp_path / "message.xml").write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioInvalid, match=f"one.xml, line 2: <expect>: .*{why}"):
        read_scenarios(file)


def test_document_types_are_compared_with_nothing() -> None:
    bad = "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"
    for compare in (lambda: matches(bad, "<a>c</a>"), lambda: difference([], [bad])):
        with pytest.raises(MessageRefused, match="document types are not allowed"):
            compare()


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        ("<a x='1' y='2'/>", "<a y='2' x='1'></a>", True),
        ("<a> <b/> </a>", "<a><b/></a>", True),
        ("<a>x y</a>", "<a>x  y</a>", False),
        ("<a x='…'/>", "<a x='7'/>", True),
        ("<a x='…'/>", "<a/>", False),
        ("<a>…</a>", "<a><b/>text</a>", True),
        ("<a><b/><c/></a>", "<a><c/><b/></a>", False),
        ("<a xmlns='urn:x'/>", "<p:a xmlns:p='urn:x'/>", True),
        ("<a xmlns='urn:x'/>", "<a/>", False),
        ("<a><!-- note -->x</a>", "<a>x</a>", True),
        ("<a>x</a>", "<a><x/></a>", False),
    ],
)
def test_messages_are_compared(expected: str, actual: str, same: bool) -> None:
    assert matches(expected, actual) is same


def test_a_difference_shows_both() -> None:
    shown = difference(["<a><b>1</b></a>"], ["<a><b>2</b></a>"])
    assert "-  <b>1</b>" in shown
    assert "+  <b>2</b>" in shown


def test_the_fixture(demaq_node: Callable[[Path], Node], app: Path) -> None:
    node = demaq_node(app)
    node.send("inbox", "<ping>a</ping>")
    node.run_until_idle()
    assert [message.body for message in node.messages("outbox")] == ["<pong>a</pong>"]
    assert timedelta(0) <= node.clock.now() - node.messages("outbox")[0].created
