"""Messages that come as files in a folder, and that go out as files."""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Sequence, Set
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote, urlsplit

from demaq.diagnostics import DemaqError
from demaq.engine.errors import printable
from demaq.files import write_whole
from demaq.gateways.json import JsonInvalid, json_to_xml
from demaq.gateways.parcel import Parcel, Undelivered
from demaq.logs import logger, tell

_LOG = logger("folders")
_EVERY = 0.5  # seconds between two looks into a folder
_STILL = 1.0  # seconds for which a file must not have changed
_ENDINGS = (".xml", ".json")
_AT_ONCE = 200  # files
_MOST_BYTES = 32 * 1024 * 1024  # of files that are read at once, and one more
_LONGEST_NAME = 255  # bytes, as file systems have it
TAKEN, REFUSED = "taken", "refused"  # folders inside, for files that were


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that is a message: its document, and the key by which it is known if it should be taken again."""

    path: Path
    body: bytes | str
    key: str


class LeftAlone(DemaqError):
    """A file is not taken in now. It stays where it is, and is found again."""


Take = Callable[[FoundFile], Awaitable[str | None]]
"""Takes a file in; why it is refused, if it is. Raises `LeftAlone`."""


Refuse = Callable[[str, str], Awaitable[None]]
"""Tells that a file is no message: of which kind the error is, and why."""


async def watch(folder: Path, take: Take, refuse: Refuse, is_stopping: Callable[[], bool], largest: int) -> None:
    """Take in what is put into a folder. A file moves to `taken` after its commit, or to `refused` with the reason.

    What cannot be moved stays where it is, and is the same message when it is found again.
    """
    watched = _Watched(folder, take, refuse, largest)
    while not is_stopping():
        try:
            is_more = await watched.turn()
        except Exception as error:  # noqa: BLE001  # whatever it is, the files after it are taken in
            _complain(folder, error)
            is_more = False
        if not is_more:
            await asyncio.sleep(_EVERY)


class _Watched:
    """A folder, and what is known of the files that could not be moved."""

    def __init__(self, folder: Path, take: Take, refuse: Refuse, largest: int) -> None:
        self._folder = folder
        self._take = take
        self._refuse = refuse
        self._largest = largest
        self._stuck: set[Path] = set()  # others go before
        self._refused: dict[str, str] = {}  # why, by their keys: it is told once

    async def turn(self) -> bool:
        """Take in the oldest files; are there more?"""
        paths, is_more = await asyncio.to_thread(_still, self._folder, self._stuck, self._largest)
        found = await asyncio.to_thread(_read_all, paths, self._largest)
        await asyncio.gather(*(self._one(path, read) for path, read in found))  # they begin in this order
        return is_more

    async def _one(self, path: Path, read: FoundFile | str) -> None:
        try:
            reason = await (self._no_message(path, read) if isinstance(read, str) else self._answer(read))
            await asyncio.to_thread(_put_aside, path, self._folder, reason)
        except LeftAlone:
            return
        except Exception as error:  # noqa: BLE001  # the others are taken in
            _complain(self._folder, error)
            self._stuck.add(path)
            await asyncio.sleep(_EVERY)
        else:
            self._stuck.discard(path)
            self._refused.pop(str(path) if isinstance(read, str) else read.key, None)

    async def _no_message(self, path: Path, reason: str) -> str:
        if str(path) not in self._refused:
            await self._refuse("malformed", f"{printable(path.name)}: {reason}")
            self._refused[str(path)] = reason
        return reason

    async def _answer(self, read: FoundFile) -> str | None:
        reason = self._refused.get(read.key) or await self._take(read)
        if reason is not None:
            self._refused[read.key] = reason
        return reason


def _still(folder: Path, stuck: Set[Path], largest: int) -> tuple[list[Path], bool]:
    """Files that nobody writes any more, the oldest first, as many as are read at once; and whether there are more."""
    for name in (TAKEN, REFUSED):
        (folder / name).mkdir(parents=True, exist_ok=True)
    before = time.time() - _STILL
    waiting = []
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name.startswith(".") or not name.lower().endswith(_ENDINGS) or not entry.is_file(follow_symlinks=False):
                continue
            status = entry.stat(follow_symlinks=False)
            if status.st_mtime <= before:
                path = Path(entry.path)
                waiting.append((path in stuck, status.st_mtime, path, status.st_size))
    found: list[Path] = []
    size = 0
    for _, _, path, bytes_ in sorted(waiting):
        if len(found) == _AT_ONCE or size > _MOST_BYTES:
            return found, True
        found.append(path)
        size += bytes_ if bytes_ <= largest else 0  # which is not read
    return found, False


def _complain(folder: Path, error: Exception) -> None:
    reason = error.strerror if isinstance(error, OSError) else type(error).__name__
    tell(_LOG, "folder not usable", level=logging.WARNING, folder=folder, reason=reason)


def _read_all(paths: Sequence[Path], largest: int) -> list[tuple[Path, FoundFile | str]]:
    """What is in files, or why that is no message. One that somebody has taken away meanwhile is left out."""
    found: list[tuple[Path, FoundFile | str]] = []
    for path in paths:
        try:
            found.append((path, _read(path, largest)))
        except JsonInvalid as error:
            found.append((path, str(error)))
        except FileNotFoundError:
            continue
        except OSError as error:
            found.append((path, f"the file cannot be read: {error.strerror}"))
    return found


def _read(path: Path, largest: int) -> FoundFile | str:
    status = path.stat()
    if status.st_size > largest:
        return f"this is larger than {largest:,} bytes"
    data = path.read_bytes()
    key = sha256(os.fsencode(path.name) + f" {status.st_mtime_ns} ".encode() + data).hexdigest()
    body = json_to_xml(data) if path.suffix.lower() == ".json" else data
    return FoundFile(path, body, f"file {key}")


def _put_aside(path: Path, folder: Path, reason: str | None) -> None:
    inside = folder / (TAKEN if reason is None else REFUSED)
    place = inside / path.name
    number = 1
    while place.exists():
        number += 1
        place = inside / _fitting(path.stem, f"-{number}{path.suffix}")
    path.rename(place)
    if reason is not None:
        beside = inside / _fitting(place.name, ".reason.txt")
        beside.write_text(f"{reason}\n", encoding="utf-8", errors="replace")


def _fitting(name: str, ending: str) -> str:
    """A name with this ending, cut if it would be too long for a file.

    >>> _fitting("order", "-2.xml"), len(_fitting("x" * 255, "-2.xml"))
    ('order-2.xml', 255)
    """
    return os.fsdecode(os.fsencode(name)[: _LONGEST_NAME - len(ending.encode())]) + ending


async def send_file(parcel: Parcel) -> None:
    """Write a message into a folder: whole or not at all, and the same file if it is written again."""
    folder = Path(unquote(urlsplit(parcel.to).path))
    name = f"{parcel.message.id:012d}-{parcel.identity.rpartition(':')[2][:8]}.xml"
    try:
        await asyncio.to_thread(write_whole, folder / name, parcel.message.body.encode())
    except OSError as error:
        raise Undelivered("disconnectedTransport", f"{folder} cannot be written to: {error.strerror}") from error
