"""WS-Addressing: who a message is from and for, what it is about, and where its reply goes."""

from dataclasses import dataclass

from lxml import etree

from demaq.gateways.soap.envelope import Envelope

WSA = "http://www.w3.org/2005/08/addressing"
WSA_2004 = "http://schemas.xmlsoap.org/ws/2004/08/addressing"
NAMESPACES = (WSA, WSA_2004)
_ANONYMOUS = {WSA: f"{WSA}/anonymous", WSA_2004: f"{WSA_2004}/role/anonymous"}
_NONE = f"{WSA}/none"
MESSAGE_ID = tuple(f"{{{namespace}}}MessageID" for namespace in NAMESPACES)
RELATES_TO = tuple(f"{{{namespace}}}RelatesTo" for namespace in NAMESPACES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Addressing:
    """The headers of a message; `namespace` is that of the version of WS-Addressing which they are of."""

    namespace: str = WSA
    message_id: str | None = None
    to: str | None = None
    action: str | None = None
    sender: str | None = None
    reply_to: str | None = None
    relates_to: str | None = None

    @property
    def answers_elsewhere(self) -> bool:
        """Does the reply go to somebody else than whoever waits?"""
        return self.reply_to not in (None, _ANONYMOUS[self.namespace])

    @property
    def wants_no_answer(self) -> bool:
        return self.reply_to == _NONE

    def elements(self) -> "list[etree._Element]":
        """As headers of an envelope."""
        texts = (
            ("MessageID", self.message_id),
            ("RelatesTo", self.relates_to),
            ("To", self.to),
            ("Action", self.action),
        )
        found = [self._element(name, text) for name, text in texts if text is not None]
        for name, address in (("From", self.sender), ("ReplyTo", self.reply_to)):
            if address is not None:
                element = self._element(name, None)
                element.append(self._element("Address", address))
                found.append(element)
        return found

    def _element(self, name: str, text: str | None) -> "etree._Element":
        element = etree.Element(f"{{{self.namespace}}}{name}", nsmap={"wsa": self.namespace})
        element.text = text
        return element


def anonymous(namespace: str = WSA) -> str:
    """The address of whoever waits for an answer."""
    return _ANONYMOUS[namespace]


def read_addressing(found: Envelope) -> Addressing | None:
    """The addressing of a message; None if it has none."""
    for namespace in NAMESPACES:
        headers = {
            etree.QName(each).localname: each for each in found.headers if etree.QName(each).namespace == namespace
        }
        if headers:
            return Addressing(
                namespace=namespace,
                message_id=_text(headers.get("MessageID")),
                to=_text(headers.get("To")),
                action=_text(headers.get("Action")),
                sender=_address(headers.get("From"), namespace),
                reply_to=_address(headers.get("ReplyTo"), namespace),
                relates_to=_text(headers.get("RelatesTo")),
            )
    return None


def _text(element: "etree._Element | None") -> str | None:
    return None if element is None else (element.text or "").strip() or None


def _address(element: "etree._Element | None", namespace: str) -> str | None:
    return None if element is None else _text(element.find(f"{{{namespace}}}Address"))
