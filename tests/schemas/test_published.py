"""What a node writes is as the published schemas want it: WSDL, and envelopes of every kind, as `xmllint` sees them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import zeep
from lxml import etree

from demaq.gateways.secure.policy import SP, Password, SecurityPolicy
from demaq.gateways.soap.envelope import Version
from demaq.model import GatewaySettings
from gateways.reliable.test_golden import GOLDEN
from gateways.secure.letters import BOTH, DIGEST, ENCRYPTED, SIGNED, TEXT, sent
from gateways.secure.people import person, sender
from schemas.published import Published, published
from server.test_reliable import POLICIES as RELIABLE
from server.test_secure import ENCRYPTED as ALL_OF_IT
from server.test_secure import Files, policy, post, signed, weather
from server.test_soap import APP, KEPT, ORDER, OUT, WSA, XS, envelope, files
from serving import served, service

WSU = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
ASK = '<w:ask xmlns:w="urn:weather"><w:city>Rome</w:city></w:ask>'
HEADERS = (
    f'<a:MessageID xmlns:a="{WSA}">urn:uuid:7</a:MessageID><a:Action xmlns:a="{WSA}">urn:weather/forecast</a:Action>'
)


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> Published:
    return published(tmp_path_factory.mktemp("schemas"))


def written(folder: Path, documents: Sequence[bytes]) -> list[Path]:
    assert documents
    found = [folder / f"{number}.xml" for number in range(len(documents))]
    for path, data in zip(found, documents, strict=True):
        path.write_bytes(data)
    return found


def test_what_is_not_valid_is_found(schemas: Published, tmp_path: Path) -> None:
    wrong = [
        envelope("<a/>").replace(b"Body", b"Bodies"),
        envelope("<s:Fault><code/></s:Fault>"),
        envelope("<a/>", f'<a:ReplyTo xmlns:a="{WSA}"/>', Version.SOAP_12),
        envelope("<a/>", '<r:Sequence xmlns:r="http://docs.oasis-open.org/ws-rx/wsrm/200702"/>'),
    ]
    for path in written(tmp_path, wrong):
        assert schemas.complaints("envelopes", path), path.read_text()
    file = tmp_path / "wrong.wsdl"
    file.write_text(files()["interfaces/weather.wsdl"].replace("soapAction", "action"))
    assert schemas.complaints("interfaces", file)


@pytest.mark.parametrize("soap", ["soap", "soap12"])
def test_interfaces(schemas: Published, tmp_path: Path, soap: str) -> None:
    """Those that were given, and those that are made of a schema, or without one."""
    with served(tmp_path / "app", APP, files=files(soap)) as node:
        queues = ("weather", "plain", "anything")
        found = [node.client.get(f"/gateways/{queue}?wsdl").content for queue in queues]
    with served(
        tmp_path / "nameless" / "app", KEPT, files={"schemas/orders.xsd": XS.format(target="", inside=ORDER)}
    ) as node:
        found.append(node.client.get("/gateways/orders?wsdl").content)
    assert schemas.complaints("interfaces", *written(tmp_path, found)) == ""


def test_interfaces_with_policies(schemas: Published, tmp_path: Path) -> None:
    """They are at the binding, in what was given and in what is made; and what reads the one reads the other."""
    using = "using WS-ReliableMessaging policy rm.xml using WS-Security policy security.xml"
    app = APP.replace("port WeatherPort", f"port WeatherPort {using}").replace(
        'schema "schemas/plain.xsd"', f'schema "schemas/plain.xsd" {using}'
    )
    given = {**files(), "rm.xml": RELIABLE["1.1"], "security.xml": policy(ALL_OF_IT)}
    settings = GatewaySettings(security=Files(tmp_path / "files").settings("bob", "ada"))
    with served(tmp_path / "app", app, files=given, gateways=dict.fromkeys(("weather", "plain"), settings)) as node:
        places = [f"/gateways/{queue}?wsdl" for queue in ("weather", "plain")]
        found = [node.client.get(place).content for place in places]
        for place in places:
            zeep.Client(f"{node.serving.address}{place}")  # type: ignore[no-untyped-call]
    assert schemas.complaints("interfaces", *written(tmp_path, found)) == ""
    for text in found:
        root = etree.fromstring(text)
        ids = [each.get(f"{{{WSU}}}Id") for each in root.iterchildren("{*}Policy")]
        assert ids == ["WS-ReliableMessaging", "WS-Security"]
        assert [each.get("URI") for each in root.iterfind("{*}binding/{*}PolicyReference")] == [f"#{id}" for id in ids]
        assert len(list(root.iter(f"{{{SP}}}EncryptedParts"))) == 1


@pytest.mark.parametrize("version", list(Version), ids=lambda version: version.name)
def test_replies_and_faults(schemas: Published, tmp_path: Path, version: Version) -> None:
    bodies = [
        (ASK, ""),
        (ASK, HEADERS),
        ("<a/>", ""),
        ("<a/>", HEADERS.replace("uuid:7", "uuid:8")),
        ("", ""),
        (ASK, '<h:x xmlns:h="urn:h" s:mustUnderstand="1"/>'),
    ]
    with served(tmp_path / "app", APP, files=files("soap" if version is Version.SOAP_11 else "soap12")) as node:
        answers = [
            node.post("weather", envelope(body, header, version), content_type=version.media_type)
            for body, header in bodies
        ]
        answers.append(node.post("weather", b"<s:Envelope", content_type=version.media_type))
    assert [answer.status_code == 200 for answer in answers] == [True, True, *[False] * 5], answers
    found = [answer.content for answer in answers]
    assert all(etree.fromstring(data).tag == version.tag("Envelope") for data in found)
    assert schemas.complaints("envelopes", *written(tmp_path, found)) == ""


@pytest.mark.parametrize("soap", ["soap", "soap12"])
def test_requests(schemas: Published, tmp_path: Path, soap: str) -> None:
    with service() as there:
        with served(tmp_path / "app", OUT, files=files(soap, there.address)) as node:
            node.post("jobs", "<city>Rome</city>")
            node.until(lambda: there.got)
        found = [body for _, _, body in there.got]
    assert schemas.complaints("envelopes", *written(tmp_path, found)) == ""


def test_sequences(schemas: Published) -> None:
    found = sorted(GOLDEN.glob("*/*.xml"))
    assert len(found) > 20
    assert schemas.complaints("envelopes", *found) == ""


@pytest.mark.parametrize("version", list(Version), ids=lambda version: version.name)
def test_secured(schemas: Published, tmp_path: Path, version: Version) -> None:
    everything = SecurityPolicy(
        password=Password.DIGEST, signed=BOTH.signed, signs_token=True, has_timestamp=True, encrypts_body=True
    )
    # To xmllint, whole numbers have at most 24 digits; most certificates have longer ones.
    who = replace(sender(), peer=person("bob", serial=7).certificate)
    policies = (TEXT, DIGEST, SIGNED, ENCRYPTED, BOTH, everything)
    found = [sent(policy, who, payload="<a/>", version=version) for policy in policies]
    assert schemas.complaints("envelopes", *written(tmp_path, found)) == ""


def test_secured_faults_and_replies(schemas: Published, tmp_path: Path) -> None:
    with weather(tmp_path, Files(tmp_path / "files"), ALL_OF_IT) as node:
        refused = post(node, signed())
        assert refused.status_code == 500
        found = [refused.content, node.client.get("/gateways/weather?wsdl").content]
    fault, interface = written(tmp_path, found)
    assert schemas.complaints("envelopes", fault) == ""
    assert schemas.complaints("interfaces", interface) == ""
