"""Policies of WS-ReliableMessaging: which version is spoken, and how patiently."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from lxml import etree

from demaq.diagnostics import DemaqError, did_you_mean
from demaq.gateways.reliable.vocabulary import RmVersion
from demaq.gateways.soap.wsdl import parsed

RMP_10 = "http://schemas.xmlsoap.org/ws/2005/02/rm/policy"
RMP_11 = "http://docs.oasis-open.org/ws-rx/wsrmp/200702"
_RMP_NET = "http://schemas.microsoft.com/ws-rx/wsrmp/200702"  # where .NET writes the intervals of 1.1
_VERSIONS = {RMP_10: RmVersion.RM_10, RMP_11: RmVersion.RM_11}
POLICIES = (
    "http://www.w3.org/ns/ws-policy",
    "http://schemas.xmlsoap.org/ws/2004/09/policy",
    "http://www.w3.org/2006/07/ws-policy",
)
_TIMES = {
    "BaseRetransmissionInterval": "retransmission",
    "InactivityTimeout": "inactivity",
    "AcknowledgementInterval": "acknowledgement",
}
_ASSURANCES = ("ExactlyOnce", "AtLeastOnce", "AtMostOnce", "InOrder")  # the strongest are always given
_UNSUPPORTED = ("SequenceSTR", "SequenceTransportSecurity")
_KNOWN = {
    RMP_10: ("RMAssertion", "ExponentialBackoff", *_TIMES),
    RMP_11: ("RMAssertion", "DeliveryAssurance", *_ASSURANCES),
    _RMP_NET: tuple(_TIMES),
}
_LONGEST = 10**11  # milliseconds, which is three years


class PolicyInvalid(DemaqError):
    """A policy of WS-ReliableMessaging cannot be followed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliablePolicy:
    version: RmVersion = RmVersion.RM_11
    is_optional: bool = False  # messages outside of sequences are taken too
    retransmission: timedelta = timedelta(seconds=3)  # the first pause before a message is sent again
    inactivity: timedelta = timedelta(minutes=10)  # of the other side, after which a sequence is over
    acknowledgement: timedelta = timedelta(milliseconds=200)  # that an acknowledgement may wait


def read_policy(text: str) -> ReliablePolicy:
    """What a policy asks for. One without an assertion of WS-ReliableMessaging asks for 1.1, with the usual times.

    The intervals that 1.1 has no words for may be given in those of 1.0, or of .NET, inside its assertion. Of several
    alternatives the first is taken.
    """
    try:
        root = parsed(text)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise PolicyInvalid(f"the policy is not well-formed XML: {' '.join(str(error).split())}") from error
    for element in root.iter("*"):
        _check(etree.QName(element))
    assertion = next(root.iter(*(f"{{{namespace}}}RMAssertion" for namespace in _VERSIONS)), None)
    if assertion is None:
        return ReliablePolicy()
    found = ReliablePolicy(version=_VERSIONS[etree.QName(assertion).namespace], is_optional=_is_optional(assertion))
    return replace(found, **_times(assertion))


def _check(name: "etree.QName") -> None:
    if name.namespace == RMP_11 and name.localname in _UNSUPPORTED:
        raise PolicyInvalid(f"the policy asks for `{name.localname}`: sequences are not bound to keys or connections")
    known = _KNOWN.get(name.namespace)
    if known is not None and name.localname not in known:
        raise PolicyInvalid(
            f"the policy asks for `{name.localname}`, which WS-ReliableMessaging does not have: "
            f"{did_you_mean(name.localname, known, 'assertions')}"
        )


def _is_optional(assertion: "etree._Element") -> bool:
    return any(assertion.get(f"{{{policy}}}Optional") in ("true", "1") for policy in POLICIES)


def _times(assertion: "etree._Element") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for element in assertion.iter("*"):
        name = etree.QName(element).localname
        if name in _TIMES and etree.QName(element).namespace in _KNOWN:
            text = element.get("Milliseconds", "").strip()
            if not (text.isascii() and text.isdigit() and len(text) < 20 and 0 < int(text) <= _LONGEST):
                raise PolicyInvalid(f"`{name}` has no Milliseconds from 1 to {_LONGEST:,}, but `{text}`")
            found[_TIMES[name]] = timedelta(milliseconds=int(text))
    return found
