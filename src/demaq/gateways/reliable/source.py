"""The side of a sequence that messages come from: each is sent until it is acknowledged, and no number is used twice.

The life of a sequence:

    none → asked for → open → ending → none
                        └──────────────↗  the other side does not know it any more

Whoever uses this writes the state down when it has changed (`to_save`, `saved`); only then are messages sent under the
numbers that it gives them. After a restart they are sent again under the same numbers. What is not acknowledged when
a sequence ends goes into the next one first, in the same order.
"""

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from uuid import uuid4

from demaq.gateways.reliable.faults import ReliableFault
from demaq.gateways.reliable.headers import Acknowledgement
from demaq.gateways.reliable.outbound import Outbound
from demaq.gateways.reliable.pacing import Pacing, again_after, pause_after
from demaq.gateways.reliable.policy import ReliablePolicy
from demaq.gateways.reliable.ranges import NOTHING
from demaq.gateways.reliable.transmission import Answered, Kind, Transmission
from demaq.gateways.reliable.vocabulary import FaultCode, RmVersion

_WINDOW = 200  # messages that are sent and not acknowledged
_IDLE = 30.0  # seconds, after which a sequence ends
_CLOSINGS = 5  # attempts to close one
_ENDINGS = 8  # attempts to end a sequence that nothing needs any more


def new_identity() -> str:
    return f"urn:uuid:{uuid4()}"


@dataclass(slots=True)
class _Control:
    """The one message of the protocol that is wanted, and when it is due."""

    kind: Kind | None = None
    identity: str = ""
    due: float = 0.0
    attempts: int = 0


class Source:
    """The messages of one queue for one destination, in order. Time is in seconds, of a clock that does not go back."""

    def __init__(
        self,
        outbound: Outbound,
        policy: ReliablePolicy,
        *,
        window: int = _WINDOW,
        idle: float = _IDLE,
        identities: Callable[[], str] = new_identity,
    ) -> None:
        """Goes on from what was written down. `window` messages are under way at the same time."""
        self._policy = policy
        self._window = window
        self._idle = min(idle, policy.inactivity.total_seconds() / 2)
        self._identities = identities
        self._saved = outbound
        self._version = outbound.version
        self._identifier = outbound.identifier
        self._next = outbound.next
        self._outstanding = dict(outbound.outstanding)
        self._numbers = {message: number for number, message in outbound.outstanding}
        # What is spoken now has to be understood: a sequence of another version is not gone on with.
        self._is_ending = outbound.is_ending or outbound.version is not policy.version
        self._is_closed = False
        self._is_finishing = False
        self._renewals = 0  # since a message was acknowledged
        self._present: set[int] = set()  # messages that can be sent, since they are here
        self._absent = set(self._numbers)  # those that were put in before a restart, and will be again
        self._waiting: deque[int] = deque()  # those without a number
        self._completed: list[Transmission] = []
        self._heard = NOTHING  # what was acknowledged last
        self._idle_since: float | None = None
        self._pacing = Pacing(policy.retransmission.total_seconds())
        self._control = _Control()

    @property
    def interval(self) -> float:
        """Seconds, after which something is sent again."""
        return self._pacing.interval

    @property
    def outbound(self) -> Outbound:
        """The state as it is."""
        return Outbound(
            version=self._version,
            identifier=self._identifier,
            next=self._next,
            outstanding=tuple(self._outstanding.items()),
            is_ending=self._is_ending,
        )

    @property
    def is_at_rest(self) -> bool:
        """Is there neither a message nor a sequence, nor anything to write down?"""
        return self._identifier is None and not self._waiting and not self._completed and self.to_save() is None

    # Messages, and what is written down

    def expect(self, coming: Collection[int]) -> None:
        """Of the messages that were put in before a restart only these will be again: others have gone another way."""
        for message in self._absent.difference(coming):
            self.give_up(message)

    def put(self, message: int) -> None:
        """A message is to be sent after those that were put in before; or was given its number before a restart."""
        if message in self._present:
            return
        self._present.add(message)
        number = self._numbers.get(message)
        if number is None and message not in self._absent:
            self._waiting.append(message)
        elif number is not None and self._saved.identifier == self._identifier and number < self._saved.next:
            self._pacing.add(number, 0.0)
        self._absent.discard(message)

    def give_up(self, message: int) -> None:
        """A message is not to be sent any more. If it has a number, the sequence ends: a hole would hold it up."""
        self._present.discard(message)
        self._absent.discard(message)
        number = self._numbers.get(message)
        if number is not None:
            self._remove(number)
            self._is_ending = True
        elif message in self._waiting:
            self._waiting.remove(message)

    def finish(self) -> None:
        """End the sequence as soon as everything is acknowledged."""
        self._is_finishing = True

    def to_save(self) -> Outbound | None:
        """The state, if it is not the one that was written down."""
        found = self.outbound
        return None if found == self._saved else found

    def saved(self, outbound: Outbound) -> None:
        """A state was written down: what has a number in it can be sent."""
        before, self._saved = self._saved, outbound
        if outbound.identifier is None or outbound.identifier != self._identifier:
            return
        first = before.next if before.identifier == outbound.identifier else 1
        for number, message in outbound.outstanding:
            if number >= first and message in self._present:
                self._pacing.add(number, 0.0)

    def completed(self) -> list[Transmission]:
        """The messages that were acknowledged since this was asked the last time, as they could be sent again."""
        found, self._completed = self._completed, []
        return found

    # What is sent

    def due(self, now: float, most: int) -> list[Transmission]:
        """What is to be sent now, but not more than so much. It counts as sent."""
        self._prepare(now)
        kind = self._wanted(now)
        if most < 1 or (kind is not None and now < self._control.due):
            return []
        if kind is not None:
            return [self._controlling(kind, now)]
        if self._is_ending:
            return []  # until that is written down
        return [
            self._transmission(Kind.MESSAGE, number, self._outstanding[number], attempt)
            for number, attempt in self._pacing.take(now, most)
        ]

    def next_due(self) -> float | None:
        """When something is to be sent if nothing else happens; None if nothing is."""
        if self._control.kind is not None:
            return self._control.due
        if self._is_ending:
            return None
        ends = None if self._idle_since is None else self._idle_since + self._idle
        return min((time for time in (self._pacing.next_due(), ends) if time is not None), default=None)

    def _prepare(self, now: float) -> None:
        """Give numbers to messages, as far as the window allows; or begin to end what nobody has used for long."""
        if self._identifier is None or self._is_ending:
            self._idle_since = None
            return
        while self._waiting and len(self._outstanding) < self._window:
            message = self._waiting.popleft()
            self._outstanding[self._next], self._numbers[message] = message, self._next
            self._next += 1
        if self._outstanding:
            self._idle_since = None
            return
        self._idle_since = now if self._idle_since is None else self._idle_since
        self._is_ending = self._is_finishing or now - self._idle_since >= self._idle

    def _wanted(self, now: float) -> Kind | None:
        """What of the protocol has to be sent before messages can be."""
        kind = self._next_control()
        if kind is not self._control.kind:
            identity = "" if kind is None else self._identities()
            self._control = _Control(kind, identity, now + self._pause(kind))
        return kind

    def _pause(self, kind: Kind | None) -> float:
        """Seconds. What follows on an answer is due at once, unless sequences end again and again without a use."""
        if kind is Kind.CREATE and self._renewals > 1:
            return pause_after(self._renewals)
        return pause_after(self._pacing.failures)

    def _next_control(self) -> Kind | None:
        if self._identifier is None:
            return Kind.CREATE if self._waiting else None
        is_noted = self._saved.is_ending and self._saved.identifier == self._identifier
        if not self._is_ending or not is_noted:
            return None
        if self._outstanding or self._next == 1 or self._is_closed:
            return Kind.TERMINATE
        return Kind.LAST if self._version is RmVersion.RM_10 else Kind.CLOSE

    def _controlling(self, kind: Kind, now: float) -> Transmission:
        control = self._control
        control.attempts += 1
        control.due = now + again_after(self._pacing.interval, control.attempts)
        if kind is Kind.CREATE:
            version = self._policy.version
            return Transmission(kind=kind, version=version, identity=control.identity, attempt=control.attempts)
        if kind in (Kind.CLOSE, Kind.LAST) and control.attempts == _CLOSINGS:
            self._is_closed = True  # it is terminated without
        number = self._next if kind is Kind.LAST else self._next - 1 or None
        return self._transmission(kind, number, None, control.attempts, control.identity)

    def _transmission(
        self, kind: Kind, number: int | None, message: int | None, attempt: int, identity: str = ""
    ) -> Transmission:
        return Transmission(
            kind=kind,
            version=self._version,
            identifier=self._identifier or "",
            number=number,
            message=message,
            identity=identity,
            attempt=attempt,
        )

    # What comes of it

    def failed(self, sent: Transmission, now: float) -> None:
        """Something could not be sent, or nobody knows whether it was."""
        is_message = sent.kind is Kind.MESSAGE and self._is_current(sent)
        self._pacing.fail(now, sent.number if is_message else None, sent.attempt)
        if sent.kind is self._control.kind:
            self._control.due = now + pause_after(self._pacing.failures)
            self._end_in_vain()

    def answered(self, sent: Transmission, said: Answered, now: float) -> None:
        """Something was answered. Raises `ReliableFault` if that cannot be; nothing has happened then.

        What was refused may have failed, or has to be given up: whoever uses this knows, and says so after this.
        """
        was_current = self._is_current(sent)
        for each in said.acknowledgements:
            self._acknowledge(each, now)
        if said.is_refused:
            return
        is_over = said.fault is not None and said.fault.ends_sequence and sent.kind is not Kind.CREATE
        if said.fault is not None and not is_over:
            self.failed(sent, now)
            return
        self._pacing.succeed()
        if was_current and self._is_current(sent):
            self._go_on(sent, said, is_over, now)

    def _is_current(self, sent: Transmission) -> bool:
        return sent.kind is Kind.CREATE or sent.identifier == self._identifier

    def _go_on(self, sent: Transmission, said: Answered, is_over: bool, now: float) -> None:
        match sent.kind:
            case Kind.CREATE if said.created is None:
                self.failed(sent, now)
            case Kind.CREATE if self._identifier is None:
                self._identifier, self._version = said.created, self._policy.version
            case Kind.LAST if is_over or (sent.number or 0) in self._heard:
                self._is_closed = True
            case Kind.CLOSE:
                self._is_closed = True
            case Kind.TERMINATE:
                self._renew()
            case Kind.MESSAGE if is_over:
                self._renewals += 1
                self._renew()
            case Kind.MESSAGE if sent.number in self._outstanding:
                self._pacing.park(sent.number, now)

    @property
    def _last_sent(self) -> int:
        """The greatest number that can have been sent."""
        if self._saved.identifier != self._identifier:
            return 0
        has_last = self._saved.is_ending and self._version is RmVersion.RM_10  # which has the next number
        return self._saved.next if has_last else self._saved.next - 1

    def _acknowledge(self, given: Acknowledgement, now: float) -> None:
        if given.identifier != self._identifier:
            return  # of a sequence that is no more
        if given.received.last > self._last_sent:
            raise ReliableFault(
                FaultCode.INVALID_ACKNOWLEDGEMENT,
                f"message {given.received.last} is acknowledged, which was never sent",
                self._version,
                identifier=given.identifier,
            )
        if given.received != self._heard:
            self._heard = given.received
            for number in [number for number in self._outstanding if number in given.received]:
                self._renewals = 0
                self._completed.append(self._transmission(Kind.MESSAGE, number, self._outstanding[number], 2))
                self._present.discard(self._outstanding[number])
                self._remove(number)
            self._pacing.follow(given.received.first_missing, now)
        for number in given.missing:
            self._pacing.hurry(number, now)
        if given.is_final and self._outstanding:
            self._renew()

    def _remove(self, number: int) -> None:
        del self._numbers[self._outstanding.pop(number)]
        self._pacing.remove(number)

    def _renew(self) -> None:
        """There is no sequence any more. What is not acknowledged goes first into the next one."""
        self._waiting.extendleft(reversed(self._outstanding.values()))
        self._identifier, self._version, self._next = None, self._policy.version, 1
        self._outstanding.clear()
        self._numbers.clear()
        self._is_ending = self._is_closed = False
        self._heard = NOTHING
        self._pacing.clear()

    def _end_in_vain(self) -> None:
        """Nobody has to hear that a sequence ends: the other side forgets it some day by itself."""
        is_needed = self._outstanding or self._waiting
        if self._control.kind is not Kind.CREATE and self._control.attempts >= _ENDINGS and not is_needed:
            self._renew()
