"""What goes out over HTTP."""

import asyncio
import gzip
import socket
import ssl
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import httpx
import pytest
from cryptography import x509

from demaq.gateways import outside
from demaq.gateways.http import AuthoritiesInvalid, HttpTransport, refused
from demaq.gateways.parcel import Answer, Parcel, Undelivered
from gateways.parcels import parcel
from gateways.secure.people import DAY, curve_key, person
from serving import service

Result = TypeVar("Result")


def with_transport(work: Callable[[HttpTransport], Awaitable[Result]], tls: ssl.SSLContext | None = None) -> Result:
    async def run() -> Result:
        async with HttpTransport(tls) as http:
            return await work(http)

    return asyncio.run(run())


def sent(what: Parcel) -> Answer | None:
    return with_transport(lambda http: http.send(what))


NO_ADDRESSES = [
    "http://127.0.0.1:9/\x7f",
    "http://127.0.0.1:9/" + "x" * 70_000,
    f"http://{'a' * 64}.example.org/",
    "http://a..example.org/",
    "http://xn--a-.example.org/",
    "http://ab--ü.example.org/",
]


@pytest.mark.parametrize("to", NO_ADDRESSES, ids=lambda to: to[:30].encode("unicode_escape").decode())
def test_what_is_no_address_is_told(to: str) -> None:
    with pytest.raises(Undelivered, match="is no address for HTTP") as raised:
        sent(parcel(to, is_public_only=True))
    assert raised.value.kind == "disconnectedTransport"
    assert raised.value.is_final


@pytest.mark.parametrize(
    ("wanted", "pause"),
    [("7", 7), ("99999999999999", 3600), ("Mon, 01 Jan 99999999999999 00:00:00 GMT", 0), ("later", 0), ("", 0)],
)
def test_how_long_a_destination_wants_to_be_left_alone(wanted: str, pause: float) -> None:
    assert refused(httpx.Response(503, headers={"retry-after": wanted}), b"", "http://a.invalid/").pause == pause


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """All hosts are outside our network, and at this machine."""

    async def address(_host: str, _port: int) -> str:
        return "127.0.0.1"

    monkeypatch.setattr(outside, "_public_address", address)


def certified(folder: Path, host: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """TLS of a server that is called so, and of those who believe it."""
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName(host)])
    extensions = (names, False), (x509.BasicConstraints(ca=True, path_length=None), True)
    server = person(host, curve_key(host), extensions=extensions, start=now - DAY, end=now + DAY)
    (folder / "server.pem").write_bytes(server.certificate_pem + server.key_pem)
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(folder / "server.pem")
    return own, ssl.create_default_context(cadata=server.certificate_pem.decode())


@pytest.mark.usefixtures("everywhere")
def test_certificates_are_those_of_the_hosts_that_are_named(tmp_path: Path) -> None:
    own, others = certified(tmp_path, "a.invalid")
    with service(own) as there:
        port = there.address.rpartition(":")[2]

        async def send(http: HttpTransport) -> None:
            for _ in range(2):
                await http.send(parcel(f"https://a.invalid:{port}", is_public_only=True))
            with pytest.raises(Undelivered, match="certificate") as raised:
                await http.send(parcel(f"https://b.invalid:{port}", is_public_only=True))
            assert raised.value.kind == "security"

        with_transport(send, others)
    assert [headers["host"] for _, headers, _ in there.got] == [f"a.invalid:{port.partition('/')[0]}"] * 2


def test_authorities_that_the_environment_names_are_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, _ = certified(tmp_path, "localhost")
    with service(own) as there:
        to = f"https://localhost:{there.address.rpartition(':')[2]}"
        with pytest.raises(Undelivered, match="certificate"):
            sent(parcel(to))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
        sent(parcel(to))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "nowhere.pem"))
    with pytest.raises(AuthoritiesInvalid, match=r"nowhere\.pem .*No such file"):
        sent(parcel(to))


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("is_public_only", [False, True])
def test_nobody_is_given_cookies(is_public_only: bool) -> None:
    with service() as there:
        there.answers = lambda _number, _body: (200, {"set-cookie": "name=secret"}, b"")

        async def send(http: HttpTransport) -> None:
            for _ in range(2):
                await http.send(parcel(there.address, is_public_only=is_public_only))

        with_transport(send)
    assert len(there.got) == 2
    assert not any("cookie" in headers for _, headers, _ in there.got)


@pytest.mark.usefixtures("everywhere")
def test_a_token_is_for_where_messages_usually_go() -> None:
    with service() as there:
        usual = there.address.replace("/service", "/usual")
        places = {usual: True, f"{usual}/below": True, f"{usual}er": False, there.address: False}

        async def send(http: HttpTransport) -> None:
            for place in places:
                await http.send(parcel(place, to=usual, token="s3cret"))

        with_transport(send)
    shown = [headers.get("authorization") for _, headers, _ in there.got]
    assert shown == ["Bearer s3cret" if is_usual else None for is_usual in places.values()]


def test_connections_of_others_are_not_used_for_hosts_that_have_to_be_outside() -> None:
    with service() as there:

        async def send(http: HttpTransport) -> None:
            await http.send(parcel(there.address))
            with pytest.raises(Undelivered, match="inside this network"):
                await http.send(parcel(there.address, is_public_only=True))

        with_transport(send)
    assert len(there.got) == 1


def test_a_host_that_there_is_not() -> None:
    with pytest.raises(Undelivered, match="there is no host") as raised:
        sent(parcel("http://nowhere.invalid/", is_public_only=True))
    assert (raised.value.kind, raised.value.is_final, raised.value.is_answer) == ("nameResolution", False, False)


PACKED = gzip.compress(gzip.compress(b"<done/>"))


def test_an_answer_may_be_written_as_the_service_says() -> None:
    with service() as there:
        there.answers = lambda _number, _body: (
            200,
            {"content-type": "text/xml; charset=iso-8859-1"},
            b"<done>\xe9</done>",
        )
        assert sent(parcel(there.address, replies="back")) == Answer("<done>é</done>".encode())


def test_nobody_packs_what_they_answer() -> None:
    with service() as there:
        there.answers = lambda number, _body: (
            (200, {"content-type": "text/xml", "content-encoding": "gzip, gzip"}, PACKED)
            if number
            else (200, {"content-type": "text/xml", "content-encoding": "identity"}, b"<done/>")
        )
        assert sent(parcel(there.address, replies="back")) == Answer(b"<done/>")
        assert there.got[0][1]["accept-encoding"] == "identity"
        with pytest.raises(Undelivered, match="packed with 'gzip, gzip'") as raised:
            sent(parcel(there.address, replies="back"))
        assert raised.value.is_final
        assert sent(parcel(there.address)) is None  # nobody wants to know


def test_what_is_refused_is_so_however_that_is_packed() -> None:
    with service() as there:
        there.answers = lambda _number, _body: (404, {"content-encoding": "gzip"}, PACKED)
        with pytest.raises(Undelivered, match="answered 404") as raised:
            sent(parcel(there.address, replies="back"))
        assert (raised.value.kind, raised.value.is_final, raised.value.is_answer) == ("httpStatus", True, True)


def test_nobody_waits_for_a_connection_to_another_host() -> None:
    with service() as there, socket.create_server(("127.0.0.1", 0), backlog=500) as hanging:
        to = f"http://127.0.0.1:{hanging.getsockname()[1]}/"

        async def send(http: HttpTransport) -> None:
            waiting = [asyncio.create_task(http.send(parcel(f"{to}{number}"))) for number in range(250)]
            await asyncio.sleep(0.1)
            async with asyncio.timeout(10):
                await http.send(parcel(there.address))
            assert not any(task.done() for task in waiting)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

        with_transport(send)
    assert len(there.got) == 1


def test_an_answer_that_is_too_large_as_xml_is_told() -> None:
    async def run(to: str) -> None:
        async with HttpTransport(longest=lambda: 1000) as http:
            await http.send(parcel(to, replies="back"))

    large = b"[" + b"1," * 100 + b"1]"
    with service() as there:
        there.answers = lambda _number, _body: (200, {"content-type": "application/json"}, large)
        with pytest.raises(Undelivered, match="more than 1,000 characters") as raised:
            asyncio.run(run(there.address))
    assert (raised.value.kind, raised.value.is_final, raised.value.is_answer) == ("resource", True, True)
