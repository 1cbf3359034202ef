"""Groups of endpoints, each tried on a node of its own, and what is looked at when a group is done."""

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fuzz import posting, samples
from fuzz.describing import schemathesis
from fuzz.filing import Clerk
from fuzz.mailing import Sender
from fuzz.node import Fuzzed, Memory, running
from fuzz.posting import Caller, Sequences
from fuzz.tally import Tally

_SENDERS = 6  # at the same time
_ANYWHERE = 0.03  # of what is posted goes to some other path
_MOST_GROWTH = 30.0  # MB that the node may have more at the end than after a third of the time, if that was minutes
_MOST_WORKERS = 700.0  # MB: one is replaced at 512, between two batches
_TOKEN = re.compile(r"token-\d+")
_UNTOLD = ("reliable", "reliable10")  # gateways that acknowledge by other numbers than ids
Sending = Callable[[Fuzzed, Tally, Random, Callable[[], bool]], None]


@dataclass(frozen=True, slots=True)
class Report:
    group: str
    tally: Tally
    before: Memory  # after a third of the time
    after: Memory

    @property
    def problems(self) -> list[str]:
        return self.tally.problems


def _posting(send: Callable[[Caller, Random], None]) -> Sending:
    def sending(node: Fuzzed, tally: Tally, chance: Random, is_over: Callable[[], bool]) -> None:
        with closing(Caller(node, tally, chance)) as caller:
            while not is_over():
                (posting.anywhere if chance.random() < _ANYWHERE else send)(caller, chance)

    return sending


def _in_sequences(node: Fuzzed, tally: Tally, chance: Random, is_over: Callable[[], bool]) -> None:
    _posting(Sequences(tally, chance).send)(node, tally, chance, is_over)


def _mailing(node: Fuzzed, tally: Tally, chance: Random, is_over: Callable[[], bool]) -> None:
    with closing(Sender(node, tally, chance)) as sender:
        while not is_over():
            sender.send()


def _filing(node: Fuzzed, tally: Tally, chance: Random, is_over: Callable[[], bool]) -> None:
    with closing(Clerk(node, tally, chance)) as clerk:
        while not is_over():
            clerk.send()


GROUPS: Mapping[str, tuple[int, Sending]] = {
    "xml": (_SENDERS, _posting(posting.xml)),
    "json": (_SENDERS, _posting(posting.json_text)),
    "soap": (_SENDERS, _posting(posting.soap)),
    "reliable": (_SENDERS, _in_sequences),
    "secure": (_SENDERS, _posting(posting.secured)),
    "mail": (_SENDERS, _mailing),
    "folder": (1, _filing),
    "archives": (1, _posting(posting.archive)),
}
"""How many send, and what; `rest`, the REST API, is tried by Schemathesis."""
NAMES = ("rest", *GROUPS)


def tried(
    group: str,
    folder: Path,
    seconds: float,
    seed: int,
    examples: int | None = None,
    growth: float = _MOST_GROWTH,
) -> Report:
    """Try a group for so long. `examples` makes Schemathesis stop after so many for each operation."""
    tally = Tally()
    folder.mkdir(parents=True)
    with running(folder) as node:
        warm = seconds / 3
        _try(group, node, tally, warm, seed, examples)
        before = node.memory()
        if examples is None or group != "rest":
            _try(group, node, tally, seconds - warm, seed + 1000, examples)
        after = node.memory()
        _look(node, tally)
        for complaint in node.complaints():
            tally.wrong(complaint)
        node.stop()
        _compare(node, tally)
    if after.node > before.node + growth or after.workers > _MOST_WORKERS:
        tally.wrong(f"the node grew from {before} to {after}")
    return Report(group, tally, before, after)


def _try(group: str, node: Fuzzed, tally: Tally, seconds: float, seed: int, examples: int | None) -> None:
    if group == "rest":
        _fill(node, tally)
        schemathesis(node, tally, seed, seconds, examples)
        return
    number, sending = GROUPS[group]
    deadline = time.monotonic() + seconds

    def is_over() -> bool:
        return time.monotonic() > deadline or node.process.poll() is not None

    def run(own: int) -> None:
        try:
            sending(node, tally, Random(f"{group} {seed} {own}"), is_over)
        except Exception as error:  # noqa: BLE001  # it is told at the end
            tally.wrong(f"{group}: whoever sent has failed: {error!r}")

    threads = [threading.Thread(target=run, args=(own,)) for own in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _fill(node: Fuzzed, tally: Tally) -> None:
    """Messages, slices, timers and errors that can be asked for."""
    with closing(Caller(node, tally, Random(0))) as caller:
        for text in samples.ORDERS * 3:
            answer = caller.send("POST", "/gateways/orders", {"Content-Type": "application/xml"}, text.encode())
            if answer is not None:
                tally.taken_in(answer)


def _look(node: Fuzzed, tally: Tally) -> None:
    """Does it still take messages?"""
    with closing(Caller(node, tally, Random(0))) as caller:
        for path in ("/health", "/ready", "/api/status", "/metrics"):
            answer = caller.send("GET", path, {}, b"")
            if answer is None or answer.status != 200:
                tally.wrong(f"{path} answers {answer}")
        media = {"Content-Type": "application/xml"}
        answer = caller.send("POST", "/gateways/orders", media, b"<order><customer>last</customer></order>")
        if answer is None or answer.status != 202:
            tally.wrong(f"at the end, a message that is right is answered with {answer}")
        else:
            tally.taken_in(answer)


def _compare(node: Fuzzed, tally: Tally) -> None:
    """What was accepted is in the store, once, and nothing else is."""
    messages = {message.id: message for message in node.arrived()}
    causes = node.causes(tally.replies)
    accepted = {*tally.accepted, *causes.values()}
    lost = accepted - messages.keys()
    if lost or len(causes) != len(tally.replies):
        tally.wrong(f"{len(lost)} messages that were accepted are not there, such as {sorted(lost)[:3]}")
    more = [one for one in messages.values() if one.id not in accepted and one.queue not in (*_UNTOLD, "files")]
    if more:
        tally.wrong(f"{len(more)} messages are there that nobody was told of, such as {more[0].id} in {more[0].queue}")
    files = sum(one.queue == "files" for one in messages.values())
    if files != tally.taken:
        tally.wrong(f"{tally.taken} files were taken, but {files} messages are there")
    found = Counter(token for one in messages.values() for token in _TOKEN.findall(one.body))
    wrong = [token for token in tally.tokens if found[token] != 1]
    if wrong:
        tally.wrong(f"{len(wrong)} acknowledged messages are not there once: {wrong[0]} {found[wrong[0]]} times")
