"""A sequence that goes out: what is written down about it before anything is sent in it."""

import json
from dataclasses import dataclass

from demaq.gateways.reliable.vocabulary import RmVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Outbound:
    """The messages that were given numbers and are not acknowledged: what is sent again after a restart, as it was.

    A sequence that is ending gets no more messages. If some are still outstanding then, they go into the next one.
    """

    version: RmVersion
    identifier: str | None = None  # None: there is no sequence
    next: int = 1
    outstanding: tuple[tuple[int, int], ...] = ()  # numbers, and the ids of messages, in order
    is_ending: bool = False

    def text(self) -> str:
        """As a note; empty if there is nothing to remember."""
        if self.identifier is None:
            return ""
        return json.dumps(
            {
                "version": str(self.version),
                "identifier": self.identifier,
                "next": self.next,
                "outstanding": self.outstanding,
                "ending": self.is_ending,
            }
        )

    @staticmethod
    def from_text(text: str, version: RmVersion) -> "Outbound":
        """What was written down. A sequence of another version than is spoken now has to end."""
        if not text:
            return Outbound(version=version)
        found = json.loads(text)
        return Outbound(
            version=RmVersion.named(found["version"]),
            identifier=found["identifier"],
            next=found["next"],
            outstanding=tuple((number, message) for number, message in found["outstanding"]),
            is_ending=found["ending"],
        )
