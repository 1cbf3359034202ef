"""Policies in WSDL files: where WS-PolicyAttachment has them, and once."""

from collections.abc import Mapping
from typing import Any

import pytest
from lxml import etree

from demaq.gateways.policies import served_policies, with_policies
from demaq.gateways.reliable.policy import read_policy as read_reliable
from demaq.gateways.secure.policy import SP, WSP
from demaq.gateways.soap.wsdl import WSDL
from demaq.model import RELIABLE_MESSAGING, SECURITY

WSU = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
WSP_2004 = "http://schemas.xmlsoap.org/ws/2004/09/policy"
RMP = "http://docs.oasis-open.org/ws-rx/wsrmp/200702"
RMP_10 = "http://schemas.xmlsoap.org/ws/2005/02/rm/policy"
SECURE = f"""<wsp:Policy xmlns:wsp="{WSP}" xmlns:sp="{SP}">
  <sp:UsernameToken/><sp:SignedParts><sp:Body/></sp:SignedParts></wsp:Policy>"""
RELIABLE = f'<p:Policy xmlns:p="{WSP_2004}"><r:RMAssertion xmlns:r="{RMP}"/></p:Policy>'
BOTH = {RELIABLE_MESSAGING: "rm.xml", SECURITY: "security.xml"}
INTERFACE = f"""<w:definitions xmlns:w="{WSDL}" xmlns:wsp="{WSP}" xmlns:wsu="{WSU}" xmlns:tns="urn:a">
  <w:documentation>of us</w:documentation>{{top}}
  <w:binding name="Other" type="tns:T"/>
  <w:binding name="Ours" type="tns:T">
    <w:documentation>ours</w:documentation>{{bound}}<w:operation name="o"/></w:binding>
  <w:service name="S"><w:port name="P" binding="tns:Ours">{{port}}</w:port></w:service>
</w:definitions>"""


def attached(
    top: str = "", bound: str = "", port: str = "", reliable: str = RELIABLE, policies: Mapping[str, str] = BOTH
) -> "etree._Element":
    text = INTERFACE.format(top=top, bound=bound, port=port)
    served = served_policies({"rm.xml": reliable, "security.xml": SECURE}, policies)
    return etree.fromstring(with_policies(text.encode(), "Ours", served))


def names(element: "etree._Element") -> list[str]:
    return [etree.QName(each).localname for each in element.iterchildren("*")]


def test_policies_stand_where_the_schema_of_wsdl_wants_them() -> None:
    root = attached()
    assert names(root) == ["documentation", "Policy", "Policy", "binding", "binding", "service"]
    other, ours = root.iterfind(f"{{{WSDL}}}binding")
    assert names(other) == []
    assert names(ours) == ["documentation", "PolicyReference", "PolicyReference", "operation"]
    policies = {f"#{each.get(f'{{{WSU}}}Id')}": each for each in root if "Policy" in each.tag}
    assert [each.get("URI") for each in ours[1:3]] == list(policies)
    for reference, space, inside in zip(ours[1:3], (WSP_2004, WSP), ("RMAssertion", "UsernameToken"), strict=True):
        assert reference.tag == f"{{{space}}}PolicyReference"
        assert names(policies[reference.get("URI")])[0] == inside


@pytest.mark.parametrize(
    "has",
    [
        {"bound": f'<wsp:Policy><sp:UsernameToken xmlns:sp="{SP}"/></wsp:Policy>'},
        {"port": f'<wsp:Policy><sp:UsernameToken xmlns:sp="{SP}"/></wsp:Policy>'},
        {
            "top": f'<wsp:Policy wsu:Id="own"><sp:UsernameToken xmlns:sp="{SP}"/></wsp:Policy>',
            "bound": '<wsp:PolicyReference URI="#own"/>',
        },
    ],
)
def test_what_an_interface_says_itself_stays_as_it_is(has: dict[str, Any]) -> None:
    root = attached(**has)
    assert len(list(root.iter(f"{{{SP}}}UsernameToken"))) == 1
    assert len(list(root.iter(f"{{{RMP}}}RMAssertion"))) == 1


def test_the_policy_of_another_binding_is_not_ours_and_keeps_its_id() -> None:
    root = attached(top=f'<wsp:Policy wsu:Id="WS-Security"><sp:X509Token xmlns:sp="{SP}"/></wsp:Policy>')
    ids = [each.get(f"{{{WSU}}}Id") for each in root if "Policy" in each.tag]
    assert ids == [RELIABLE_MESSAGING, "WS-Security-2", "WS-Security"]


def test_a_file_without_the_binding_stays_as_it_is() -> None:
    text = f'<w:definitions xmlns:w="{WSDL}"><w:types/></w:definitions>'.encode()
    assert with_policies(text, "Ours", served_policies({"security.xml": SECURE}, {SECURITY: "security.xml"})) == text


@pytest.mark.parametrize(
    "text",
    [
        "<nothing/>",
        f'<r:RMAssertion xmlns:r="{RMP_10}"/>',
        f"""<p:Policy xmlns:p="{WSP}"><p:ExactlyOne>
          <r:RMAssertion xmlns:r="{RMP_10}"/><r:RMAssertion xmlns:r="{RMP}"/></p:ExactlyOne></p:Policy>""",
    ],
)
def test_what_is_offered_is_what_is_followed(text: str) -> None:
    """Whatever the file says, and of several alternatives the one that is taken."""
    root = attached(reliable=text, policies={RELIABLE_MESSAGING: "rm.xml"})
    (policy,) = root.iterchildren(f"{{{WSP}}}Policy")
    (assertion,) = policy
    assert etree.QName(assertion).namespace == (RMP if "nothing" in text else RMP_10)
    assert read_reliable(etree.tostring(policy, encoding="unicode")) == read_reliable(text)


ASYMMETRIC = """<sp:AsymmetricBinding><wsp:Policy><sp:InitiatorToken/>{time}</wsp:Policy></sp:AsymmetricBinding>"""


@pytest.mark.parametrize("time", ["", "<sp:IncludeTimestamp/>"])
def test_what_is_signed_has_a_time_and_is_said_to_have_one(time: str) -> None:
    text = SECURE.replace("<sp:UsernameToken/>", ASYMMETRIC.format(time=time))
    (policy,) = served_policies({"security.xml": text}, {SECURITY: "security.xml"})
    (binding,) = policy.element.iter(f"{{{SP}}}AsymmetricBinding")
    assert names(binding[0]) == ["InitiatorToken", "IncludeTimestamp"]
    assert not list(attached(policies={SECURITY: "security.xml"}).iter(f"{{{SP}}}IncludeTimestamp"))


def test_headers_of_sequences_are_signed_and_said_to_be() -> None:
    headers = [each.get("Namespace") for each in attached().iter(f"{{{SP}}}Header")]
    assert headers == ["http://docs.oasis-open.org/ws-rx/wsrm/200702", "http://schemas.xmlsoap.org/ws/2005/02/rm"]
    assert not list(attached(policies={SECURITY: "security.xml"}).iter(f"{{{SP}}}Header"))
