"""Which messages are with lanes, and which ones wait until there is room for them; in the thread of the node.

A lane gets a few messages at first, and more as it has sent more. So a destination that takes nothing has few of them
in memory, however many wait for it, and no other waits for it. Of what is behind those few, only the ids are known.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

_FEW = 20  # messages that a lane may have in any case
_MANY = 1_000  # that it may have if it sends them
_ALL = 5_000  # that are with lanes; if there are as many, each gets only few

Key = tuple[str, str]
"""Of a lane: a queue, and where its messages go."""


@dataclass(slots=True)
class _Line:
    """Before one lane, and on it."""

    inside: int = 0
    sent: int = 0  # since somebody began to stand here
    behind: deque[int] = field(default_factory=deque)


class Backlog:
    """Messages for one lane enter it in the order in which they come here."""

    def __init__(self) -> None:
        self._lines: dict[Key, _Line] = {}  # without those where nobody is
        self._inside: dict[int, Key] = {}
        self._free: dict[Key, None] = {}  # lanes that may have room for those behind, in the order in which they got it

    def __contains__(self, message: int) -> bool:
        """Is it with its lane?"""
        return message in self._inside

    def __len__(self) -> int:
        """How many messages are with lanes."""
        return len(self._inside)

    def is_used(self, key: Key) -> bool:
        return key in self._lines

    def behind(self, key: Key) -> int:
        """How many messages wait for room on a lane. Any thread may ask."""
        line = self._lines.get(key)
        return 0 if line is None else len(line.behind)

    def enter(self, key: Key, message: int, *, is_due: bool = False) -> bool:
        """Whether a message goes on its lane now, as one that is due does in any case; else its id is remembered."""
        line = self._lines.setdefault(key, _Line())
        if not is_due and (line.behind or line.inside >= self._limit(line)):
            line.behind.append(message)
            return False
        line.inside += 1
        self._inside[message] = key
        return True

    def leave(self, message: int, *, is_sent: bool) -> None:
        """Something has become of a message."""
        key = self._inside.pop(message, None)
        if key is None:
            return
        line = self._lines[key]
        line.inside -= 1
        line.sent += is_sent
        if line.behind:
            self._free[key] = None
        elif not line.inside:
            del self._lines[key]
            self._free.pop(key, None)

    def due(self, most: int) -> dict[Key, Sequence[int]]:
        """The ids of messages for which there is room now, on each lane; they are the first that stand behind.

        They stay where they are until they are called: whoever asks has to read them before, which can fail.
        """
        found: dict[Key, Sequence[int]] = {}
        for key in list(self._free):
            if most <= 0:
                break
            line = self._lines[key]
            room = self._limit(line) - line.inside
            if line.behind and room >= line.inside:  # it is half empty: messages are not read one by one
                found[key] = list(islice(line.behind, min(room, most)))
                most -= len(found[key])
            else:
                self._look_away(key, line)
        return found

    def _look_away(self, key: Key, line: _Line) -> None:
        """From a lane without room, until the next message leaves it; or on which nobody is."""
        del self._free[key]
        if not line.behind and not line.inside:
            del self._lines[key]

    def call(self, due: Mapping[Key, Sequence[int]]) -> None:
        """Those that were due stand behind no longer, whether they enter or not."""
        for key, ids in due.items():
            for _ in ids:
                self._lines[key].behind.popleft()

    def forget(self) -> None:
        """All that stand behind will come again, perhaps for other lanes."""
        self._free.clear()
        self._lines = {key: line for key, line in self._lines.items() if line.inside}
        for line in self._lines.values():
            line.behind.clear()

    def _limit(self, line: _Line) -> int:
        return _FEW if len(self._inside) >= _ALL else min(_FEW + 2 * line.sent, _MANY)
