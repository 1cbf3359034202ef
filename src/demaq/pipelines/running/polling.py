"""Services that a stream asks again and again: what they answer is kept in files, which the stream finds."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from demaq.files import write_whole
from demaq.pipelines.program import Endpoint
from demaq.pipelines.running.http import fetch

EVERY = 60.0
"""Seconds between two times, if nothing else is said."""


class Polled:
    """The folder for what one service answers. A document that is the same as the one before is not kept again."""

    def __init__(self, endpoint: Endpoint, folder: Path) -> None:
        self._endpoint = endpoint
        self.folder = folder
        self._state = folder.with_suffix(".json")
        folder.mkdir(parents=True, exist_ok=True)

    def poll(self) -> bool:
        """Ask the service; whether it had something new."""
        known = self._known()
        found = fetch(self._endpoint, known.get("tag"))
        digest = None if found is None else _digest(found.document)
        if found is None or digest == known.get("digest"):
            return False
        number = known["number"] + 1
        write_whole(self.folder / f"{number:09d}", found.document)
        write_whole(self._state, json.dumps({"number": number, "tag": found.tag, "digest": digest}).encode())
        return True

    def forget(self, names: Sequence[str]) -> list[str]:
        """Remove documents that nobody will read again; which of them have to stay for now.

        The number of a document is never given again, or a stream would think that it has had it. So it stays until
        its number is noted.
        """
        noted = json.loads(self._state.read_text(encoding="utf-8"))["number"] if self._state.exists() else 0
        for name in names:
            if int(name) <= noted:
                (self.folder / name).unlink(missing_ok=True)
        return [name for name in names if int(name) > noted]

    def _known(self) -> dict[str, Any]:
        """What is known of the last document. If that was kept, and then something crashed, the file itself tells."""
        known: dict[str, Any] = {"number": 0}
        if self._state.exists():
            known = json.loads(self._state.read_text(encoding="utf-8"))
        last = max(self.folder.glob("[0-9]*"), default=None)
        if last is not None and int(last.name) > known["number"]:
            return {"number": int(last.name), "digest": _digest(last.read_bytes())}
        return known


def _digest(document: bytes) -> str:
    return hashlib.sha256(document).hexdigest()
