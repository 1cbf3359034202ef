"""What goes out in a sequence or about one, and what is answered to it."""

from dataclasses import dataclass
from enum import Enum

from demaq.gateways.reliable.headers import Acknowledgement
from demaq.gateways.reliable.vocabulary import FaultCode, RmVersion


class Kind(Enum):
    CREATE = "create"  # a sequence is asked for
    MESSAGE = "message"
    LAST = "last"  # the empty last message of 1.0
    CLOSE = "close"  # of 1.1
    TERMINATE = "terminate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transmission:
    """Something to send. `number` is that of the message, or of the last one in a sequence that ends."""

    kind: Kind
    version: RmVersion
    identifier: str = ""  # of the sequence, once there is one
    number: int | None = None
    message: int | None = None
    identity: str = ""  # by which it is known, if it is no message, which has its own
    attempt: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What the other side says."""

    acknowledgements: tuple[Acknowledgement, ...] = ()
    created: str | None = None  # the identifier of a new sequence
    fault: FaultCode | None = None
    is_refused: bool = False  # by a fault that is not of the protocol
