"""The letters that somebody still works on, and what becomes of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from demaq.gateways.parcel import Undelivered
from demaq.gateways.reliable.letters import Letter, Reply
from demaq.gateways.reliable.transmission import Transmission

_ASKED_AGAIN = 5  # times, for the answer to a message that has arrived


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A message that is no longer to be sent: it has arrived, with an answer or without; or it has failed."""

    message: int
    answer: bytes | None = None
    failure: Undelivered | None = None


@dataclass(slots=True)
class _Question:
    """A message that has arrived, and whose answer was lost."""

    sent: Transmission
    due: float
    times: int = 0


@dataclass(slots=True)
class Desk:
    """A letter is finished when its message has arrived, and its answer has if it wants one; or when it has failed."""

    letters: dict[int, Letter] = field(default_factory=dict)
    finished: list[Finished] = field(default_factory=list)
    _deadlines: list[tuple[float, int]] = field(default_factory=list)
    _early: set[int] = field(default_factory=set)  # messages that had arrived before their letters were here
    _said: dict[int, Finished] = field(default_factory=dict)  # what was answered to messages that may have arrived
    _questions: dict[int, _Question] = field(default_factory=dict)

    def put(self, letter: Letter) -> bool:
        """A letter is to be sent, unless its message has arrived."""
        if letter.message in self._early:
            self._early.discard(letter.message)
            return False
        self.letters[letter.message] = letter
        heappush(self._deadlines, (letter.give_up_at, letter.message))
        return True

    def note_reply(self, sent: Transmission, reply: Reply, arrived: Sequence[Transmission], now: float) -> None:
        """What was answered to something, by which these messages are known to have arrived."""
        message = sent.message
        if message is not None and message in self.letters:
            has_arrived = message in self._questions or any(each.message == message for each in arrived)
            if reply.failure is not None and reply.answered.is_refused and has_arrived:
                self._said[message] = Finished(message=message, failure=reply.failure)
            elif reply.body is not None:
                self._said[message] = Finished(message=message, answer=reply.body)
            if message in self._questions and message in self._said:
                self.finish(self._said[message])
        self.note_arrived(arrived, now)

    def note_arrived(self, arrived: Iterable[Transmission], now: float) -> None:
        for sent in arrived:
            message = sent.message
            assert message is not None
            letter = self.letters.get(message)
            if letter is None:
                self._early.add(message)
                self.finished.append(Finished(message=message))
            elif letter.wants_answer and message not in self._said:
                self._questions[message] = _Question(sent, now)
            else:
                self.finish(self._said.get(message) or Finished(message=message))

    def finish(self, finished: Finished) -> None:
        message = finished.message
        del self.letters[message]
        self._said.pop(message, None)
        self._questions.pop(message, None)
        self.finished.append(finished)

    def overdue(self, now: float) -> list[int]:
        """The messages that are not to be tried any longer."""
        found = []
        while self._deadlines and (self._deadlines[0][0] <= now or self._deadlines[0][1] not in self.letters):
            _, message = heappop(self._deadlines)
            if message in self.letters:
                found.append(message)
        return found

    def to_ask(self, now: float, pause: float, under_way: set[int]) -> list[Transmission]:
        """What is sent again, though it has arrived, for the sake of its answer. After some times that is given up."""
        found = []
        for message, question in list(self._questions.items()):
            if question.due > now:
                continue
            if message in under_way:
                question.due = now + pause
            elif question.times == _ASKED_AGAIN:
                self.finish(Finished(message=message))
            else:
                question.times += 1
                question.due = now + pause
                found.append(question.sent)
        return found

    def has_arrived(self, message: int) -> bool:
        return message in self._questions

    def next_due(self) -> float | None:
        times = [question.due for question in self._questions.values()]
        times += [self._deadlines[0][0]] if self._deadlines else []
        return min(times, default=None)
