"""A message on its way out, and what can become of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from demaq.diagnostics import DemaqError
from demaq.gateways.protocols import Protocols
from demaq.gateways.soap.wsdl import Port
from demaq.logs import logger
from demaq.model import GatewaySettings, Message

_LOG = logger("outbox")


class Undelivered(DemaqError):
    """A message was not delivered. `kind` is that of the error message that tells of it.

    One that is final would not be delivered by trying again. One that is an answer says that the host was reached; it
    may ask to be left alone for some seconds.
    """

    def __init__(
        self, kind: str, description: str, *, is_final: bool = False, is_answer: bool = False, pause: float = 0.0
    ) -> None:
        super().__init__(description)
        self.kind = kind
        self.description = description
        self.is_final = is_final
        self.is_answer = is_answer
        self.pause = pause


def not_sent(error: Exception) -> Undelivered:
    """Something has happened that nobody has thought of: it ends one message, and those after it go on."""
    _LOG.error("message cannot be sent", exc_info=error)
    return Undelivered("system", f"it cannot be sent: {type(error).__name__}: {error}", is_final=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """A message, where it goes, and the id under which whoever gets it twice can know it again."""

    message: Message
    to: str
    identity: str
    settings: GatewaySettings
    port: Port | None = None  # of the service, if it takes envelopes
    protocols: Protocols = field(default_factory=Protocols)
    headers: Mapping[str, str] = field(default_factory=dict)  # of HTTP, beside those that it has anyway
    is_public_only: bool = False  # the place is one that data named: it must be outside our own network

    @property
    def in_envelope(self) -> bool:
        """Does it go in an envelope of SOAP?"""
        return self.port is not None or not self.protocols.is_plain


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service answered, if it is a document."""

    body: bytes
