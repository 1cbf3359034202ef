"""Bad input as files."""

import os
import time
from pathlib import Path
from random import Random

from fuzz import samples
from fuzz.node import Fuzzed
from fuzz.spoiling import spoiled, spoiled_bytes
from fuzz.tally import Tally

_AT_ONCE = 100
_REASON, _LONGEST = ".reason.txt", 255
_SLOW = 60.0  # seconds that they may take
_NAMES = (
    b"a b",
    "é".encode(),
    b"\xff\xfe",
    b"x" * 240,
    b"\x01\n",
    b"-",
    b"%s",
    b"<a>",
    b"a.xml",
    "\U0001f600".encode(),
)


class Clerk:
    """Puts files into the folder, and looks what became of them."""

    def __init__(self, node: Fuzzed, tally: Tally, chance: Random) -> None:
        self._folder = os.fsencode(node.incoming)
        self._incoming = node.incoming
        self._incoming.mkdir(parents=True, exist_ok=True)  # the node may not have looked at it yet
        self._tally = tally
        self._chance = chance
        self._count = 0
        self._before = len(self._aside("taken")), len(self._aside("refused"))

    def send(self) -> None:
        """So many files at once; they are gone when they were looked at."""
        began = time.monotonic()
        for _ in range(_AT_ONCE):
            self._write()
        while self._left() and time.monotonic() < began + _SLOW:
            time.sleep(0.1)
        took = time.monotonic() - began
        for _ in range(_AT_ONCE):
            self._tally.note("looked at", took)
        left = self._left()
        if left:
            self._tally.wrong(f"{len(left)} files were left alone, such as {left[0]!r}")
            for name in left:
                (self._incoming / name).unlink(missing_ok=True)

    def _write(self) -> None:
        self._count += 1
        is_json = self._chance.random() < 0.3
        if is_json:
            data = spoiled_bytes(self._chance, self._chance.choice(samples.JSON).encode())
        else:
            documents = (*samples.ORDERS, *samples.ENVELOPES)
            data = spoiled(self._chance, self._chance.choice(documents), documents)
        name = b"%d-" % self._count + (self._chance.choice(_NAMES) if self._chance.random() < 0.2 else b"file")
        path = os.path.join(self._folder, name + (b".json" if is_json else b".xml"))
        hidden = os.path.join(self._folder, b".%d" % self._count)
        with open(hidden, "wb") as file:
            file.write(data)
        os.utime(hidden, (0, self._chance.randrange(1, 10**9)))
        os.rename(hidden, path)

    def _left(self) -> list[str]:
        return [each.name for each in self._incoming.iterdir() if each.is_file()]

    def _aside(self, name: str) -> list[Path]:
        folder = self._incoming / name
        return [path for path in folder.iterdir() if not path.name.endswith(_REASON)] if folder.exists() else []

    def close(self) -> None:
        """At the end every file is on one side, and what was refused has a reason."""
        taken, refused = self._aside("taken"), self._aside("refused")
        new = len(taken) - self._before[0], len(refused) - self._before[1]
        if sum(new) != self._count:
            self._tally.wrong(f"{new[0]} files were taken and {new[1]} refused, of {self._count}")
        silent = [path for path in refused if not _reason(path).strip()]
        if silent:
            self._tally.wrong(f"{len(silent)} files were refused without a reason, such as {silent[0].name!r}")
        self._tally.taken = len(taken)
        self._tally.statuses.update({"taken": new[0], "refused": new[1]})
        del self._tally.statuses["looked at"]


def _reason(path: Path) -> str:
    name = os.fsencode(path.name)[: _LONGEST - len(_REASON)]
    reason = path.with_name(os.fsdecode(name) + _REASON)
    return reason.read_text(encoding="utf-8") if reason.exists() else ""
