"""Services that a stream asks again and again: what they answer is kept in files, which the stream finds."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

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
        known: dict[str, Any] = {"number": 0}
        if self._state.exists():
            known = json.loads(self._state.read_text(encoding="utf-8"))
        found = fetch(self._endpoint, known.get("tag"))
        digest = None if found is None else hashlib.sha256(found.document).hexdigest()
        if found is None or digest == known.get("digest"):
            return False
        number = known["number"] + 1
        _write(self.folder / f"{number:09d}", found.document)
        _write(self._state, json.dumps({"number": number, "tag": found.tag, "digest": digest}).encode())
        return True


def _write(path: Path, content: bytes) -> None:
    """All of it, or nothing. A number that is used again after a crash has the same document, or a later one."""
    temporary = path.with_name(f".{path.name}")
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
