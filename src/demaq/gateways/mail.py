"""Mail as messages, and messages as mail."""

from dataclasses import dataclass
from email.errors import MessageError
from email.header import decode_header
from email.message import EmailMessage
from email.message import Message as Mail
from email.parser import BytesParser
from email.policy import SMTP, Compat32, Policy
from email.utils import formatdate, getaddresses
from functools import partial
from hashlib import sha256

from lxml import etree

from demaq.diagnostics import DemaqError
from demaq.engine.errors import printable
from demaq.engine.xml import admitted, in_utf8
from demaq.gateways.destinations import mail_address
from demaq.gateways.fingerprints import fingerprint_of_text
from demaq.model import Message, Value

_XML = ("text/xml", "application/xml", "application/soap+xml")
_LONGEST_SUBJECT = 200  # characters
_LONGEST_HEADER = 10_000
_LONGEST_KEY = 1000
_MOST_PARTS = 100
_IDENTITY = "message-id"


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail as a message: its document, by which it is known, and its properties.

    Its fingerprint is that of what is in it. Headers may be others when it comes again, on another way.
    """

    body: bytes
    key: str | None
    fingerprint: str
    properties: dict[str, Value]


class MailInvalid(DemaqError):
    """A mail cannot be read."""


class _Bounded(Compat32):
    """Reads headers up to a length. In those that are longer, the library would look for hours."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value if name.lower() == _IDENTITY else value[:_LONGEST_HEADER]


def read_mail(data: bytes, sender: str) -> Letter:
    """The XML in a mail; one without any becomes a document that says what is in it. Raises `MailInvalid`.

    `sender` is whom the mail came from by the envelope, which need not be what is written in it.
    """
    mail = _parsed(data)
    properties = {
        "Sender": sender,
        "To": _header(mail, "to"),
        "ReplyTo": next(iter(_addresses(mail, "reply-to")), ""),
        "Action": _header(mail, "subject"),
    }
    document = _xml_in(mail)
    return Letter(
        document or _described(mail, sender),
        _key(mail),
        fingerprint_of_text(document or _text_of(mail)),
        {name: Value("xs:string", printable(text)) for name, text in properties.items() if text},
    )


def _parsed(data: bytes) -> Mail:
    number = 0

    def part(policy: Policy) -> Mail:
        nonlocal number
        number += 1
        if number > _MOST_PARTS:
            raise MailInvalid(f"this has more than {_MOST_PARTS} parts")
        return Mail(policy)

    return BytesParser(part, policy=_Bounded()).parsebytes(data)  # type: ignore[arg-type]


def _raw(mail: Mail, name: str) -> str:
    """A header as it is written, in one line."""
    found = next((text for known, text in mail.raw_items() if known.lower() == name), "")
    return " ".join(found.encode("utf-8", "surrogateescape").decode("utf-8", "replace").split())


def _header(mail: Mail, name: str) -> str:
    """A header as people read it."""
    raw = _raw(mail, name)
    try:
        parts = decode_header(raw)
    except (ValueError, MessageError):
        return raw
    return " ".join("".join(_decoded(text, charset) for text, charset in parts).split())


def _decoded(text: bytes | str, charset: str | None) -> str:
    if isinstance(text, str):
        return text
    try:
        return text.decode(charset or "raw-unicode-escape", "replace")  # which is what the library puts between words
    except (LookupError, ValueError):
        return text.decode("utf-8", "replace")


def _addresses(mail: Mail, *names: str) -> list[str]:
    written = [
        text if len(text) < _LONGEST_HEADER else text.rpartition(",")[0] for text in map(partial(_raw, mail), names)
    ]
    try:
        return [address for _, address in getaddresses(written) if address]
    except (RecursionError, ValueError, IndexError):  # the library trips over some that are broken
        return []


def _key(mail: Mail) -> str | None:
    identity = _raw(mail, _IDENTITY)
    is_text = len(identity) <= _LONGEST_KEY and printable(identity) == identity  # as every store takes it
    return (identity or None) if is_text else sha256(identity.encode()).hexdigest()


def _xml_in(mail: Mail) -> bytes | None:
    for part in mail.walk():
        if part.get_content_type() in _XML and not part.is_multipart():
            content = part.get_payload(decode=True)
            if isinstance(content, bytes) and content.strip():
                return in_utf8(content, part.get_content_charset())
    return None


def _described(mail: Mail, sender: str) -> bytes:
    root = etree.Element("mail")
    etree.SubElement(root, "from").text = printable(sender)
    for address in _addresses(mail, "to", "cc"):
        etree.SubElement(root, "to").text = printable(address)
    etree.SubElement(root, "subject").text = printable(_header(mail, "subject"))
    etree.SubElement(root, "date").text = printable(_header(mail, "date"))
    etree.SubElement(root, "text").text = printable(_text_of(mail).replace("\r\n", "\n"))
    return bytes(etree.tostring(root, encoding="utf-8"))


def _text_of(mail: Mail) -> str:
    for part in mail.walk():
        if part.get_content_type() == "text/plain" and not part.is_multipart():
            content = part.get_payload(decode=True)
            charset = part.get_content_charset() or "utf-8"
            if isinstance(content, bytes):
                try:
                    return content.decode(charset, "replace")
                except LookupError:
                    return content.decode("utf-8", "replace")
    return ""


def mail_of(message: Message, to: str, sender: str, identity: str) -> EmailMessage:
    """A message as mail: its XML is what is in it."""
    mail = EmailMessage(policy=SMTP)
    named = {name: value.text for name in ("Sender", "ReplyTo") if (value := message.properties.get(name)) is not None}
    written = {name: address for name, text in named.items() if (address := _address(text)) is not None}
    mail["From"] = written.get("Sender", sender)
    if mail["From"] != sender:
        mail["Sender"] = sender
    if "ReplyTo" in written:
        mail["Reply-To"] = written["ReplyTo"]
    mail["To"] = to
    mail["Subject"] = _subject(message)
    mail["Date"] = formatdate()
    mail["Message-ID"] = f"<{identity.removeprefix('urn:uuid:')}@demaq>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(message.body.encode(), "application", "xml", filename=f"{message.id}.xml", disposition="inline")
    return mail


def _address(text: str) -> str | None:
    """The address of mail that a property names, with `mailto:` before it or without; None if it is another."""
    return mail_address(text if text.startswith("mailto:") else f"mailto:{text}")


def _subject(message: Message) -> str:
    named = message.properties.get("Action")
    if named is not None and named.text.strip():
        return " ".join(named.text.split())[:_LONGEST_SUBJECT]
    return str(etree.QName(admitted(message.body)).localname)[:_LONGEST_SUBJECT]
