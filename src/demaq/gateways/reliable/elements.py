"""Elements of the protocol: how they are made, and how what others wrote is read with care."""

import re
from datetime import timedelta

from lxml import etree

from demaq.gateways.reliable.faults import ReliableFault
from demaq.gateways.reliable.vocabulary import FaultCode, RmVersion
from demaq.gateways.soap.addressing import NAMESPACES
from demaq.gateways.soap.envelope import Fault

_LONGEST = 1000  # characters of an identifier, or of an address
_DIGITS = 20  # of the greatest number
_DURATION = re.compile(
    r"P(?:(\d{1,9})Y)?(?:(\d{1,9})M)?(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,12}(?:\.\d+)?)S)?)?",
    re.ASCII,
)
_FOREVER = 10 * 365 * 86400  # seconds: what is longer than ten years is taken as that
_UNITS = (365 * 86400, 30 * 86400, 86400, 3600, 60, 1)  # seconds, which is close enough for years and months


def endpoint(version: RmVersion, local: str, address: str, addressing: str) -> "etree._Element":
    """The reference to an endpoint, in the words of a version of WS-Addressing."""
    made = version.element(local)
    etree.SubElement(made, f"{{{addressing}}}Address", nsmap={"wsa": addressing}).text = address
    return made


def only(parent: "etree._Element", version: RmVersion, local: str) -> "etree._Element | None":
    """A child that can be there once."""
    found = parent.findall(version.tag(local))
    if len(found) > 1:
        raise Fault(f"`{_name(parent)}` has `{local}` twice")
    return found[0] if found else None


def identifier_in(parent: "etree._Element", version: RmVersion) -> str:
    return _short(only(parent, version, "Identifier"), parent, "Identifier")


def address_in(parent: "etree._Element", version: RmVersion, local: str) -> str:
    """The address in the reference to an endpoint, whatever version of WS-Addressing that is in."""
    found = only(parent, version, local)
    places = [] if found is None else [found.find(f"{{{namespace}}}Address") for namespace in NAMESPACES]
    return _short(next((place for place in places if place is not None), None), parent, local)


def duration_in(parent: "etree._Element", version: RmVersion, local: str) -> timedelta | None:
    found = only(parent, version, local)
    if found is None:
        return None
    text = (found.text or "").strip()
    parts = _DURATION.fullmatch(text)
    if parts is None or not any(parts.groups()) or text.endswith("T"):
        raise Fault(f"`{local}` is no duration")
    seconds = sum(float(part or 0) * unit for part, unit in zip(parts.groups(), _UNITS, strict=True))
    return timedelta(seconds=min(seconds, _FOREVER))


def duration_text(duration: timedelta) -> str:
    """
    >>> duration_text(timedelta(minutes=2, milliseconds=500))
    'PT120.5S'
    """
    return f"PT{duration.total_seconds():.3f}".rstrip("0").rstrip(".") + "S"


def number_in(parent: "etree._Element", version: RmVersion, local: str, identifier: str) -> int | None:
    """The number of a message of a sequence."""
    found = only(parent, version, local)
    return None if found is None else number_of(found.text, version, local, identifier, least=1)


def number_of(text: str | None, version: RmVersion, what: str, identifier: str, least: int) -> int:
    digits = (text or "").strip().lstrip("+")
    if not (digits.isascii() and digits.isdigit()):
        raise Fault(f"`{what}` is no number of a message")
    number = int(digits) if len(digits) <= _DIGITS else version.greatest + 1
    if number > version.greatest:
        raise ReliableFault(
            FaultCode.MESSAGE_NUMBER_ROLLOVER,
            f"`{what}` is greater than {version.greatest}, the last number that a message can have",
            version,
            identifier=identifier,
            detail=[version.element("MaxMessageNumber", str(version.greatest))],
        )
    if number < least:
        raise Fault(f"`{what}` is {number}: messages have numbers from 1 on")
    return number


def _short(found: "etree._Element | None", parent: "etree._Element", local: str) -> str:
    text = "" if found is None else (found.text or "").strip()
    if not text:
        raise Fault(f"`{_name(parent)}` has no `{local}`")
    if len(text) > _LONGEST:
        raise Fault(f"`{local}` has more than {_LONGEST} characters")
    return text


def _name(found: "etree._Element") -> str:
    return str(etree.QName(found).localname)
