"""Mail and files: in and out, each once, with clients and servers that we have not written."""

import json
import os
import shutil
import smtplib
import socket
import sqlite3
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as Kept
from aiosmtpd.smtp import SMTP, Envelope, Session

from demaq.engine.records import Incoming
from demaq.model import EdgeSettings, GatewaySettings, MailSettings, ServerSettings
from demaq.server.relays import Relays
from demaq.server.serving import ServerRefused, check
from demaq.store import StoreUnavailable
from serving import SOON, Served, encrypted, served

APP = """
create queue orders kind incomingGateway mode persistent
create queue strict kind incomingGateway mode persistent schema "order.xsd"
create queue letters kind outgoingGateway mode persistent
create queue copies kind basic mode persistent
create queue problems kind basic mode persistent
create rule copy for orders errorqueue problems
if (/*) then (do enqueue <seen sender="{qs:property("Sender")}" about="{qs:property("Action")}">{.}</seen> into copies,
 if (/order) then
   do enqueue <confirmation>{string(/order)}</confirmation> into letters with Action value "Your order"
 else ())
"""
SCHEMA = (
    """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="order" type="xs:string"/></xs:schema>"""
)
BOX = {"orders": GatewaySettings(mail="orders@example.org"), "strict": GatewaySettings(mail="Strict@example.org")}


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "app", APP, files={"order.xsd": SCHEMA}, gateways=BOX, mail=MailSettings(port=0)) as found:
        yield found


def mail(text: str | None = None, xml: str | None = None, number: int = 1) -> EmailMessage:
    found = EmailMessage()
    found["From"], found["To"] = "Ada <ada@example.org>", "orders@example.org"
    found["Subject"], found["Message-ID"] = "An ordér", f"<{number}@example.org>"
    if text is not None:
        found.set_content(text)
    if xml is not None and text is None:
        found.set_content(xml.encode(), "text", "xml")
    elif xml is not None:
        found.add_attachment(xml.encode(), "application", "xml", filename="order.xml")
    return found


def send(node: Served, found: EmailMessage, to: str = "orders@example.org") -> None:
    with smtplib.SMTP("127.0.0.1", node.serving.edge.mail_port) as client:
        client.send_message(found, "ada@example.org", [to])


def test_xml_in_a_mail_is_the_message(node: Served) -> None:
    send(node, mail(xml="<order>5</order>"))
    send(node, mail(text="see below", xml="<order>6</order>", number=2))
    node.until(lambda: len(node.bodies("copies")) == 2)
    assert node.bodies("copies")[0] == '<seen sender="ada@example.org" about="An ordér"><order>5</order></seen>'
    assert "<order>6</order>" in node.bodies("copies")[1]


def test_mail_is_encrypted_for_those_who_ask_for_it(tmp_path: Path) -> None:
    """That is no second connection."""
    server, context = encrypted(tmp_path)
    options: dict[str, Any] = {"server": server, "verify": context, "mail": MailSettings(port=0, connections=1)}
    with served(tmp_path / "app", APP, files={"order.xsd": SCHEMA}, gateways=BOX, **options) as node:
        port = node.serving.edge.mail_port

        def connected() -> smtplib.SMTP | None:
            """As soon as the one before is gone."""
            with suppress(smtplib.SMTPConnectError, smtplib.SMTPServerDisconnected):
                return smtplib.SMTP("127.0.0.1", port)
            return None

        for number in range(3):
            with node.until(connected) as client:
                client.starttls(context=context)
                letter = mail(xml="<order>5</order>", number=number)
                client.send_message(letter, "ada@example.org", ["orders@example.org"])
        node.until(lambda: len(node.bodies("copies")) == 3)
        with node.until(connected) as client:
            client.starttls(context=context)
            with pytest.raises(smtplib.SMTPConnectError, match="too many connections"):
                smtplib.SMTP("127.0.0.1", port)


def test_mail_is_not_encrypted_without_a_certificate(node: Served) -> None:
    with (
        smtplib.SMTP("127.0.0.1", node.serving.edge.mail_port) as client,
        pytest.raises(smtplib.SMTPNotSupportedError),
    ):
        client.starttls()


def test_a_mail_without_xml_is_described(node: Served) -> None:
    send(node, mail(text="Hellö & goodbye"))
    (copy,) = node.until(lambda: node.bodies("copies"))
    assert "<from>ada@example.org</from><to>orders@example.org</to><subject>An ordér</subject>" in copy
    assert "<text>Hellö &amp; goodbye" in copy


def test_the_same_mail_comes_once(node: Served) -> None:
    for number in (1, 1, 2):
        send(node, mail(xml="<order>5</order>", number=number))
    node.until(lambda: len(node.bodies("copies")) == 2)


def test_another_mail_with_the_same_id_is_refused(node: Served) -> None:
    send(node, mail(xml="<order>5</order>"))
    other = mail(xml="<order>5</order>")
    other.replace_header("Subject", "Again")  # as it may be when it came on another way
    send(node, other)
    with pytest.raises(smtplib.SMTPDataError, match="another message has come with the same key"):
        send(node, mail(xml="<order>6</order>"))
    send(node, mail(text="one", number=2))
    with pytest.raises(smtplib.SMTPDataError):
        send(node, mail(text="two", number=2))
    errors = node.until(lambda: node.get("/api/errors")["messages"])
    assert len(errors) == 2
    assert all("<duplicate/>" in error["body"] for error in errors)


def test_envelopes_in_mail(node: Served) -> None:
    text = (
        '<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><order>9</order></s:Body></s:Envelope>'
    )
    send(node, mail(xml=text))
    assert "<order>9</order></seen>" in node.until(lambda: node.bodies("copies"))[0]


@pytest.mark.parametrize(
    ("to", "xml", "code"),
    [
        ("nobody@example.org", "<order/>", 550),
        ("orders@example.org", "<order>", 554),
        ("strict@example.org", "<other/>", 554),
        ("orders@example.org", '<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"/>', 554),
    ],
)
def test_mail_that_is_refused(node: Served, to: str, xml: str, code: int) -> None:
    with pytest.raises((smtplib.SMTPDataError, smtplib.SMTPRecipientsRefused)) as found:
        send(node, mail(xml=xml), to)
    error = found.value
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        assert next(iter(error.recipients.values()))[0] == code
    else:
        assert isinstance(error, smtplib.SMTPDataError)
        assert error.smtp_code == code
        assert len(node.until(lambda: node.get("/api/errors")["messages"])) == 1


def test_each_gateway_has_an_answer_of_its_own(node: Served) -> None:
    """A mail server sends to the others again, by themselves, when it is told that there are too many (RFC 5321)."""
    with smtplib.SMTP("127.0.0.1", node.serving.edge.mail_port) as client:
        both = ["orders@example.org", "ORDERS@example.org", "strict@example.org"]
        refused = client.send_message(mail(xml="<other/>"), "ada@example.org", both)
        assert {address: code for address, (code, _) in refused.items()} == {"strict@example.org": 452}
        with pytest.raises(smtplib.SMTPDataError, match="schema"):
            client.send_message(mail(xml="<other/>"), "ada@example.org", list(refused))
    node.until(lambda: len(node.bodies("copies")) == 1)
    assert node.bodies("strict") == []


def test_whoever_hangs_up_before_the_answer_holds_up_nobody(
    node: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = threading.Event()
    take_many = node.serving.edge.take_many

    async def taking(messages: Any, notes: Any = ()) -> Any:
        began.set()
        return await take_many(messages, notes)

    monkeypatch.setattr(node.serving.edge, "take_many", taking)
    store = sqlite3.connect(tmp_path / "log.db", isolation_level=None)
    store.execute("begin immediate")  # so that nothing can be committed yet
    with socket.create_connection(("127.0.0.1", node.serving.edge.mail_port)) as client:
        with client.makefile("rb") as answers:
            answers.readline()
            for line in ("HELO here", "MAIL FROM:<a@example.org>", "RCPT TO:<orders@example.org>", "DATA"):
                client.sendall(f"{line}\r\n".encode())
                answers.readline()
        client.sendall(b"Content-Type: text/xml\r\n\r\n<order>1</order>\r\n.\r\n")
        assert began.wait(10)
        time.sleep(0.2)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # no farewell
    time.sleep(0.1)
    store.execute("rollback")
    store.close()
    assert node.post("orders", "<order>2</order>").status_code == 202


@pytest.mark.parametrize("address", ["<a@", "a@", "<@a:", '<"a"@'])
def test_an_address_that_ends_too_soon_is_told(node: Served, address: str) -> None:
    with smtplib.SMTP("127.0.0.1", node.serving.edge.mail_port) as client:
        client.ehlo()
        assert client.docmd("MAIL", f"FROM:{address}") == (553, b"5.1.3 Error: malformed address")
        assert client.docmd("VRFY", address)[0] == 502


OUTSIDE = "192.0.2.1"  # of no machine


@pytest.mark.parametrize("host", ["0.0.0.0", "::", OUTSIDE])
def test_nobody_takes_mail_of_everybody_unless_told_so(tmp_path: Path, host: str) -> None:
    with (
        pytest.raises(ServerRefused, match="set `relays` below \\[mail\\]"),
        served(tmp_path / "app", APP, files={"order.xsd": SCHEMA}, gateways=BOX, mail=MailSettings(host=host, port=0)),
    ):
        pass
    check(EdgeSettings(mail=MailSettings(host=host)))  # where no gateway has an address
    check(EdgeSettings(gateways=BOX, mail=MailSettings(host=host, relays=("192.0.2.25",))))


def test_mail_of_others_is_taken_if_they_are_named() -> None:
    relays = Relays(MailSettings(relays=("192.0.2.25", "10.1.0.0/16", "2001:db8::/32")))
    for client in ("127.0.0.1", "::1", "192.0.2.25", "::ffff:10.1.2.3", "10.1.255.1", "2001:db8::7", "fe80::1%lo"):
        answer = relays.refusal(client)
        assert (answer is None) == (client != "fe80::1%lo"), client
    for client in ("192.0.2.26", "10.2.0.1", "::ffff:10.2.0.1", "2001:db9::7"):
        assert str(relays.refusal(client)).startswith("421 4.7.1")
    assert str(Relays(MailSettings()).refusal("10.1.2.3")).startswith("421")


def test_strangers_are_sent_away(node: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Relays, "_is_known", lambda _self, _client: False)
    with pytest.raises(smtplib.SMTPConnectError) as found:
        send(node, mail(xml="<order/>"))
    assert found.value.smtp_code == 421
    monkeypatch.undo()
    send(node, mail(xml="<order/>"))


def test_so_many_give_mail_at_a_time_and_so_many_mails_a_minute(tmp_path: Path) -> None:
    settings = MailSettings(port=0, connections=2, rate=3)
    with served(tmp_path / "app", APP, files={"order.xsd": SCHEMA}, gateways=BOX, mail=settings) as node:
        place = ("127.0.0.1", node.serving.edge.mail_port)
        refused = pytest.raises(smtplib.SMTPConnectError, match="too many connections")
        with smtplib.SMTP(*place), smtplib.SMTP(*place), refused:
            smtplib.SMTP(*place)

        def is_left() -> bool:
            with suppress(smtplib.SMTPConnectError):
                send(node, mail(xml="<order/>"))
                return True
            return False

        node.until(is_left)
        for number in (2, 3):
            send(node, mail(xml="<order/>", number=number))
        with pytest.raises(smtplib.SMTPSenderRefused) as found:
            send(node, mail(xml="<order/>", number=4))
        assert found.value.smtp_code == 450
        node.until(lambda: len(node.bodies("copies")) == 3)


class Box(Kept):
    """A mail server of others', which keeps what it gets."""

    def __init__(self, refusal: str | None = None) -> None:
        super().__init__()
        self.got: list[EmailMessage] = []
        self.refusal = refusal

    def handle_message(self, message: EmailMessage) -> None:  # type: ignore[override]
        self.got.append(message)

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        return self.refusal or await super().handle_DATA(server, session, envelope)


@contextmanager
def post_office(refusal: str | None = None) -> Iterator[tuple[Box, MailSettings]]:
    box = Box(refusal)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    controller = Controller(box, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        yield box, MailSettings(server=f"smtp://127.0.0.1:{port}", sender="shop@example.org", port=0)
    finally:
        controller.stop()


def test_messages_go_out_by_mail(tmp_path: Path) -> None:
    gateways = {**BOX, "letters": GatewaySettings(to="mailto:ada@example.org", patience=SOON)}
    with (
        post_office() as (box, settings),
        served(tmp_path / "app", APP, files={"order.xsd": SCHEMA}, gateways=gateways, mail=settings) as node,
    ):
        send(node, mail(xml="<order>5</order>"))
        node.until(lambda: box.got)
        (letter,) = box.got
        assert (letter["To"], letter["From"], letter["Subject"]) == (
            "ada@example.org",
            "shop@example.org",
            "Your order",
        )
        assert letter.get_payload(decode=True) == b"<confirmation>5</confirmation>"
        assert letter["Message-ID"].endswith("@demaq>")
        node.until(lambda: node.get("/api/queues/letters")["counts"]["held"] == 0)


def test_mail_that_a_server_refuses_is_an_error(tmp_path: Path) -> None:
    gateways = {"letters": GatewaySettings(to="mailto:ada@example.org", patience=SOON)}
    with (
        post_office("554 5.7.1 no, thanks") as (_, settings),
        served(tmp_path / "app", APP, files={"order.xsd": SCHEMA}, gateways=gateways, mail=settings) as node,
    ):
        node.post("orders", "<order>5</order>")
        (error,) = node.until(lambda: node.bodies("problems"))
        assert "554: 5.7.1 no, thanks" in error


def test_no_mail_server_at_all(tmp_path: Path) -> None:
    gateways = {"letters": GatewaySettings(to="mailto:ada@example.org", patience=SOON)}
    settings = MailSettings(server="smtp://127.0.0.1:9")
    with served(tmp_path / "app", APP, files={"order.xsd": SCHEMA}, gateways=gateways, mail=settings) as node:
        node.post("orders", "<order>5</order>")
        (error,) = node.until(lambda: node.bodies("problems"))
        assert "<error><disconnectedTransport/>" in error


# Files


def put(folder: Path, name: str, text: str, age: float = 5) -> None:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    then = time.time() - age
    os.utime(file, (then, then))


def test_files_come_in_from_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    put(folder, "b.xml", "<order>2</order>", age=5)
    put(folder, "a.xml", "<order>1</order>", age=9)
    put(folder, "c.json", json.dumps({"a": 1}))
    put(folder, "d.xml", "<order>")
    put(folder, "e.json", "{")
    put(folder, ".hidden.xml", "<order>0</order>")
    put(folder, "f.txt", "<order>0</order>")
    gateways = {"orders": GatewaySettings(folder=str(folder))}
    with served(tmp_path / "app", APP, files={"order.xsd": SCHEMA}, gateways=gateways) as node:
        node.until(lambda: len(node.bodies("copies")) == 3 and len(list((folder / "refused").iterdir())) == 4)
        assert 'sender="a.xml"' in node.bodies("copies")[0]
        assert {file.name for file in (folder / "taken").iterdir()} == {"a.xml", "b.xml", "c.json"}
        assert "not well-formed" in (folder / "refused" / "d.xml.reason.txt").read_text()
        assert "not JSON" in (folder / "refused" / "e.json.reason.txt").read_text()
        assert len(node.until(lambda: node.get("/api/errors")["messages"])) == 2
        put(folder, "a.xml", "<order>1</order>")
        node.until(lambda: (folder / "taken" / "a-2.xml").exists())
        node.until(lambda: len(node.bodies("copies")) == 4)


def test_files_with_strange_names_and_too_large_ones_hold_up_no_others(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    names = [f"{'x' * 250}.xml", "a\x01\nb.xml", os.fsdecode(b"\xff\xfe.xml"), "é.xml"]
    for name in names:
        put(folder, name, "<order>1</order>")
    put(folder, f"{'y' * 250}.xml", "<order>")
    put(folder, "large.xml", f"<order>{'1' * 2000}</order>")
    gateways = {"orders": GatewaySettings(folder=str(folder))}
    server = ServerSettings(largest=1000)
    with served(tmp_path / "app", APP, files={"order.xsd": SCHEMA}, gateways=gateways, server=server) as node:
        node.until(lambda: len(node.bodies("copies")) == 4 and len(list((folder / "refused").iterdir())) == 4)
        assert {file.name for file in (folder / "taken").iterdir()} == set(names)
        assert "larger than 1,000 bytes" in (folder / "refused" / "large.xml.reason.txt").read_text()
        assert "not well-formed" in next((folder / "refused").glob("yyy*.reason.txt")).read_text()
        put(folder, names[0], "<order>2</order>")
        node.until(lambda: len(node.bodies("copies")) == 5 and len(list((folder / "taken").iterdir())) == 5)


def test_a_folder_that_goes_away_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    gateways = {"orders": GatewaySettings(folder=str(folder))}
    with served(tmp_path / "app", APP, files={"order.xsd": SCHEMA}, gateways=gateways) as node:
        node.until(lambda: (folder / "taken").exists())
        shutil.rmtree(folder)
        node.until(lambda: (folder / "taken").exists())
        put(folder, "a.xml", "<order>1</order>")
        node.until(lambda: node.bodies("copies"))


def test_a_file_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    gateways = {"orders": GatewaySettings(folder=str(folder))}
    with served(tmp_path / "app", APP, files={"order.xsd": SCHEMA}, gateways=gateways) as node:
        for _ in range(8):
            put(folder, "a.xml", "<order>", age=0)
            time.sleep(0.2)
        put(folder, "a.xml", "<order>1</order>", age=0)
        (copy,) = node.until(lambda: node.bodies("copies"))
        assert "<order>1</order>" in copy


def test_a_file_that_was_taken_but_not_moved_is_taken_once(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    then = time.time() - 100
    gateways = {"orders": GatewaySettings(folder=str(folder))}
    for _ in range(2):
        (folder / "a.xml").write_text("<order>1</order>")
        os.utime(folder / "a.xml", (then, then))
        with served(tmp_path / "app", APP, files={"order.xsd": SCHEMA}, gateways=gateways) as node:
            node.until(lambda: not (folder / "a.xml").exists())
            assert len(node.until(lambda: node.bodies("copies"))) == 1


def test_a_stop_waits_for_no_file_that_cannot_be_taken_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    tried = threading.Event()

    async def nobody(_incoming: Incoming) -> None:
        tried.set()
        raise StoreUnavailable("the store is away")

    gateways = {"orders": GatewaySettings(folder=str(folder))}
    with served(tmp_path / "app", APP, files={"order.xsd": SCHEMA}, gateways=gateways) as node:
        monkeypatch.setattr(node.serving.edge, "take", nobody)
        put(folder, "b.xml", "<order>2</order>")
        assert tried.wait(10)
        node.stop()
    assert (folder / "b.xml").exists()


def test_messages_go_out_as_files(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    gateways = {"letters": GatewaySettings(to=f"file://{folder}", patience=SOON)}
    with served(tmp_path / "app", APP, files={"order.xsd": SCHEMA}, gateways=gateways) as node:
        for number in range(5):
            node.post("orders", f"<order>{number}</order>")
        node.until(lambda: len(list(folder.iterdir())) == 5)
        found = [file.read_text() for file in sorted(folder.iterdir())]
        assert found == [f"<confirmation>{number}</confirmation>" for number in range(5)]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    gateways = {"letters": GatewaySettings(to=f"file://{tmp_path}/nowhere", patience=SOON)}
    with served(tmp_path / "app", APP, files={"order.xsd": SCHEMA}, gateways=gateways) as node:
        node.post("orders", "<order>5</order>")
        (error,) = node.until(lambda: node.bodies("problems"))
        assert "<error><disconnectedTransport/>" in error
