"""Queues."""

from dataclasses import dataclass
from enum import Enum


class QueueKind(Enum):
    BASIC = "basic"  # local
    INCOMING_GATEWAY = "incomingGateway"  # holds what other nodes sent
    OUTGOING_GATEWAY = "outgoingGateway"  # what is put into it is sent
    ECHO = "echo"  # gives each message to its target when its time has come

    @property
    def is_gateway(self) -> bool:
        return self in (QueueKind.INCOMING_GATEWAY, QueueKind.OUTGOING_GATEWAY)


class QueueMode(Enum):
    PERSISTENT = "persistent"  # survives a crash
    TRANSIENT = "transient"  # lives in memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """The web service behind a gateway: a WSDL file and one of its ports."""

    file: str
    port: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WebServiceExtension:
    """A protocol that a gateway speaks, and the file with its policy."""

    name: str
    policy: str


RELIABLE_MESSAGING = "WS-ReliableMessaging"
SECURITY = "WS-Security"


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """Files are named as the application names them, relative to its folder."""

    name: str
    kind: QueueKind = QueueKind.BASIC
    mode: QueueMode = QueueMode.PERSISTENT
    priority: int = 0
    schema: str | None = None
    errorqueue: str | None = None
    interface: Interface | None = None
    extensions: tuple[WebServiceExtension, ...] = ()


SYSTEM_ERRORS = Queue(name="systemErrors")
"""Every application has it: errors that no other error queue takes end here."""
