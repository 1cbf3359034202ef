"""Times in messages."""

from datetime import UTC, datetime, timedelta

import pytest
from lxml import etree

from demaq.gateways.secure.faults import Problem
from demaq.gateways.secure.policy import SecurityPolicy
from demaq.gateways.secure.timestamps import read_instant
from gateways.secure.letters import find, parsed, received, refused, sent
from gateways.secure.people import NOW, receiver

TIMED = SecurityPolicy(has_timestamp=True)
SKEW = receiver().skew
SECOND = timedelta(seconds=1)


def instant(text: str) -> datetime:
    element = etree.Element("Created")
    element.text = text
    return read_instant(element)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-01T12:00:00Z", NOW),
        (" 2026-03-01T12:00:00Z\n", NOW),
        ("2026-03-01T12:00:00", NOW),
        ("2026-03-01T12:00:00.000000000Z", NOW),
        ("2026-03-01T14:30:00+02:30", NOW),
        ("2026-03-01T12:00:00.25Z", NOW + timedelta(milliseconds=250)),
        ("2024-02-29T00:00:00-14:00", datetime(2024, 2, 29, 14, tzinfo=UTC)),
    ],
)
def test_times(text: str, moment: datetime) -> None:
    assert instant(text) == moment


NONE = """
2026-03-01 2026-3-1T12:00:00Z 20260301T120000Z 2026-W09-7T12:00:00Z 2026-02-30T12:00:00Z 2026-03-01T24:00:00Z
2026-03-01T12:00Z 2026-03-01T12:00:00z 2026-03-01T12:00:00+9999 2026-03-01T12:00:00+99:00 -2026-03-01T12:00:00Z
12026-03-01T12:00:00Z 0000-01-01T00:00:00Z 0001-01-01T00:00:00+14:00 9999-12-31T23:59:59-14:00 2026-03-01T12:00:60Z
２０２６-03-01T12:00:00Z 2026-03-01T12:00:00Zx now
"""


@pytest.mark.parametrize("text", [*NONE.split(), "", "2026-03-01 12:00:00"])
def test_times_that_are_none(text: str) -> None:
    with refused(Problem.INVALID, "no time such as"):
        instant(text)


def test_messages_have_their_time() -> None:
    data = sent(TIMED)
    for now in (NOW - SKEW, NOW, NOW + SKEW):
        received(data, TIMED, now=now)
    with refused(Problem.EXPIRED, "too long ago"):
        received(data, TIMED, now=NOW + SKEW + SECOND)
    with refused(Problem.INVALID, "future"):
        received(data, TIMED, now=NOW - SKEW - SECOND)


def test_messages_that_expire_early() -> None:
    root = parsed(sent(TIMED))
    find(root, "//wsu:Expires").text = "2026-03-01T12:00:10Z"
    received(root, TIMED, now=NOW + SKEW)
    root = parsed(sent(TIMED))
    find(root, "//wsu:Expires").text = "2026-03-01T11:59:00Z"
    with refused(Problem.EXPIRED, "has expired"):
        received(root, TIMED, now=NOW + SKEW)


def test_messages_that_want_to_last_for_ever() -> None:
    root = parsed(sent(TIMED))
    find(root, "//wsu:Expires").text = "9999-01-01T00:00:00Z"
    with refused(Problem.EXPIRED):
        received(root, TIMED, now=NOW + SKEW + SECOND)


def test_messages_that_do_not_say_when_they_expire() -> None:
    root = parsed(sent(TIMED))
    expires = find(root, "//wsu:Expires")
    expires.getparent().remove(expires)
    received(root, TIMED)
    with refused(Problem.EXPIRED):
        received(root, TIMED, now=NOW + SKEW + SECOND)


def test_messages_that_do_not_say_when_they_were_made() -> None:
    root = parsed(sent(TIMED))
    created = find(root, "//wsu:Created")
    created.getparent().remove(created)
    with refused(Problem.INVALID, "no element Created"):
        received(root, TIMED)


def test_a_time_is_checked_though_nobody_asks() -> None:
    with refused(Problem.EXPIRED):
        received(sent(TIMED), SecurityPolicy(), now=NOW + SKEW + SECOND)
