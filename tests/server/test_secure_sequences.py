"""Places in sequences that are not as they were signed: all of this is refused."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from lxml import etree

from demaq.gateways.reliable.headers import Place, ack_requested
from demaq.gateways.reliable.messages import CreateSequence
from demaq.gateways.reliable.vocabulary import RmVersion
from demaq.gateways.secure.names import wsse, wsu
from demaq.gateways.secure.outgoing import secure
from demaq.gateways.secure.policy import read_policy
from demaq.gateways.soap.addressing import WSA, Addressing, anonymous
from demaq.gateways.soap.envelope import Version, envelope
from demaq.gateways.soap.wsdl import parsed
from demaq.model import GatewaySettings
from server.test_reliable import POLICIES as RELIABLE
from server.test_secure import BOTH, IN, SIGNED, Files, credentials, policy
from serving import Served, served

RM = RmVersion.RM_11
SEQUENCE = Place(identifier="urn:s", number=1)
_Change = Callable[["etree._Element"], None]


def place_in(header: "etree._Element") -> "etree._Element":
    return header.find(RM.tag("Sequence"))


def changed(header: "etree._Element") -> None:
    place_in(header).find(RM.tag("MessageNumber")).text = "7"


def added(header: "etree._Element") -> None:
    header.append(replace(SEQUENCE, number=7).element(RM, Version.SOAP_11))


def added_before(header: "etree._Element") -> None:
    header.insert(0, replace(SEQUENCE, number=7).element(RM, Version.SOAP_11))


def replaced(header: "etree._Element") -> None:
    added(header)
    header.remove(place_in(header))


def replaced_with_its_id(header: "etree._Element") -> None:
    id_ = place_in(header).get(wsu("Id"))
    replaced(header)
    header[-1].set(wsu("Id"), id_)


def for_somebody_else(header: "etree._Element") -> None:
    added(header)
    place_in(header).set(Version.SOAP_11.tag("actor"), "urn:nobody")


def in_a_wrapper(header: "etree._Element") -> None:
    added(header)
    etree.SubElement(header, "wrapper").append(place_in(header))


def in_the_security_header(header: "etree._Element") -> None:
    added(header)
    header.find(wsse("Security")).append(place_in(header))


def in_another_header(header: "etree._Element") -> None:
    added(header)
    header[-1].append(place_in(header))


def acknowledgement_asked(header: "etree._Element") -> None:
    header.append(ack_requested(RM, "urn:another"))


def of_another_version(header: "etree._Element") -> None:
    header.append(SEQUENCE.element(RmVersion.RM_10, Version.SOAP_11))


def for_the_next(header: "etree._Element") -> None:
    added(header)
    header[-1].set(Version.SOAP_11.tag("actor"), "http://schemas.xmlsoap.org/soap/actor/next")


@pytest.fixture(name="there", scope="module")
def _there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A node that speaks both protocols, by the policy that the documentation has."""
    folder = tmp_path_factory.mktemp("there")
    given = {"rm.xml": RELIABLE["1.1"], "security.xml": policy(SIGNED)}
    gateways = {"orders": GatewaySettings(security=Files(folder / "files").settings("bob", "ada"))}
    with served(folder / "app", IN.format(using=BOTH), files=given, gateways=gateways) as node:
        yield node


def in_sequence(covered: str | None = RM.value, who: str = "ada", place: Place = SEQUENCE) -> "etree._Element":
    headers = Addressing(message_id="urn:uuid:1", action="urn:order").elements()
    headers.append(place.element(RM, Version.SOAP_11))
    return secured(parsed("<order>1</order>"), headers, covered, who)


def secured(
    payload: "etree._Element", headers: "list[etree._Element]", covered: str | None = RM.value, who: str = "ada"
) -> "etree._Element":
    root = parsed(envelope(Version.SOAP_11, payload, headers).decode())
    found = read_policy(policy(SIGNED))
    found = found if covered is None else found.with_signed_headers([covered])
    secure(root, found, credentials(who), datetime.now(UTC))
    return root


def test_a_place_in_a_sequence_has_to_be_signed(there: Served) -> None:
    for covered, reason in ((RM.value, "this sequence is not known"), (None, "Sequence is not signed")):
        response = there.post("orders", etree.tostring(in_sequence(covered)), content_type="text/xml")
        assert reason in response.text


@pytest.mark.parametrize(
    "change",
    [
        changed,
        added,
        added_before,
        replaced,
        replaced_with_its_id,
        for_somebody_else,
        in_a_wrapper,
        in_the_security_header,
        in_another_header,
        acknowledgement_asked,
        of_another_version,
        for_the_next,
    ],
    ids=lambda change: change.__name__,
)
def test_a_place_in_a_sequence_that_was_changed_is_refused(there: Served, change: _Change) -> None:
    root = in_sequence()
    header = root.find("{*}Header")
    change(header)
    before = len(there.get("/api/errors")["messages"])
    response = there.post("orders", etree.tostring(root), content_type="text/xml")
    assert response.status_code == 500
    assert "oasis-200401-wss" in response.text, "it is a fault of security"
    assert "not known" not in response.text
    errors = there.until(lambda: there.get("/api/errors")["messages"][before:])
    assert "<error><security/>" in errors[0]["body"]


def test_a_sequence_is_that_of_whoever_wanted_it(tmp_path: Path) -> None:
    files = Files(tmp_path / "files")
    security = files.settings("bob", "ada")
    both = replace(security, trusted=(files.of("ada")[1], files.of("mallory")[1]))
    given = {"rm.xml": RELIABLE["1.1"], "security.xml": policy(SIGNED)}
    gateways = {"orders": GatewaySettings(security=both)}
    headers = Addressing(message_id="urn:uuid:0", action=RM.action("CreateSequence"), reply_to=anonymous()).elements()
    create = secured(CreateSequence(acks_to=anonymous()).element(RM, WSA), headers)
    with served(tmp_path / "app", IN.format(using=BOTH), files=given, gateways=gateways) as node:
        answer = node.post("orders", etree.tostring(create), content_type="text/xml")
        identifier = etree.fromstring(answer.content).findtext(".//{*}Identifier")
        answers = [
            node.post(
                "orders",
                etree.tostring(in_sequence(who=who, place=Place(identifier=identifier, number=1))),
                content_type="text/xml",
            ).text
            for who in ("mallory", "ada")
        ]
        assert "not known" in answers[0]
        assert 'Upper="1"' in answers[1]
        assert node.until(lambda: node.bodies("done")) == ["<done>1</done>"]
