"""What was tried, what was answered, and what was wrong with that."""

import json
import threading
from collections import Counter
from dataclasses import dataclass, field

from lxml import etree

from demaq.gateways.soap.envelope import Version, read_envelope, read_fault

INSIDE = "something is wrong inside the node"
_NUMBER = "demaq-message"  # the header with an id
_NO_HTTP = b"Invalid HTTP request received."  # the server, about what is no request
_MOST = 20  # problems that are told
_FAILED = 502  # the application failed, as the problem says: that is no failure of the node
_SHOWN = 300  # characters of what was sent


@dataclass(slots=True)
class Tally:
    """Of one group of endpoints; several threads add to it.

    `accepted` are the ids that senders were told, `replies` those of replies that they were given instead, and `tokens`
    texts of which the node has said that it has them.
    """

    requests: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    accepted: Counter[int] = field(default_factory=Counter)
    replies: set[int] = field(default_factory=set)
    tokens: set[str] = field(default_factory=set)
    taken: int = 0  # files
    problems: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, status: int | str, seconds: float) -> None:
        with self._lock:
            self.requests += 1
            self.statuses[str(status)] += 1
            self.slowest = max(self.slowest, seconds)

    def accept(self, number: int) -> None:
        with self._lock:
            self.accepted[number] += 1

    def reply(self, number: int) -> None:
        with self._lock:
            self.replies.add(number)

    def taken_in(self, answer: "Answer") -> None:
        """Note what an answer of a gateway says was accepted."""
        if answer.status == 202 and answer.media == "application/json":
            self.accept(json.loads(answer.body)["id"])
        elif answer.status in (202, _FAILED) and _NUMBER in answer.headers:
            self.accept(int(answer.headers[_NUMBER]))
        elif answer.status == 200 and _NUMBER in answer.headers:
            self.reply(int(answer.headers[_NUMBER]))

    def wrong(self, what: str, sent: object = "") -> None:
        """Something is not as it should be; what was sent shows how to come there again."""
        with self._lock:
            if len(self.problems) < _MOST:
                self.problems.append(f"{what}; sent: {str(sent)[:_SHOWN]}" if sent else what)


@dataclass(frozen=True, slots=True)
class Answer:
    """Of HTTP."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def media(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0]


def complaint(answer: Answer) -> str | None:
    """What is wrong with an answer. A refusal says why, and no failure is the node's own."""
    if INSIDE.encode() in answer.body or b"Traceback" in answer.body:
        return f"the node failed: {answer.body[:_SHOWN]!r}"
    if answer.status < 400:
        return None
    if answer.media in [version.media_type for version in Version]:
        return _complaint_of_fault(answer)
    if answer.status >= 500 and answer.status != _FAILED:
        return f"status {answer.status}: {answer.body[:_SHOWN]!r}"
    if answer.status == 400 and answer.body == _NO_HTTP:
        return None
    if answer.media != "application/problem+json":
        return f"a refusal as {answer.media}: {answer.body[:_SHOWN]!r}"
    try:
        found = json.loads(answer.body)
    except ValueError:
        return f"a refusal that cannot be read: {answer.body[:_SHOWN]!r}"
    return (
        None
        if found.get("detail") and found.get("status") == answer.status
        else f"a refusal that says nothing: {found}"
    )


def _complaint_of_fault(answer: Answer) -> str | None:
    """Faults have the status 500 in SOAP 1.1, whosever they are, and in 1.2 if they are not the sender's."""
    try:
        found = read_envelope(etree.fromstring(answer.body))
        code, reason = read_fault(found) if found.is_fault else ("", "")
    except Exception as error:  # noqa: BLE001  # whatever is wrong with it
        return f"a fault that cannot be read, {error!r}: {answer.body[:_SHOWN]!r}"
    if not code or not reason:
        return f"a fault that says nothing: {answer.body[:_SHOWN]!r}"
    if answer.media != found.version.media_type:
        return f"a fault of {found.version.name} as {answer.media}"
    if answer.status not in (400, 500) or (code in ("Receiver", "Server") and answer.status == 400):
        return f"a fault with status {answer.status}: {code}, {reason}"
    return None
