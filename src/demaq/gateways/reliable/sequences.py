"""The sequences that come in to a queue."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from demaq.gateways.reliable.destination import Destination, Room
from demaq.gateways.reliable.faults import ReliableFault
from demaq.gateways.reliable.inbound import Inbound, InboundState
from demaq.gateways.reliable.messages import CreateSequence
from demaq.gateways.reliable.policy import ReliablePolicy
from demaq.gateways.reliable.vocabulary import FaultCode
from demaq.gateways.soap.addressing import NAMESPACES, anonymous
from demaq.gateways.soap.envelope import Blame
from demaq.store import Note

Item = TypeVar("Item")
_MOST = 1_000  # sequences of a queue
_UNUSED = timedelta(minutes=1)  # after which one without a message makes room for another
_ANONYMOUS = tuple(anonymous(namespace) for namespace in NAMESPACES)


def nowhere(_address: str) -> bool:
    """Acknowledgements go to nobody but those who wait for an answer."""
    return False


class Sequences(Generic[Item]):
    """There are only so many. Each is written down in a note, whose name is used again when the sequence is over."""

    def __init__(
        self,
        queue: str,
        policy: ReliablePolicy,
        notes: Mapping[str, str],
        now: datetime,
        *,
        most: int = _MOST,
        is_allowed: Callable[[str], bool] = nowhere,
    ) -> None:
        """`notes` are those that were left; `is_allowed` says which addresses acknowledgements may be sent to."""
        self._prefix = f"reliable in {queue} "
        self._policy = policy
        self._most = most
        self._is_allowed = is_allowed
        self._room = Room()
        self._slots: dict[int, Destination[Item]] = {}
        self._by_identifier: dict[str, int] = {}
        for name, text in notes.items():
            if name.startswith(self._prefix):
                self._put(int(name.removeprefix(self._prefix)), Inbound.from_text(text), now)

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, identifier: str) -> bool:
        return identifier in self._by_identifier

    def find(self, identifier: str, now: datetime, who: str | None = None) -> Destination[Item]:
        """A sequence that is known to whoever asks; raises `ReliableFault` if it is not, or is over."""
        slot = self._by_identifier.get(identifier)
        found = None if slot is None else self._slots[slot]
        if found is None or found.inbound.version is not self._policy.version or found.inbound.owner != who:
            raise ReliableFault(
                FaultCode.UNKNOWN_SEQUENCE, "this sequence is not known", self._policy.version, identifier=identifier
            )
        if found.is_over(now, self._policy.inactivity):
            raise found.inbound.fault(FaultCode.SEQUENCE_TERMINATED, "the sequence has ended: its time was over")
        return found

    def create(
        self, wanted: CreateSequence, message_id: str | None, identifier: str, now: datetime, who: str | None = None
    ) -> Destination[Item]:
        """A new sequence with that identifier; the same again if it was wanted by the same message before."""
        known = self._wanted_before(message_id, who)
        if known is not None:
            known.touched = now
            return known
        is_anonymous = wanted.acks_to in _ANONYMOUS
        if not is_anonymous and not self._is_allowed(wanted.acks_to):
            raise self._refused("acknowledgements are given as answers, and not sent to that address")
        slot = self._free_slot(now)
        if slot is None:
            raise self._refused(f"the queue has {self._most:,} sequences, and cannot have more", Blame.RECEIVER)
        inbound = Inbound(
            identifier=identifier,
            version=self._policy.version,
            created=now,
            acks_to=None if is_anonymous else wanted.acks_to,
            asked=message_id,
            owner=who,
            expires=now + wanted.expires if wanted.expires else None,
        )
        return self._put(slot, inbound, now)

    def sweep(self, now: datetime) -> None:
        """Sequences that are over need no memory for what came too early in them."""
        for each in self._slots.values():
            if each.held and each.is_over(now, self._policy.inactivity):
                each.forget_early()

    def note(self, inbound: Inbound) -> Note:
        """What has to be written down so that a sequence is known in that state."""
        return f"{self._prefix}{self._by_identifier[inbound.identifier]}", inbound.text()

    def restore(self, identifier: str, notes: Mapping[str, str], now: datetime) -> None:
        """Nobody knows whether the last state of a sequence was committed: go by what was written down."""
        slot = self._by_identifier[identifier]
        self._drop(slot)
        text = notes.get(f"{self._prefix}{slot}")
        if text is not None:
            self._put(slot, Inbound.from_text(text), now)

    def _put(self, slot: int, inbound: Inbound, now: datetime) -> Destination[Item]:
        self._drop(slot)
        self._by_identifier[inbound.identifier] = slot
        self._slots[slot] = Destination(inbound, self._room, now)
        return self._slots[slot]

    def _drop(self, slot: int) -> None:
        known = self._slots.pop(slot, None)
        if known is not None:
            known.forget()
            del self._by_identifier[known.inbound.identifier]

    def _wanted_before(self, message_id: str | None, who: str | None) -> Destination[Item] | None:
        if message_id is None:
            return None
        wanted = message_id, who
        unused = (each for each in self._slots.values() if _is_unused(each))
        return next((each for each in unused if (each.inbound.asked, each.inbound.owner) == wanted), None)

    def _free_slot(self, now: datetime) -> int | None:
        """One that was never used, or whose sequence is over."""
        if len(self._slots) < self._most:
            return next(slot for slot in range(self._most) if slot not in self._slots)
        return next((slot for slot, each in self._slots.items() if self._can_go(each, now)), None)

    def _can_go(self, each: Destination[Item], now: datetime) -> bool:
        if each.inbound.state is InboundState.TERMINATED or each.is_over(now, self._policy.inactivity):
            return True
        return _is_unused(each) and each.is_over(now, min(_UNUSED, self._policy.inactivity))

    def _refused(self, reason: str, blame: Blame = Blame.SENDER) -> ReliableFault:
        return ReliableFault(FaultCode.CREATE_SEQUENCE_REFUSED, reason, self._policy.version, blame=blame)


def _is_unused(each: Destination[Item]) -> bool:
    return each.inbound.state is InboundState.OPEN and not each.inbound.delivered and not each.held
