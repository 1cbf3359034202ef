"""Headers and times that are moved, added, or taken away from what is signed."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from lxml import etree

from demaq.gateways.secure.faults import Problem, SecurityFault
from demaq.gateways.secure.names import ds
from demaq.gateways.secure.policy import Password, SecurityPolicy, SignedParts
from demaq.gateways.secure.timestamps import timestamp
from demaq.gateways.secure.usernames import username_token
from gateways.secure.forging import ID, digest_again, element, holds_for_others, sign_again, signed, wrapper
from gateways.secure.letters import (
    SIGNED,
    find,
    parsed,
    received,
    refused,
    sent,
)
from gateways.secure.people import NOW


@pytest.mark.parametrize("attributes", ["", "same", "other"])
@pytest.mark.parametrize("name", ["To", "Action", "ReplyTo", "From", "MessageID"])
def test_headers_that_are_moved(name: str, attributes: str) -> None:
    root = signed()
    true = find(root, f"/soap:Envelope/soap:Header/wsa:{name}")
    id_ = true.get(ID)
    true.getparent().remove(true)
    forged = element(f"<wsa:{name} >http://eve.example</wsa:{name}>")
    if attributes:
        forged.set(ID, id_ if attributes == "same" else "another")
    find(root, "/soap:Envelope/soap:Header").insert(0, forged)
    wrapper(root, true)
    if attributes != "same":  # of those with the same Id, others take the first
        assert holds_for_others(root)
    with pytest.raises(SecurityFault):
        received(root, SIGNED)


@pytest.mark.parametrize("place", [0, 100])
@pytest.mark.parametrize("name", ["To", "ReplyTo", "FaultTo", "RelatesTo"])
def test_headers_that_are_added(name: str, place: int) -> None:
    """The first or the last of a name may be that which is used, so all of them have to be signed."""
    root = signed()
    added = element(f"<wsa:{name} ><wsa:Address>http://eve.example</wsa:Address></wsa:{name}>")
    find(root, "/soap:Envelope/soap:Header").insert(place, added)
    assert holds_for_others(root)
    with refused(Problem.INVALID, f"{name} is not signed"):
        received(root, SIGNED)


def test_headers_of_another_version_of_addressing() -> None:
    root = signed()
    old = "http://schemas.xmlsoap.org/ws/2004/08/addressing"
    etree.SubElement(find(root, "/soap:Envelope/soap:Header"), f"{{{old}}}To").text = "http://eve.example"
    assert holds_for_others(root)
    with refused(Problem.INVALID, "To is not signed"):
        received(root, SIGNED)


def test_headers_that_are_taken_away() -> None:
    root = signed()
    true = find(root, "/soap:Envelope/soap:Header/wsa:ReplyTo")
    true.getparent().remove(true)
    with refused(Problem.FAILED_CHECK, "neither the Body nor a header"):
        received(root, SIGNED)


def test_a_copy_that_a_reference_is_to() -> None:
    """The signer has signed something else, which has the Id that the body should have."""
    root = signed()
    body = find(root, "//soap:Body")
    other = etree.SubElement(find(root, "/soap:Envelope/soap:Header"), "note")
    other.set(ID, body.get(ID))
    other.text = "signed"
    body.set(ID, "elsewhere")
    digest_again_for(root, other)
    sign_again(root)
    assert holds_for_others(root)
    with refused(Problem.INVALID, "Body is not signed"):
        received(root, SIGNED)


def digest_again_for(root: "etree._Element", what: "etree._Element") -> None:
    transforms = find(root, f"//ds:Reference[@URI='#{what.get(ID)}']").find(ds("Transforms"))
    for each in list(transforms[0]):
        transforms[0].remove(each)
    digest_again(root, what)


def test_every_header_if_the_policy_says_so() -> None:
    policy = SecurityPolicy(signed=SignedParts(body=True, every_header=True))
    root = parsed(sent(policy))
    assert received(root, policy).subject == "CN=ada"
    etree.SubElement(find(root, "/soap:Envelope/soap:Header"), "added")
    with refused(Problem.INVALID, "added is not signed"):
        received(root, policy)


# The time


@pytest.mark.parametrize("attributes", ["", "same"])
def test_a_time_that_is_moved(attributes: str) -> None:
    """An old message with a new time."""
    root = signed(now=NOW - timedelta(days=1))
    with refused(Problem.EXPIRED):
        received(root, SIGNED)
    true = find(root, "//wsu:Timestamp")
    forged = timestamp(NOW, timedelta(minutes=5))
    del forged.attrib[ID]
    if attributes:
        forged.set(ID, true.get(ID))
    true.getparent().replace(true, forged)
    find(root, "/soap:Envelope/soap:Header").insert(0, etree.Element("wrapper"))
    find(root, "/soap:Envelope/soap:Header/wrapper").append(true)
    assert holds_for_others(root)
    with pytest.raises(SecurityFault):
        received(root, SIGNED)


def test_a_time_that_is_taken_away() -> None:
    policy = replace(SIGNED, has_timestamp=False)
    root = signed(policy, NOW - timedelta(days=1))
    true = find(root, "//wsu:Timestamp")
    wrapper(root, true)
    assert holds_for_others(root)
    with refused(Problem.FAILED_CHECK):
        received(root, policy)


def test_a_time_that_is_added() -> None:
    """What was signed without a time does not get one from whoever sends it again."""
    root = without_time(SIGNED, NOW)
    with refused(Problem.INVALID, "no Timestamp"):
        received(root, SIGNED)
    find(root, "//wsse:Security").append(timestamp(NOW, timedelta(minutes=5)))
    assert holds_for_others(root)
    with refused(Problem.INVALID, "Timestamp is not signed"):
        received(root, SIGNED)


def without_time(policy: SecurityPolicy, now: datetime) -> "etree._Element":
    """An envelope whose sender signs no Timestamp, and sends none."""
    root = signed(policy, now)
    true = find(root, "//wsu:Timestamp")
    reference = find(root, f"//ds:Reference[@URI='#{true.get(ID)}']")
    for each in (true, reference):
        each.getparent().remove(each)
    sign_again(root)
    assert holds_for_others(root)
    return root


@pytest.mark.parametrize("asked", [replace(SIGNED, has_timestamp=False), SecurityPolicy()], ids=["asked", "unasked"])
@pytest.mark.parametrize("days", [0, 20])
def test_a_signature_has_a_time_though_no_policy_says_so(asked: SecurityPolicy, days: int) -> None:
    """Else what was signed could come again for ever: what came is remembered for some days."""
    root = without_time(SIGNED, NOW - timedelta(days=days))
    with refused(Problem.INVALID, "no time is signed"):
        received(root, asked)


@pytest.mark.parametrize("password", Password)
def test_the_time_of_a_token_that_is_signed_is_enough(password: Password) -> None:
    asked = replace(SIGNED, has_timestamp=False, password=password, signs_token=True)
    root = without_time(asked, NOW)
    assert received(root, asked).user == "ada"
    assert received(root, replace(asked, signs_token=False)).user == "ada"
    with refused(Problem.EXPIRED):
        received(root, asked, now=NOW + timedelta(days=20))


def test_the_time_of_a_token_that_is_not_signed_is_none() -> None:
    """Whoever sends an envelope again can put in a token of their own."""
    asked = replace(SIGNED, has_timestamp=False, password=Password.DIGEST)
    root = without_time(SIGNED, NOW - timedelta(days=20))
    find(root, "//wsse:Security").append(username_token("ada", "secret & <sweet>", Password.DIGEST, NOW))
    with refused(Problem.INVALID, "no time is signed"):
        received(root, asked)


def test_two_times() -> None:
    root = signed()
    find(root, "//wsse:Security").insert(0, timestamp(NOW, timedelta(minutes=5)))
    with refused(Problem.INVALID, "several elements Timestamp"):
        received(root, SIGNED)
