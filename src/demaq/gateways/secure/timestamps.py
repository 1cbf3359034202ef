"""Times in messages: not from the future, and not from long ago."""

import re
from datetime import UTC, datetime, timedelta

from lxml import etree

from demaq.gateways.secure.elements import local, needed, only, text_of
from demaq.gateways.secure.faults import Problem, SecurityFault
from demaq.gateways.secure.identities import with_id
from demaq.gateways.secure.names import WSU, wsu

_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,12})?(Z|[+-][0-9]{2}:[0-9]{2})?"
)


def written(moment: datetime) -> str:
    """A time as messages say it.

    >>> written(datetime(2024, 2, 29, 12, 30, tzinfo=UTC))
    '2024-02-29T12:30:00.000Z'
    """
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read_instant(element: "etree._Element") -> datetime:
    """The time that an element says; without a zone, it is universal time."""
    text = text_of(element)
    try:
        if not _INSTANT.fullmatch(text):
            raise ValueError(text)
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise SecurityFault(Problem.INVALID, f"{local(element)} has no time such as 2024-02-29T12:30:00Z") from error


def check_recent(created: datetime, now: datetime, skew: timedelta) -> None:
    """Was something made just now, as far as clocks agree?"""
    if created > now + skew:
        raise SecurityFault(Problem.INVALID, f"the message was made in the future: here it is {written(now)}")
    if created < now - skew:
        raise SecurityFault(Problem.EXPIRED, f"the message was made too long ago: here it is {written(now)}")


def check_timestamp(element: "etree._Element", now: datetime, skew: timedelta) -> None:
    check_recent(read_instant(needed(element, wsu("Created"))), now, skew)
    expires = only(element, wsu("Expires"))
    if expires is not None and read_instant(expires) <= now - skew:
        raise SecurityFault(Problem.EXPIRED, f"the message has expired: here it is {written(now)}")


def timestamp(now: datetime, lasting: timedelta) -> "etree._Element":
    element = etree.Element(wsu("Timestamp"), nsmap={"wsu": WSU})
    with_id(element)
    etree.SubElement(element, wsu("Created")).text = written(now)
    etree.SubElement(element, wsu("Expires")).text = written(now + lasting)
    return element
