"""XML that tests bring along, read as carefully as messages are: without document types, but of any size."""

import sys

from lxml import etree

from demaq.engine.xml import MessageRefused, ReadMessage, read_message
from demaq.model import Limits

_ANY_SIZE = Limits(message_size=sys.maxsize, depth=sys.maxsize, names=sys.maxsize)


def read_xml(body: str | bytes) -> ReadMessage:
    """The text without its declaration, and the tree. Raises `MessageRefused`."""
    return read_message(body, _ANY_SIZE)


def reason(refused: MessageRefused) -> tuple[int | None, str]:
    """Why XML is refused, and in which line, if it is one in particular."""
    wrong = refused.__cause__
    if isinstance(wrong, etree.XMLSyntaxError):
        return wrong.lineno, f"not well-formed: {wrong.msg}"
    return None, refused.reason
