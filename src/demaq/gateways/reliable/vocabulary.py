"""The two versions of WS-ReliableMessaging, and the names in them."""

from enum import Enum

from lxml import etree

from demaq.gateways.soap.addressing import WSA, WSA_2004


class RmVersion(Enum):
    """By the namespace of its elements."""

    RM_10 = "http://schemas.xmlsoap.org/ws/2005/02/rm"
    RM_11 = "http://docs.oasis-open.org/ws-rx/wsrm/200702"

    def __str__(self) -> str:
        return "1.0" if self is RmVersion.RM_10 else "1.1"

    @staticmethod
    def named(text: str) -> "RmVersion":
        """What `str` gives."""
        return next(version for version in RmVersion if str(version) == text)

    def tag(self, local: str) -> str:
        """The name of an element."""
        return f"{{{self.value}}}{local}"

    def element(self, local: str, text: str | None = None) -> "etree._Element":
        made = etree.Element(self.tag(local), nsmap={"wsrm": self.value})
        made.text = text
        return made

    def action(self, local: str) -> str:
        """What a message with that element is about.

        >>> RmVersion.RM_10.action("CreateSequence")
        'http://schemas.xmlsoap.org/ws/2005/02/rm/CreateSequence'
        """
        return f"{self.value}/{local}"

    @property
    def addressing(self) -> str:
        """The namespace of the WS-Addressing that goes with it."""
        return WSA_2004 if self is RmVersion.RM_10 else WSA

    @property
    def fault_action(self) -> str:
        """What a fault is about: 1.0 leaves that to WS-Addressing."""
        return f"{self.addressing}/fault" if self is RmVersion.RM_10 else self.action("fault")

    @property
    def greatest(self) -> int:
        """The last number that a message can have."""
        return 2**64 - 1 if self is RmVersion.RM_10 else 2**63 - 1


VERSIONS = {version.value: version for version in RmVersion}
NAMESPACES = tuple(VERSIONS)


class FaultCode(Enum):
    """What is wrong, in the protocol's words."""

    UNKNOWN_SEQUENCE = "UnknownSequence"
    SEQUENCE_TERMINATED = "SequenceTerminated"
    SEQUENCE_CLOSED = "SequenceClosed"  # 1.1
    MESSAGE_NUMBER_ROLLOVER = "MessageNumberRollover"
    LAST_MESSAGE_NUMBER_EXCEEDED = "LastMessageNumberExceeded"  # 1.0
    INVALID_ACKNOWLEDGEMENT = "InvalidAcknowledgement"
    CREATE_SEQUENCE_REFUSED = "CreateSequenceRefused"
    WSRM_REQUIRED = "WSRMRequired"  # 1.1

    @property
    def ends_sequence(self) -> bool:
        """Can nothing more be sent in the sequence that it is about?"""
        return self in _ENDING

    def is_of(self, version: RmVersion) -> bool:
        return _ONLY.get(self, version) is version


_ENDING = (
    FaultCode.UNKNOWN_SEQUENCE,
    FaultCode.SEQUENCE_TERMINATED,
    FaultCode.SEQUENCE_CLOSED,
    FaultCode.MESSAGE_NUMBER_ROLLOVER,
    FaultCode.LAST_MESSAGE_NUMBER_EXCEEDED,
)
_ONLY = {
    FaultCode.SEQUENCE_CLOSED: RmVersion.RM_11,
    FaultCode.WSRM_REQUIRED: RmVersion.RM_11,
    FaultCode.LAST_MESSAGE_NUMBER_EXCEEDED: RmVersion.RM_10,
}
