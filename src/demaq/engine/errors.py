"""Errors as messages."""

import re
from datetime import datetime

from lxml import etree

from demaq.engine.records import Failure
from demaq.model import Message

KINDS = frozenset(
    "evaluation type property schema malformed duplicate disconnectedTransport timeout nameResolution httpStatus"
    " security resource system".split()
)
_LONGEST = 100_000  # characters of raw text, or of a description
_DEEPEST = 5_000  # elements inside one another, so that the error message has no more than the engine's parser takes


def error_body(failure: Failure, queue: str, at: datetime, message: Message | None, raw: str | None = None) -> str:
    """The body of an error message, about a message of the log or about a raw text that could not become one."""
    assert failure.kind in KINDS, failure.kind
    root = etree.Element("error")
    etree.SubElement(root, failure.kind)
    _add(root, "code", failure.code)
    _add(root, "description", failure.description[:_LONGEST])
    _add(root, "queue", queue)
    _add(root, "rule", failure.rule or "")
    location = etree.SubElement(root, "location", line=str(failure.line or ""), column=str(failure.column or ""))
    if failure.file:
        location.set("file", failure.file)
    _add(root, "messageID", "" if message is None else str(message.id))
    _add(root, "time", at.isoformat().replace("+00:00", "Z"))
    initial = etree.SubElement(root, "initialMessage")
    tree = None if message is None else _parsed(message.body)
    if message is not None and tree is not None and _depth(tree) <= _DEEPEST:
        initial.append(tree)
    elif message is not None:
        initial.text = printable(message.body)
    elif raw is not None:
        initial.text = printable(raw[:_LONGEST])
    return str(etree.tostring(root, encoding="unicode"))


def queues_of_errors(body: str) -> list[str]:
    """The queue that an error message is about; if the message there was an error message, its queue; and so on."""
    found = []
    error: etree._Element | None = _parsed(body)
    while error is not None and error.tag == "error":
        found.append(error.findtext("queue") or "")
        error = error.find("initialMessage/error")
    return found


def _parsed(body: str) -> "etree._Element | None":
    """The tree of a message; None if it should be broken."""
    try:
        return etree.fromstring(body, etree.XMLParser(huge_tree=True, resolve_entities=False))
    except etree.XMLSyntaxError:
        return None


def _depth(root: "etree._Element") -> int:
    deepest = depth = 0
    for event, _ in etree.iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        deepest = max(deepest, depth)
    return deepest


def _add(parent: "etree._Element", name: str, text: str) -> None:
    etree.SubElement(parent, name).text = printable(text)


_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def printable(text: str) -> str:
    """Without characters that XML cannot hold."""
    return _FORBIDDEN.sub("\ufffd", text)


def kind_of(code: str) -> str:
    """The kind of error that a code of the XQuery engine stands for."""
    local = code.rpartition(":")[2].rpartition("}")[2]
    if local in ("property", "resource"):
        return local
    if local == "message" or local.startswith(("XPTY", "XQTY", "FORG0006")):
        return "type"
    return "evaluation"
