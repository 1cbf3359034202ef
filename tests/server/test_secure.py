"""Gateways that use WS-Security: clients that we have not written, two nodes, and those who are not believed."""

import asyncio
import io
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
import zeep
from lxml import etree

from demaq.gateways.secure.credentials import Credentials
from demaq.gateways.secure.outgoing import secure
from demaq.gateways.secure.policy import SP, WSP, read_policy
from demaq.gateways.secure.sealing import sealed
from demaq.gateways.secure.timestamps import timestamp
from demaq.gateways.soap.addressing import WSA, Addressing, anonymous
from demaq.gateways.soap.envelope import Envelope, Version, envelope
from demaq.gateways.soap.wsdl import parsed
from demaq.model import GatewaySettings, SecuritySettings
from demaq.server import envelopes
from demaq.server.serving import ServerRefused
from gateways.secure.others import xmlsec, zeep_signature, zeep_username, zeep_utils
from gateways.secure.people import Person, person
from gateways.secure.test_wrapping import BODIES
from server.test_reliable import POLICIES as RELIABLE
from server.test_soap import APP as WEATHER
from server.test_soap import files as weather_files
from serving import Served, served

DAY = timedelta(days=1)
TOKEN = "<sp:X509Token><wsp:Policy><sp:WssX509V3Token10/></wsp:Policy></sp:X509Token>"
PARTS = "<sp:SignedParts><sp:Body/>{headers}</sp:SignedParts>"
ADDRESSING = '<sp:Header Namespace="http://www.w3.org/2005/08/addressing"/>'
ASYMMETRIC = f"""<sp:AsymmetricBinding><wsp:Policy>
  <sp:InitiatorToken><wsp:Policy>{TOKEN}</wsp:Policy></sp:InitiatorToken>
  <sp:RecipientToken><wsp:Policy>{TOKEN}</wsp:Policy></sp:RecipientToken>
  <sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy></sp:AlgorithmSuite>
</wsp:Policy></sp:AsymmetricBinding>"""
USERNAME = "<sp:UsernameToken/>"
DIGEST = "<sp:UsernameToken><wsp:Policy><sp:HashPassword/></wsp:Policy></sp:UsernameToken>"
SIGNED_BODY = ASYMMETRIC + PARTS.format(headers="")
SIGNED = ASYMMETRIC.replace("</sp:AlgorithmSuite>", "</sp:AlgorithmSuite><sp:IncludeTimestamp/>") + PARTS.format(
    headers=ADDRESSING
)
ENCRYPTED = SIGNED + "<sp:EncryptedParts><sp:Body/></sp:EncryptedParts>"


def policy(inside: str) -> str:
    return f'<wsp:Policy xmlns:wsp="{WSP}" xmlns:sp="{SP}">{inside}</wsp:Policy>'


@cache
def somebody(name: str) -> Person:
    now = datetime.now(UTC)
    return person(name, start=now - DAY, end=now + DAY)


@dataclass(frozen=True, slots=True)
class Files:
    """Certificates and keys, where they are read from."""

    folder: Path

    def of(self, name: str) -> tuple[str, str]:
        """The files with the key of somebody, and with the certificate."""
        self.folder.mkdir(exist_ok=True)
        key, certificate = self.folder / f"{name}.key", self.folder / f"{name}.pem"
        key.write_bytes(somebody(name).key_pem)
        certificate.write_bytes(somebody(name).certificate_pem)
        return str(key), str(certificate)

    def settings(self, own: str, other: str) -> SecuritySettings:
        key, certificate = self.of(own)
        peer = self.of(other)[1]
        return SecuritySettings(
            user="ada",
            password="secret",
            certificate=certificate,
            key=key,
            trusted=(peer,),
            peer=peer,
            users={"ada": "secret"},
        )


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path / "files")


APP = WEATHER.replace("port WeatherPort", "port WeatherPort using WS-Security policy security.xml")


@contextmanager
def weather(tmp_path: Path, files: Files, inside: str) -> Iterator[Served]:
    """A service of ours that zeep can call."""
    gateways = {"weather": GatewaySettings(security=files.settings("bob", "ada"))}
    given = {**weather_files(), "security.xml": policy(inside)}
    with served(tmp_path / "app", APP, files=given, gateways=gateways) as node:
        yield node


class Signing:
    """Signs with one's own key, and believes the other side alone."""

    def __init__(self, own: tuple[str, str], other: tuple[str, str]) -> None:
        methods = xmlsec.constants.TransformRsaSha256, xmlsec.constants.TransformSha256
        self._own = zeep_signature.BinarySignature(*own, None, *methods)
        self._other = zeep_signature.BinarySignature(*other)

    def apply(self, root: Any, headers: Any) -> Any:
        """With a time, which zeep signs if there is one."""
        zeep_utils.get_security_header(root).append(timestamp(datetime.now(UTC), timedelta(minutes=5)))
        return self._own.apply(root, headers)

    def verify(self, root: Any) -> Any:
        return self._other.verify(root)


def zeep_client(node: Served, wsse: Any) -> zeep.Client:
    return zeep.Client(f"{node.serving.address}/gateways/weather?wsdl", wsse=wsse)  # type: ignore[no-untyped-call]


def test_zeep_signs_a_request_and_believes_the_reply(tmp_path: Path, files: Files) -> None:
    with weather(tmp_path, files, SIGNED_BODY) as node:
        client = zeep_client(node, Signing(files.of("ada"), files.of("bob")))
        assert client.service.Forecast(city="Mannheim") == 8
        client.service.Tell("it rains")
        (note,) = node.until(lambda: node.get("/api/messages", queue="weather", all="true")["messages"][1:])
        assert "CN=ada" in str(node.get(f"/api/messages/{note['id']}"))


@pytest.mark.parametrize("is_digest", [False, True], ids=["text", "digest"])
def test_zeep_shows_a_password(tmp_path: Path, files: Files, is_digest: bool) -> None:
    with weather(tmp_path, files, DIGEST if is_digest else USERNAME) as node:
        token = zeep_username.UsernameToken("ada", "secret", use_digest=is_digest)
        assert zeep_client(node, token).service.Forecast(city="Rome") == 4
        wrong = zeep_username.UsernameToken("ada", "sweet", use_digest=is_digest)
        with pytest.raises(zeep.exceptions.Fault, match="the password is not right"):
            zeep_client(node, wrong).service.Forecast(city="Rome")
        (error,) = node.until(lambda: node.get("/api/errors")["messages"])
        assert "<error><security/>" in error["body"]
        assert "the password is not right" in error["body"]


def test_whoever_is_not_trusted_gets_a_fault(tmp_path: Path, files: Files) -> None:
    with weather(tmp_path, files, SIGNED_BODY) as node:
        with pytest.raises(zeep.exceptions.Fault, match="not one that we trust"):
            zeep_client(node, Signing(files.of("eve"), files.of("bob"))).service.Forecast(city="Rome")
        with pytest.raises(zeep.exceptions.Fault, match="no Security header"):
            zeep_client(node, None).service.Forecast(city="Rome")
        assert node.get("/api/messages", queue="weather", all="true")["messages"] == []
        assert node.post("weather", '<ask xmlns="urn:weather"><city>Rome</city></ask>').status_code == 415


# As ourselves


def credentials(who: str = "ada") -> Credentials:
    return Credentials(
        user=who,
        password="secret",
        certificate=somebody(who).certificate,
        key=somebody(who).key,
        peer=somebody("bob").certificate,
    )


NOTE = '<note xmlns="urn:weather">rain</note>'


def signed(
    inside: str = SIGNED, who: str = "ada", message_id: str | None = "urn:uuid:1", payload: str = NOTE
) -> "etree._Element":
    """An envelope of somebody's, for Bob."""
    headers = Addressing(message_id=message_id, action="urn:weather/tell", reply_to=anonymous()).elements()
    root = parsed(envelope(Version.SOAP_11, parsed(payload), headers).decode())
    secure(root, read_policy(policy(inside)), credentials(who), datetime.now(UTC))
    return root


def post(node: Served, root: "etree._Element", **headers: str) -> httpx.Response:
    return node.post("weather", etree.tostring(root), content_type="text/xml", **headers)


def taken(node: Served, queue: str = "weather") -> int:
    return len(node.get("/api/messages", queue=queue, all="true")["messages"])


def test_what_is_encrypted_is_read(tmp_path: Path, files: Files) -> None:
    with weather(tmp_path, files, ENCRYPTED) as node:
        root = signed(ENCRYPTED)
        assert b"rain" not in etree.tostring(root)
        assert post(node, root).status_code == 202
        node.until(lambda: node.bodies("notes"))
        refused = post(node, signed())
        assert refused.status_code == 500
        assert "not encrypted" in refused.text


def test_the_same_envelope_is_taken_once_also_after_a_restart(tmp_path: Path, files: Files) -> None:
    root = signed()
    with weather(tmp_path, files, SIGNED) as node:
        assert post(node, root).status_code == 202
        assert "came before" in post(node, root).text
    with weather(tmp_path, files, SIGNED) as node:
        post(node, root)
        assert len(node.get("/api/messages", queue="weather", all="true")["messages"]) == 1


def with_id(root: "etree._Element", message_id: str) -> "etree._Element":
    """An envelope with another id of its message, which nobody has signed."""
    header = root.find("{*}Header")
    for each in header.findall(f"{{{WSA}}}MessageID"):
        header.remove(each)
    header.extend(Addressing(message_id=message_id).elements())
    return root


def test_no_key_of_whoever_has_captured_an_envelope_makes_it_another(tmp_path: Path, files: Files) -> None:
    """Neither one of HTTP, nor the id of a message that is not signed."""
    known, nameless = signed(), signed(SIGNED_BODY, message_id=None)
    for life in range(3):
        with weather(tmp_path, files, SIGNED_BODY) as node:
            post(node, known, idempotency_key=f"key{life}")
            post(node, with_id(nameless, f"urn:uuid:{life}"), idempotency_key=f"key{life}")
            assert taken(node) == 2


@pytest.mark.parametrize("inside", [USERNAME, DIGEST], ids=["text", "digest"])
def test_a_token_is_taken_once_also_after_a_restart(tmp_path: Path, files: Files, inside: str) -> None:
    root = signed(inside)
    for life in range(3):
        with weather(tmp_path, files, inside) as node:
            response = post(node, with_id(root, f"urn:uuid:{life}"))
            assert response.status_code == (500 if life else 202)
            assert ("came before" in response.text) == (life > 0)
            assert taken(node) == 1
    with weather(tmp_path, files, inside) as node:
        assert post(node, signed(inside, message_id="urn:uuid:0")).status_code == 202
        assert taken(node) == 1, "it is sent again by whoever has the password"


def test_a_token_is_forgotten_when_its_time_is_over(tmp_path: Path, files: Files) -> None:
    past = datetime.now(UTC) - DAY
    with weather(tmp_path, files, DIGEST) as node:
        node.node.call(lambda engine: engine.store.note("token ff", past.isoformat(), past)).result()
        post(node, signed(DIGEST))
        notes = node.node.call(lambda engine: engine.store.notes()).result()
        assert len([name for name in notes if name.startswith("token ")]) == 1
        assert "token ff" not in notes


def test_messages_of_several_senders_may_have_the_same_id(tmp_path: Path, files: Files) -> None:
    security = files.settings("bob", "ada")
    both = replace(security, trusted=(files.of("ada")[1], files.of("mallory")[1]))
    given = {**weather_files(), "security.xml": policy(SIGNED)}
    gateways = {"weather": GatewaySettings(security=both)}
    with served(tmp_path / "app", APP, files=given, gateways=gateways) as node:
        for who, city, degrees in (("ada", "Mannheim", "8"), ("mallory", "Rome", "4"), ("ada", "Mannheim", "8")):
            ask = f'<ask xmlns="urn:weather"><city>{city}</city></ask>'
            response = post(node, signed(who=who, payload=ask))
            assert etree.fromstring(response.content).findtext(".//{*}degrees") == degrees
        assert taken(node) == 2


def test_what_takes_long_is_not_done_where_all_wait_for_it(
    tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: dict[str, str] = {}

    def spying(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def spied(*given: Any) -> Any:
            with suppress(RuntimeError):
                threads[name] = str(asyncio.get_running_loop())
            threads.setdefault(name, "")
            return work(*given)

        return spied

    monkeypatch.setattr(envelopes, "sealed", spying("sealed", sealed))
    monkeypatch.setattr(Envelope, "text", spying("text", Envelope.text))
    with weather(tmp_path, files, SIGNED) as node:
        ask = '<ask xmlns="urn:weather"><city>Rome</city></ask>'
        assert post(node, signed(payload=ask)).status_code == 200
        assert threads == {"sealed": "", "text": ""}


def test_a_signature_that_was_moved_is_refused(tmp_path: Path, files: Files) -> None:
    with weather(tmp_path, files, SIGNED) as node:
        for attack in BODIES.values():
            root = signed()
            attack(root)
            response = post(node, root)
            assert response.status_code == 500
            assert "Fault" in response.text
        assert node.get("/api/messages", queue="weather", all="true")["messages"] == []
        errors = node.until(lambda: node.get("/api/errors")["messages"])
        assert len(errors) == len(BODIES)
        assert all("<error><security/>" in error["body"] for error in errors)


# Between two nodes

OUT = """
create queue jobs kind incomingGateway mode persistent
create queue out kind outgoingGateway mode persistent {using}
create queue problems kind basic mode persistent
create rule forward for jobs errorqueue problems
if (/job) then do enqueue <order>{{string(/job)}}</order> into out
"""
IN = """
create queue orders kind incomingGateway mode persistent {using}
create queue done kind basic mode persistent
create rule note for orders
if (/order) then do enqueue <done>{{string(/order)}}</done> into done
"""
BOTH = "using WS-ReliableMessaging policy rm.xml using WS-Security policy security.xml"


@contextmanager
def nodes(tmp_path: Path, files: Files, inside: str, who: str = "ada") -> Iterator[tuple[Served, Served]]:
    given = {"rm.xml": RELIABLE["1.1"], "security.xml": policy(inside)}
    takes = {"orders": GatewaySettings(security=files.settings("bob", "ada"))}
    with served(tmp_path / "there" / "app", IN.format(using=BOTH), files=given, gateways=takes) as there:
        to = f"{there.serving.address}/gateways/orders"
        patience = timedelta(minutes=5) if who == "ada" else timedelta(seconds=2)
        sends = {"out": GatewaySettings(to=to, patience=patience, security=files.settings(who, "bob"))}
        with served(tmp_path / "here" / "app", OUT.format(using=BOTH), files=given, gateways=sends) as here:
            yield here, there


@pytest.mark.parametrize("inside", [USERNAME, DIGEST, SIGNED, ENCRYPTED], ids=["text", "digest", "signed", "encrypted"])
def test_messages_in_sequences_are_secured(tmp_path: Path, files: Files, inside: str) -> None:
    with nodes(tmp_path, files, inside) as (here, there):
        for number in range(5):
            here.post("jobs", f"<job>{number}</job>")
        there.until(lambda: there.bodies("done") == [f"<done>{number}</done>" for number in range(5)])
        here.until(lambda: not here.node.call(lambda engine: engine.held(0, 10)).result())
        assert here.bodies("problems") == []
        assert there.get("/api/errors")["messages"] == []


def test_a_node_that_is_not_trusted_gets_an_error(tmp_path: Path, files: Files) -> None:
    with nodes(tmp_path, files, SIGNED, who="eve") as (here, there):
        here.post("jobs", "<job>1</job>")
        (error,) = here.until(lambda: here.bodies("problems"))
        assert "not one that we trust" in error
        assert there.bodies("done") == []


@pytest.mark.parametrize("way", [{"mail": "orders@example.org"}, {"folder": "incoming"}], ids=["mail", "folder"])
@pytest.mark.parametrize("using", ["WS-Security policy security.xml", "WS-ReliableMessaging policy rm.xml"])
def test_a_gateway_with_a_policy_has_no_other_way_in(
    tmp_path: Path, files: Files, using: str, way: dict[str, str]
) -> None:
    given = {"security.xml": policy(SIGNED), "rm.xml": RELIABLE["1.1"]}
    gateways = {"orders": GatewaySettings(security=files.settings("bob", "ada"), **way)}  # type: ignore[arg-type]
    text = IN.format(using=f"using {using}")
    (name,) = way
    with (
        pytest.raises(ServerRefused, match=f"over HTTP alone: leave out `{name}`"),
        served(tmp_path / "app", text, files=given, gateways=gateways),
    ):
        raise AssertionError("it has started")


def test_a_version_without_what_its_policy_needs_is_not_deployed(tmp_path: Path, files: Files) -> None:
    with weather(tmp_path, files, SIGNED) as node:
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as archive:
            for name, text in {
                "main.demaq": APP,
                "demaq.toml": 'name = "app"',
                **weather_files(),
                "security.xml": policy("<sp:KerberosToken/>"),
            }.items():
                archive.writestr(name, text)
        headers = {"content-type": "application/zip"}
        response = node.client.post("/api/versions", content=data.getvalue(), headers=headers)
        assert response.status_code == 409
        assert "security.xml, the policy of `weather`" in response.json()["detail"]
        assert post(node, signed()).status_code == 202
        # From the command line as well: it is the node that knows what it can speak.
        (tmp_path / "app" / "security.xml").write_text(policy("<sp:SamlToken/>"), encoding="utf-8")
        command = [sys.executable, "-m", "demaq", "deploy", str(tmp_path / "app")]
        store = f"sqlite:///{tmp_path / 'log.db'}"
        done = subprocess.run([*command, "--store", store], capture_output=True, text=True)
        assert done.returncode == 1
        assert "security.xml, the policy of `weather`" in done.stderr
        assert post(node, signed()).status_code == 202


@pytest.mark.parametrize(
    ("inside", "lacking"),
    [
        (USERNAME, "users and their passwords"),
        (SIGNED, "certificates to trust"),
        (ENCRYPTED, "a private key of RSA"),
        ("<sp:KerberosToken/>", "security.xml, the policy of `orders`"),
    ],
)
def test_a_node_does_not_start_without_what_a_policy_needs(tmp_path: Path, inside: str, lacking: str) -> None:
    text = IN.format(using="using WS-Security policy security.xml")
    given = {"security.xml": policy(inside)}
    with pytest.raises(ServerRefused, match=lacking), served(tmp_path / "app", text, files=given):
        raise AssertionError("it has started")
