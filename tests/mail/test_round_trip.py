"""A mail goes round: curl gives it to a node, which answers by a mail server, GreenMail; there curl reads it."""

import email
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path

from brokers import free_ports
from demaq.model import GatewaySettings, MailSettings
from jars import JAVA, fetched
from serving import SOON, served

APP = """
create queue orders kind incomingGateway mode persistent
create queue letters kind outgoingGateway mode persistent
create queue problems kind basic mode persistent
create rule confirm for orders errorqueue problems
if (/order) then
  do enqueue <confirmation>{string(/order)}</confirmation> into letters
    with Action value concat("Your order ", /order) with To value concat("mailto:", qs:property("Sender"))
else ()
"""
LETTER = """From: Ada <ada@example.org>\r
To: orders@example.org\r
Subject: boxes\r
Message-ID: <1@example.org>\r
MIME-Version: 1.0\r
Content-Type: text/xml; charset=utf-8\r
\r
<order>twenty bóxes</order>\r
"""
SENT = ("--mail-from", "ada@example.org", "--mail-rcpt", "orders@example.org", "--upload-file", "-")
_PATIENCE = 60.0  # seconds for a server to start


@dataclass(frozen=True, slots=True)
class PostOffice:
    smtp: int
    imap: int

    def letters(self, user: str) -> list[Message]:
        """What is in the box of a user, read by curl."""
        box = f"imap://127.0.0.1:{self.imap}/INBOX"
        (found,) = re.findall(r"\* SEARCH([ \d]*)", curl(box, "--user", user, "--request", "SEARCH ALL").decode())
        return [
            email.message_from_bytes(curl(f"{box};MAILINDEX={number}", "--user", user), policy=email.policy.default)
            for number in found.split()
        ]


def curl(*arguments: str, given: bytes = b"") -> bytes:
    done = subprocess.run(
        ["curl", "--silent", "--show-error", "--noproxy", "*", *arguments], input=given, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@contextmanager
def post_office(folder: Path) -> Iterator[PostOffice]:
    """GreenMail, at the loopback address, with a box for Ada, and a user who may send."""
    (jar,) = fetched("mail", Path(__file__).parent / "ivy.xml").rglob("*.jar")
    found = PostOffice(*free_ports(2))
    settings = [
        f"-Dgreenmail.{name}.{key}"
        for name, port in (("smtp", found.smtp), ("imap", found.imap))
        for key in ("hostname=127.0.0.1", f"port={port}")
    ]
    users = "-Dgreenmail.users=ada:secret@example.org,shop:word@example.org", "-Dgreenmail.users.login=email"
    with open(folder / "mail.log", "wb") as log:
        process = subprocess.Popen([*JAVA, *settings, *users, "-jar", str(jar)], stdout=log, stderr=log)
    try:
        _await(process, found.smtp, folder / "mail.log")
        _await(process, found.imap, folder / "mail.log")
        yield found
    finally:
        process.kill()
        process.wait()


def _await(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        else:
            return


def test_a_mail_goes_round(tmp_path: Path) -> None:
    gateways = {
        "orders": GatewaySettings(mail="orders@example.org"),
        "letters": GatewaySettings(allow=("mailto:ada@example.org",)),
    }
    with post_office(tmp_path) as office:
        mail = MailSettings(
            server=f"smtp://127.0.0.1:{office.smtp}",
            user="shop@example.org",
            password="word",
            sender="shop@example.org",
            port=0,
        )
        with served(tmp_path / "app", APP, gateways=gateways, mail=mail) as node:
            to = f"smtp://127.0.0.1:{node.serving.edge.mail_port}"
            for _ in range(2):
                curl(to, *SENT, given=LETTER.encode())
            (letter,) = node.until(lambda: office.letters("ada@example.org:secret") or node.bodies("problems"))
            assert (letter["Subject"], letter["From"], letter["To"]) == (
                "Your order twenty bóxes",
                "shop@example.org",
                "ada@example.org",
            )
            assert letter.get_payload(decode=True).decode().strip() == "<confirmation>twenty bóxes</confirmation>"
            node.until(lambda: node.get("/api/queues/letters")["counts"]["held"] == 0)
            assert len(office.letters("ada@example.org:secret")) == 1
            assert node.bodies("problems") == []


def test_a_mail_server_that_does_not_know_us(tmp_path: Path) -> None:
    gateways = {
        "orders": GatewaySettings(mail="orders@example.org"),
        "letters": GatewaySettings(allow=("mailto:ada@example.org",), patience=SOON),
    }
    with post_office(tmp_path) as office:
        mail = MailSettings(server=f"smtp://127.0.0.1:{office.smtp}", user="shop@example.org", password="wrong", port=0)
        with served(tmp_path / "app", APP, gateways=gateways, mail=mail) as node:
            curl(f"smtp://127.0.0.1:{node.serving.edge.mail_port}", *SENT, given=LETTER.encode())
            (error,) = node.until(lambda: node.bodies("problems"))
            assert "<error><security/>" in error
            assert office.letters("ada@example.org:secret") == []
