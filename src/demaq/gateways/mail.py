"""Mail as messages, and messages as mail."""

from dataclasses import dataclass
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import SMTP, default
from email.utils import formatdate, getaddresses, parseaddr

from lxml import etree

from demaq.engine.errors import printable
from demaq.engine.xml import admitted
from demaq.model import Message, Value

_XML = ("text/xml", "application/xml", "application/soap+xml")
_LONGEST_SUBJECT = 200  # characters


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail as a message: its document, by which it is known, and its properties."""

    body: bytes
    key: str | None
    properties: dict[str, Value]


def read_mail(data: bytes, sender: str) -> Letter:
    """The XML in a mail; one without any becomes a document that says what is in it.

    `sender` is whom the mail came from by the envelope, which need not be what is written in it.
    """
    mail = BytesParser(policy=default).parsebytes(data)
    assert isinstance(mail, EmailMessage)
    properties = {
        "Sender": sender,
        "To": _header(mail, "to"),
        "ReplyTo": parseaddr(_header(mail, "reply-to"))[1],
        "Action": _header(mail, "subject"),
    }
    return Letter(
        _xml_in(mail) or _described(mail, sender),
        _header(mail, "message-id") or None,
        {name: Value("xs:string", printable(text)) for name, text in properties.items() if text},
    )


def _header(mail: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(mail.get(name, "")).split())
    except (ValueError, IndexError, KeyError, AttributeError):  # the parser trips over some that are broken
        return ""


def _xml_in(mail: EmailMessage) -> bytes | None:
    for part in mail.walk():
        if part.get_content_type() in _XML and not part.is_multipart():
            content = part.get_payload(decode=True)
            if isinstance(content, bytes) and content.strip():
                return content
    return None


def _described(mail: EmailMessage, sender: str) -> bytes:
    root = etree.Element("mail")
    etree.SubElement(root, "from").text = printable(sender)
    for _, address in getaddresses([text for name in ("to", "cc") if (text := _header(mail, name))]):
        etree.SubElement(root, "to").text = printable(address)
    etree.SubElement(root, "subject").text = printable(_header(mail, "subject"))
    etree.SubElement(root, "date").text = printable(_header(mail, "date"))
    etree.SubElement(root, "text").text = printable(_text_of(mail).replace("\r\n", "\n"))
    return bytes(etree.tostring(root, encoding="utf-8"))


def _text_of(mail: EmailMessage) -> str:
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
    mail["From"] = sender
    mail["To"] = to
    mail["Subject"] = _subject(message)
    mail["Date"] = formatdate()
    mail["Message-ID"] = f"<{identity.removeprefix('urn:uuid:')}@demaq>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(message.body.encode(), "application", "xml", filename=f"{message.id}.xml", disposition="inline")
    return mail


def _subject(message: Message) -> str:
    named = message.properties.get("Action")
    if named is not None and named.text.strip():
        return " ".join(named.text.split())[:_LONGEST_SUBJECT]
    return str(etree.QName(admitted(message.body)).localname)[:_LONGEST_SUBJECT]
