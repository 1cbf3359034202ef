"""SOAP: clients and services that we have not written, envelopes of both versions, and faults that say why."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
import zeep
from lxml import etree

from demaq.gateways.soap.envelope import Version
from demaq.model import GatewaySettings, ServerSettings
from demaq.server.edge import Edge
from demaq.store import StoreUnavailable
from serving import SOON, Served, Service, served, service

NS = "urn:weather"
WSDL = """<wsdl:definitions xmlns:wsdl="http://schemas.xmlsoap.org/wsdl/"
  xmlns:soap="http://schemas.xmlsoap.org/wsdl/{soap}/"
  xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:tns="urn:weather" targetNamespace="urn:weather">
  <wsdl:types>
    <xs:schema targetNamespace="urn:weather"><xs:include schemaLocation="../schemas/weather.xsd"/></xs:schema>
  </wsdl:types>
  <wsdl:message name="Ask"><wsdl:part name="body" element="tns:ask"/></wsdl:message>
  <wsdl:message name="Answer"><wsdl:part name="body" element="tns:answer"/></wsdl:message>
  <wsdl:message name="Note"><wsdl:part name="body" element="tns:note"/></wsdl:message>
  <wsdl:portType name="Weather">
    <wsdl:operation name="Forecast"><wsdl:input message="tns:Ask"/><wsdl:output message="tns:Answer"/></wsdl:operation>
    <wsdl:operation name="Tell"><wsdl:input message="tns:Note"/></wsdl:operation>
  </wsdl:portType>
  <wsdl:binding name="WeatherSoap" type="tns:Weather">
    <soap:binding style="document" transport="http://schemas.xmlsoap.org/soap/http"/>
    <wsdl:operation name="Forecast"><soap:operation soapAction="urn:weather/forecast"/>
      <wsdl:input><soap:body use="literal"/></wsdl:input>
      <wsdl:output><soap:body use="literal"/></wsdl:output></wsdl:operation>
    <wsdl:operation name="Tell"><soap:operation soapAction="urn:weather/tell"/>
      <wsdl:input><soap:body use="literal"/></wsdl:input></wsdl:operation>
  </wsdl:binding>
  <wsdl:service name="WeatherService">
    <wsdl:port name="WeatherPort" binding="tns:WeatherSoap"><soap:address location="{address}"/></wsdl:port>
  </wsdl:service>
</wsdl:definitions>"""
SCHEMA = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:weather"
  elementFormDefault="qualified">
  <xs:element name="ask"><xs:complexType><xs:sequence>
    <xs:element name="city" type="xs:string"/></xs:sequence></xs:complexType></xs:element>
  <xs:element name="answer"><xs:complexType><xs:sequence>
    <xs:element name="degrees" type="xs:int"/></xs:sequence></xs:complexType></xs:element>
  <xs:element name="note" type="xs:string"/>
</xs:schema>"""
APP = """
declare namespace w = "urn:weather";
create queue weather kind incomingGateway mode persistent interface "interfaces/weather.wsdl" port WeatherPort
create queue plain kind incomingGateway mode persistent schema "schemas/plain.xsd"
create queue anything kind incomingGateway mode persistent
create queue answers kind outgoingGateway mode persistent
create queue notes kind basic mode persistent

create rule forecast for weather
if (/w:ask) then
  if (/w:ask/w:city = "Nowhere") then ()
  else do enqueue <w:answer><w:degrees>{string-length(/w:ask/w:city)}</w:degrees></w:answer> into answers
else do enqueue . into notes

create rule keep for plain if (/*) then do enqueue . into notes
create rule answer for anything if (/question) then do enqueue <answer/> into answers
create rule keepAny for anything if (/*) then do enqueue <seen action="{qs:property("Action")}">{.}</seen> into notes
"""
PLAIN = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:plain">
  <xs:element name="order" type="xs:string"/><xs:element name="cancel" type="xs:string"/></xs:schema>"""


def files(soap: str = "soap", address: str = "http://weather.invalid/") -> dict[str, str]:
    return {
        "interfaces/weather.wsdl": WSDL.format(soap=soap, address=address),
        "schemas/weather.xsd": SCHEMA,
        "schemas/plain.xsd": PLAIN,
    }


@pytest.fixture(params=["soap", "soap12"])
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "app", APP, files=files(request.param)) as found:
        yield found


def client_of(node: Served, queue: str = "weather") -> zeep.Client:
    return zeep.Client(f"{node.serving.address}/gateways/{queue}?wsdl")  # type: ignore[no-untyped-call]


def test_a_client_that_reads_our_wsdl_asks_and_gets_its_answer(node: Served) -> None:
    client = client_of(node)
    assert client.service.Forecast(city="Mannheim") == 8
    assert client.service.Forecast(city="Rome") == 4


def test_a_client_tells_and_waits_for_nothing(node: Served) -> None:
    client_of(node).service.Tell("it rains")
    (note,) = node.until(lambda: node.bodies("notes"))
    assert etree.fromstring(note).tag == f"{{{NS}}}note"
    assert etree.fromstring(note).text == "it rains"


def test_the_wsdl_has_our_address_and_what_it_imports(node: Served) -> None:
    text = node.client.get("/gateways/weather?wsdl").text
    assert f'location="{node.serving.address}/gateways/weather"' in text
    (place,) = re.findall(r'schemaLocation="([^"]*)"', text)
    assert node.client.get(place).text.endswith("</xs:schema>")
    assert node.client.get("/gateways/weather?file=main.demaq").status_code == 404
    assert node.client.get("/gateways/weather?file=../app/main.demaq").status_code == 404
    assert node.client.get("/gateways/weather").status_code == 400


def test_a_queue_without_a_wsdl_gets_one(node: Served) -> None:
    client = client_of(node, "plain")
    client.service.order("five")
    client.service.cancel("all")
    assert len(node.until(lambda: node.bodies("notes") if len(node.bodies("notes")) == 2 else None)) == 2
    assert "message" in str(client_of(node, "anything").service._operations)


KEPT = """
create queue orders kind incomingGateway mode persistent schema "schemas/orders.xsd"
create queue notes kind basic mode persistent
create rule keep for orders if (/*) then do enqueue . into notes
"""
XS = '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"{target}>{inside}</xs:schema>'
ORDER = '<xs:element name="order" type="xs:string"/>'


@pytest.mark.parametrize("space", ["", "urn:shop"])
@pytest.mark.parametrize("is_included", [False, True])
def test_a_wsdl_is_made_of_every_schema(tmp_path: Path, space: str, is_included: bool) -> None:
    """Also of one without a namespace, as those of small applications are, and of one in several files."""
    target = f' targetNamespace="{space}"' if space else ""
    there = {"schemas/orders.xsd": XS.format(target=target, inside=ORDER)}
    if is_included:
        include = '<xs:include schemaLocation="parts/order.xsd"/>'
        there = {
            "schemas/orders.xsd": XS.format(target=target, inside=include),
            "schemas/parts/order.xsd": XS.format(target=target, inside=ORDER),
        }
    with served(tmp_path / "app", KEPT, files=there) as node:
        client_of(node, "orders").service.order("five")
        (note,) = node.until(lambda: node.bodies("notes"))
        assert (etree.fromstring(note).tag, etree.fromstring(note).text) == (
            f"{{{space}}}order" if space else "order",
            "five",
        )


def test_only_the_port_of_a_queue_is_at_its_address(tmp_path: Path) -> None:
    port = '<wsdl:port name="WeatherPort" binding="tns:WeatherSoap"><soap:address location="{}"/></wsdl:port>'
    here = files(address="http://here.invalid/")
    two = here["interfaces/weather.wsdl"].replace(
        "</wsdl:service>", port.replace("WeatherPort", "Other").format("http://other.invalid/") + "</wsdl:service>"
    )
    with served(tmp_path / "app", APP, files={**here, "interfaces/weather.wsdl": two}) as node:
        found = etree.fromstring(node.client.get("/gateways/weather?wsdl").content)
        places = {each.getparent().get("name"): each.get("location") for each in found.iterfind(".//{*}address")}
        assert places == {
            "WeatherPort": f"{node.serving.address}/gateways/weather",
            "Other": "http://other.invalid/",
        }


def test_a_node_that_listens_everywhere_is_where_it_was_asked(tmp_path: Path) -> None:
    server, asked = ServerSettings(host="0.0.0.0", token="s3cret"), {"host": "shop.example.org:8484"}
    with served(
        tmp_path / "app", APP, files=files(), server=server, headers={"authorization": "Bearer s3cret"}
    ) as node:
        for queue in ("weather", "plain"):
            found = etree.fromstring(node.client.get(f"/gateways/{queue}?wsdl", headers=asked).content)
            places = [each.get("location") for each in found.iterfind(".//{*}address")]
            assert places == [f"http://shop.example.org:8484/gateways/{queue}"]


def envelope(body: str, header: str = "", version: Version = Version.SOAP_11) -> bytes:
    head = f"<s:Header>{header}</s:Header>" if header else ""
    return f'<s:Envelope xmlns:s="{version.value}">{head}<s:Body>{body}</s:Body></s:Envelope>'.encode()


def fault_of(text: str) -> tuple[str, str]:
    root = etree.fromstring(text.encode())
    version = Version(etree.QName(root).namespace)
    fault = root.find(f".//{version.tag('Fault')}")
    if version is Version.SOAP_11:
        return fault.findtext("faultcode"), fault.findtext("faultstring")
    return fault.findtext(f".//{version.tag('Value')}"), fault.findtext(f".//{version.tag('Text')}")


WSA = "http://www.w3.org/2005/08/addressing"


@pytest.mark.parametrize("version", list(Version), ids=lambda version: version.name)
def test_what_is_wrong_is_told_in_a_fault(node: Served, version: Version) -> None:
    cases = [
        ("<a/>", "", "no operation takes a"),
        ("<a/>", f'<a:Action xmlns:a="{WSA}">urn:weather/tell</a:Action>', "no operation takes a"),
        ("", "", "empty"),
        ("<a/><b/>", "", "several"),
        ('<ask xmlns="urn:weather"/>', '<h:x xmlns:h="urn:h" s:mustUnderstand="1"/>', "not understood"),
    ]
    for body, header, reason in cases:
        response = node.post("weather", envelope(body, header, version), content_type=version.media_type)
        assert response.status_code == (400 if version is Version.SOAP_12 and "understood" not in reason else 500)
        assert response.headers["content-type"].startswith(version.media_type)
        code, text = fault_of(response.text)
        assert reason in text
        assert code.startswith("soap:")
    errors = node.until(lambda: node.get("/api/errors")["messages"])
    assert len(errors) == len(cases)
    assert all("<malformed/>" in error["body"] and "Envelope" in error["body"] for error in errors)
    response = node.post("plain", envelope("<nothing/>", "", version), content_type=version.media_type)
    assert "schema" in fault_of(response.text)[1]


async def away(*_: object) -> None:
    raise StoreUnavailable("nobody at db.example.org")


@pytest.mark.parametrize("version", list(Version), ids=lambda version: version.name)
@pytest.mark.parametrize("body", ['<note xmlns="urn:weather">rain</note>', "<nothing/>"], ids=["right", "wrong"])
def test_while_the_store_is_away_the_answer_is_a_fault_of_the_receiver(
    node: Served, monkeypatch: pytest.MonkeyPatch, version: Version, body: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Edge, "take", away)
        response = node.post("weather", envelope(body, "", version), content_type=version.media_type)
    assert response.status_code == 503
    assert response.headers["content-type"].startswith(version.media_type)
    assert response.headers["retry-after"] == "5"
    code, reason = fault_of(response.text)
    assert code == ("soap:Server" if version is Version.SOAP_11 else "soap:Receiver")
    assert reason == "the store cannot be reached"


@pytest.mark.parametrize("version", list(Version), ids=lambda version: version.name)
def test_without_an_interface_whoever_wants_a_reply_says_so(tmp_path: Path, version: Version) -> None:
    def ask(there: Served, **headers: str) -> httpx.Response:
        return there.post(
            "anything", envelope("<question/>", version=version), content_type=version.media_type, **headers
        )

    with served(tmp_path / "app", APP, files=files()) as node:
        assert (ask(node).status_code, ask(node).content) == (202, b"")
        answer = ask(node, prefer="wait=20")
        assert answer.status_code == 200
        assert etree.fromstring(answer.content).find(f"{version.tag('Body')}/answer") is not None
    gateways = {"anything": GatewaySettings(wait=timedelta(seconds=20))}
    with served(tmp_path / "app", APP, files=files(), gateways=gateways) as node:
        assert ask(node).status_code == 200
        assert ask(node, prefer="respond-async").status_code == 202


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"<Envelope/>", "soap:VersionMismatch"),
        (b'<s:Envelope xmlns:s="urn:other"/>', "soap:VersionMismatch"),
        (b'<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"/>', "soap:Client"),
        (b'<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/">', "soap:Client"),
        (b'<!DOCTYPE x><s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"/>', "soap:Client"),
    ],
)
def test_what_is_no_envelope(node: Served, data: bytes, code: str) -> None:
    response = node.post("weather", data, content_type="text/xml")
    assert (response.status_code, fault_of(response.text)[0]) == (500, code)


@pytest.mark.parametrize(
    ("body", "media"),
    [('<nothing xmlns="urn:weather"/>', "application/xml"), ('{"a": 1}', "application/json")],
)
def test_an_interface_holds_for_all_documents(node: Served, body: str, media: str) -> None:
    response = node.post("weather", body, content_type=media)
    assert response.status_code == 422
    assert "no operation takes" in response.json()["detail"]
    (error,) = node.until(lambda: node.get("/api/errors")["messages"])
    assert "<schema/>" in error["body"]
    ask = node.post("weather", '<ask xmlns="urn:weather"><city>Rome</city></ask>', prefer="wait=20")
    assert etree.fromstring(ask.content).findtext(f"{{{NS}}}degrees") == "4"


def test_the_same_id_is_the_same_message(node: Served) -> None:
    header = f'<a:MessageID xmlns:a="{WSA}">urn:uuid:1</a:MessageID>'
    for _ in range(3):
        response = node.post("anything", envelope("<x/>", header), content_type="text/xml", soapaction='"urn:do"')
        assert (response.status_code, response.content) == (202, b"")
    node.post("anything", envelope("<x/>", header.replace("1<", "2<")), content_type="text/xml")
    notes = node.until(lambda: node.bodies("notes") if len(node.bodies("notes")) == 2 else None)
    assert notes[0] == '<seen action="urn:do"><x/></seen>'


def test_the_same_id_in_another_envelope(node: Served) -> None:
    """The message is what is in the body. Another one is not dropped without a word."""
    identity = f'<a:MessageID xmlns:a="{WSA}">urn:uuid:1</a:MessageID>'
    stamped = f'{identity}<t:stamp xmlns:t="urn:t">2</t:stamp>'
    assert node.post("anything", envelope("<x>1</x>", identity), content_type="text/xml").status_code == 202
    assert node.post("anything", envelope("<x >1</x>", stamped), content_type="text/xml").status_code == 202
    other = node.post("anything", envelope("<x>2</x>", identity), content_type="text/xml")
    assert other.status_code == 500
    assert "send this one with a key of its own" in etree.fromstring(other.content).findtext(".//faultstring")
    (error,) = node.until(lambda: node.get("/api/errors")["messages"])
    assert "<duplicate/>" in error["body"]
    assert len(node.bodies("notes")) == 1


def test_a_reply_relates_to_its_request(node: Served) -> None:
    header = (
        f'<a:MessageID xmlns:a="{WSA}">urn:uuid:7</a:MessageID>'
        f'<a:Action xmlns:a="{WSA}">urn:weather/forecast</a:Action>'
    )
    ask = '<w:ask xmlns:w="urn:weather"><w:city>Rome</w:city></w:ask>'
    response = node.post("weather", envelope(ask, header), content_type="text/xml")
    assert response.status_code == 200
    root = etree.fromstring(response.content)
    assert root.findtext(f".//{{{WSA}}}RelatesTo") == "urn:uuid:7"
    assert root.findtext(f".//{{{NS}}}degrees") == "4"


def test_a_reply_that_does_not_come_is_fetched_later(node: Served) -> None:
    ask = '<w:ask xmlns:w="urn:weather"><w:city>Nowhere</w:city></w:ask>'
    response = node.post("weather", envelope(ask), content_type="text/xml", prefer="wait=1")
    assert response.status_code == 202
    assert node.client.get(response.headers["location"]).status_code == 202


def test_a_document_that_only_looks_like_an_envelope(node: Served) -> None:
    assert node.post("anything", "<a><Envelope/></a>").status_code == 202


def test_prefixes_in_values_stay_known(node: Served) -> None:
    body = '<x xmlns:q="urn:q" xmlns:unused="urn:u" kind="q:name"><y>q:other</y></x>'
    node.post("anything", envelope(body), content_type="text/xml")
    (note,) = node.until(lambda: node.bodies("notes"))
    assert 'xmlns:q="urn:q"' in note
    assert "urn:u" not in note
    assert "envelope" not in note


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le"])
def test_envelopes_in_any_encoding_are_opened(node: Served, encoding: str) -> None:
    text = envelope("<x/>").decode()
    declared = f'<?xml version="1.0" encoding="{encoding}"?>{text}'
    data = (b"\xff\xfe" if encoding == "utf-16-le" else b"") + declared.encode(encoding)
    assert node.post("anything", data, content_type="text/xml").status_code == 202
    assert node.until(lambda: node.bodies("notes")) == ['<seen action=""><x/></seen>']


def test_prefixes_that_are_declared_around_the_message_stay_known(node: Served) -> None:
    """As many clients declare those of XML Schema, for `xsi:type`."""
    message = '<x xsi:type="xs:date">1<y xmlns="urn:y">q:name</y>2 r:name<!-- 3 --></x>'
    spaces = 'xmlns:xs="urn:xs" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:q="urn:q" xmlns:r="urn:r"'
    body = f'<s:Body {spaces} xmlns:u="urn:u">'.encode()
    node.post("anything", envelope(message).replace(b"<s:Body>", body), content_type="text/xml")
    (note,) = node.until(lambda: node.bodies("notes"))
    (found,) = etree.fromstring(note)
    assert {found.nsmap.get(prefix) for prefix in ("xs", "q", "r", "u")} == {"urn:xs", "urn:q", "urn:r", None}
    assert ["".join(found.itertext("*")), found[0].tag] == ["1q:name2 r:name", "{urn:y}y"]


# Going out

OUT = """
declare namespace w = "urn:weather";
create queue jobs kind incomingGateway mode persistent
create queue service kind outgoingGateway mode persistent interface "interfaces/weather.wsdl" port WeatherPort
create queue back kind basic mode persistent
create queue problems kind basic mode persistent
create rule ask for jobs errorqueue problems
if (/*) then do enqueue <w:ask><w:city>{string(/city)}</w:city></w:ask> into service
"""


VERSIONS = {"soap": Version.SOAP_11, "soap12": Version.SOAP_12}


@pytest.fixture
def there() -> Iterator[Service]:
    with service() as found:
        yield found


@pytest.mark.parametrize("soap", ["soap", "soap12"])
def test_services_are_called_in_envelopes(tmp_path: Path, there: Service, soap: str) -> None:
    version = VERSIONS[soap]
    answer = envelope('<w:answer xmlns:w="urn:weather"><w:degrees>7</w:degrees></w:answer>', "", version)
    there.answers = lambda _number, _body: (200, {"Content-Type": version.media_type}, answer)
    gateways = {"service": GatewaySettings(replies="back")}
    with served(tmp_path / "app", OUT, files=files(soap, there.address), gateways=gateways) as node:
        node.post("jobs", "<city>Rome</city>")
        node.until(lambda: node.bodies("back"))
        assert node.bodies("back") == ['<w:answer xmlns:w="urn:weather"><w:degrees>7</w:degrees></w:answer>']
    _, headers, body = there.got[0]
    root = etree.fromstring(body)
    assert root.tag == version.tag("Envelope")
    assert root.findtext(f".//{{{NS}}}city") == "Rome"
    assert root.findtext(f".//{{{WSA}}}Action") == "urn:weather/forecast"
    assert f'"{root.findtext(f".//{{{WSA}}}MessageID")}"' == headers["idempotency-key"]
    assert headers["content-type"].startswith(version.media_type)
    named = headers["soapaction"] if version is Version.SOAP_11 else headers["content-type"]
    assert '"urn:weather/forecast"' in named


@pytest.mark.parametrize("soap", ["soap", "soap12"])
def test_a_service_that_zeep_describes_understands_us(tmp_path: Path, there: Service, soap: str) -> None:
    """Zeep reads by the WSDL what we send, and writes by it what it answers."""
    app = tmp_path / "app"
    read: list[str] = []

    def answer(_number: int, body: bytes) -> tuple[int, dict[str, str], bytes]:
        client = zeep.Client(str(app / "interfaces/weather.wsdl"))  # type: ignore[no-untyped-call]
        operation = client.service._binding.get("Forecast")
        read.append(operation.input.deserialize(etree.fromstring(body)))
        made = operation.output.serialize(degrees=len(read[-1]))
        return 200, {**made.headers, "Content-Type": VERSIONS[soap].media_type}, etree.tostring(made.content)

    there.answers = answer
    gateways = {"service": GatewaySettings(replies="back")}
    with served(app, OUT, files=files(soap, there.address), gateways=gateways) as node:
        node.post("jobs", "<city>Reykjavik</city>")
        (found,) = node.until(lambda: node.bodies("back") or node.bodies("problems"))
    assert read == ["Reykjavik"]
    assert etree.fromstring(found).findtext(f"{{{NS}}}degrees") == "9"


@pytest.mark.parametrize(("code", "attempts"), [("soap:Client", 1), ("soap:Server", 2)])
def test_faults_of_services_are_errors(tmp_path: Path, there: Service, code: str, attempts: int) -> None:
    fault = (
        f'<s:Fault xmlns:soap="{Version.SOAP_11.value}"><faultcode>{code}</faultcode>'
        "<faultstring>no such city</faultstring></s:Fault>"
    )
    there.answers = lambda _number, _body: (500, {"Content-Type": "text/xml"}, envelope(fault))
    gateways = {"service": GatewaySettings(patience=SOON)}
    with served(tmp_path / "app", OUT, files=files("soap", there.address), gateways=gateways) as node:
        node.post("jobs", "<city>Atlantis</city>")
        (error,) = node.until(lambda: node.bodies("problems"))
        assert "no such city" in error
        assert "<error><httpStatus/>" in error
        assert (len(there.got) == 1) == (attempts == 1)
