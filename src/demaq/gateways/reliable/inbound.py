"""A sequence that comes in: what is written down about it, in the transaction of the messages that it is about."""

import json
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from demaq.gateways.reliable.faults import ReliableFault
from demaq.gateways.reliable.headers import Acknowledgement, Place
from demaq.gateways.reliable.ranges import Ranges
from demaq.gateways.reliable.vocabulary import FaultCode, RmVersion


class InboundState(Enum):
    """open → closed → terminated, or at once from open to terminated."""

    OPEN = "open"  # messages are taken
    CLOSED = "closed"  # no more are, but it can be asked what has arrived
    TERMINATED = "terminated"  # it is only known so that nobody begins it again


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbound:
    """Messages are delivered in order, so that the number of the last says which have arrived: all up to that."""

    identifier: str
    version: RmVersion
    created: datetime
    acks_to: str | None = None  # None: acknowledgements go back to whoever waits for an answer
    asked: str | None = None  # the id of the message that wanted it, which may come twice
    owner: str | None = None  # who was proved to have wanted it, and may use it alone
    expires: datetime | None = None
    state: InboundState = InboundState.OPEN
    delivered: int = 0
    last: int | None = None  # no message has a greater number

    @property
    def acknowledgement(self) -> Acknowledgement:
        is_final = self.state is not InboundState.OPEN and self.version is RmVersion.RM_11
        return Acknowledgement(identifier=self.identifier, received=Ranges.to(self.delivered), is_final=is_final)

    def check(self, place: Place) -> None:
        """Raises `ReliableFault` if a message cannot come there. One that was delivered always can: it is a copy."""
        if self.state is InboundState.TERMINATED:
            raise self.fault(FaultCode.SEQUENCE_TERMINATED, "the sequence was terminated")
        if place.number <= self.delivered:
            return
        if self.state is InboundState.CLOSED:
            raise self.fault(FaultCode.SEQUENCE_CLOSED, "the sequence was closed, and takes no more messages")
        if self.last is not None and place.number > self.last:
            raise self.exceeded(self.last)

    def deliver(self, number: int, last: int | None = None) -> "Inbound":
        """Everything up to a number was delivered."""
        assert number >= self.delivered
        return replace(self, delivered=number, last=self.last if last is None else last)

    def close(self) -> "Inbound":
        if self.state is InboundState.TERMINATED:
            raise self.fault(FaultCode.SEQUENCE_TERMINATED, "the sequence was terminated")
        return replace(self, state=InboundState.CLOSED)

    def terminate(self) -> "Inbound":
        return replace(self, state=InboundState.TERMINATED)

    def fault(self, code: FaultCode, reason: str) -> ReliableFault:
        return ReliableFault(code, reason, self.version, identifier=self.identifier)

    def exceeded(self, last: int) -> ReliableFault:
        return self.fault(
            FaultCode.LAST_MESSAGE_NUMBER_EXCEEDED, f"the last message of the sequence has the number {last}"
        )

    def text(self) -> str:
        """As a note."""
        return json.dumps(
            {
                "identifier": self.identifier,
                "version": str(self.version),
                "created": self.created.isoformat(),
                "acksTo": self.acks_to,
                "asked": self.asked,
                "owner": self.owner,
                "expires": None if self.expires is None else self.expires.isoformat(),
                "state": self.state.value,
                "delivered": self.delivered,
                "last": self.last,
            }
        )

    @staticmethod
    def from_text(text: str) -> "Inbound":
        found = json.loads(text)
        expires = found["expires"]
        return Inbound(
            identifier=found["identifier"],
            version=RmVersion.named(found["version"]),
            created=datetime.fromisoformat(found["created"]),
            acks_to=found["acksTo"],
            asked=found["asked"],
            owner=found.get("owner"),
            expires=None if expires is None else datetime.fromisoformat(expires),
            state=InboundState(found["state"]),
            delivered=found["delivered"],
            last=found["last"],
        )
