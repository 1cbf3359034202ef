"""Messages that come as files in a folder, and that go out as files."""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Sequence, Set
from contextlib import closing, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote, urlsplit

from demaq.diagnostics import DemaqError
from demaq.engine.errors import printable
from demaq.files import write_whole
from demaq.gateways.json import JsonInvalid, json_to_xml
from demaq.gateways.parcel import Parcel, Undelivered
from demaq.gateways.threads import Threads
from demaq.logs import logger, tell

_LOG = logger("folders")
_EVERY = 0.5  # seconds between two looks into a folder
_STILL = 1.0  # seconds for which a file must not have changed
_ENDINGS = (".xml", ".json")
_AT_ONCE = 200  # files
_MOST_BYTES = 32 * 1024 * 1024  # of files that are read at once, and one more
_LONGEST_NAME = 255  # bytes, as file systems have it
_MOVERS = 4  # threads for each folder that is watched
_WRITERS = 32  # threads for files that go out
TAKEN, REFUSED = "taken", "refused"  # folders inside, for files that were
_MOVING = ".moving"  # a folder inside, for files on their way there: nobody else puts anything under their names


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that is a message: its document, and the key by which it is known if it should be taken again."""

    path: Path
    body: bytes | str
    key: str


_Identity = tuple[int, int, int, int]
"""What a file has of its own, whatever it is called: its device and number, when it was written, and its size."""


@dataclass(frozen=True, slots=True)
class _NoMessage:
    """Why a file is none, and of which kind the error is."""

    reason: str
    kind: str = "malformed"


@dataclass(frozen=True, slots=True)
class _Seen:
    """What was under a name."""

    path: Path
    identity: _Identity
    read: FoundFile | _NoMessage

    @property
    def key(self) -> str:
        return f"{self.path.name} {self.identity}" if isinstance(self.read, _NoMessage) else self.read.key


class LeftAlone(DemaqError):
    """A file is not taken in now. It stays where it is, and is found again."""


Take = Callable[[FoundFile], Awaitable[str | None]]
"""Takes a file in; why it is refused, if it is. Raises `LeftAlone`."""


Refuse = Callable[[str, str], Awaitable[None]]
"""Tells that a file is no message: of which kind the error is, and why."""


async def watch(
    folder: Path,
    take: Take,
    refuse: Refuse,
    is_stopping: Callable[[], bool],
    largest: int,
    longest: Callable[[], int],
) -> None:
    """Take in what is put into a folder. A file moves to `taken` after its commit, or to `refused` with the reason.

    What cannot be moved stays where it is, and is the same message when it is found again. What has come under the name
    of a file meanwhile is another one, and is taken in after it. Files have at most `largest` bytes, and messages
    `longest` characters.
    """
    watched = _Watched(folder, take, refuse, largest, longest)
    with closing(watched):
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

    def __init__(self, folder: Path, take: Take, refuse: Refuse, largest: int, longest: Callable[[], int]) -> None:
        self._folder = folder
        self._take = take
        self._refuse = refuse
        self._largest = largest
        self._longest = longest
        self._stuck: set[Path] = set()  # others go before
        self._refused: dict[str, str] = {}  # why, by their keys: it is told once
        self._threads = Threads(_MOVERS, "folder")

    def close(self) -> None:
        self._threads.close()

    async def turn(self) -> bool:
        """Take in the oldest files; are there more?"""
        paths, is_more = await self._threads.run(_still, self._folder, self._stuck, self._largest)
        found = await self._threads.run(_read_all, paths, self._largest, self._longest())
        await asyncio.gather(*(self._one(seen) for seen in found))  # they begin in this order
        return is_more

    async def _one(self, seen: _Seen) -> None:
        read = seen.read
        try:
            reason = await (self._no_message(seen, read) if isinstance(read, _NoMessage) else self._answer(read))
            await self._threads.run(_put_aside, seen, self._folder, reason)
        except LeftAlone:
            return
        except Exception as error:  # noqa: BLE001  # the others are taken in
            _complain(self._folder, error)
            self._stuck.add(seen.path)
            await asyncio.sleep(_EVERY)
        else:
            self._stuck.discard(seen.path)
            self._refused.pop(seen.key, None)

    async def _no_message(self, seen: _Seen, why: _NoMessage) -> str:
        if seen.key not in self._refused:
            await self._refuse(why.kind, f"{printable(seen.path.name)}: {why.reason}")
            self._refused[seen.key] = why.reason
        return why.reason

    async def _answer(self, read: FoundFile) -> str | None:
        reason = self._refused.get(read.key) or await self._take(read)
        if reason is not None:
            self._refused[read.key] = reason
        return reason


def _still(folder: Path, stuck: Set[Path], largest: int) -> tuple[list[Path], bool]:
    """Files that nobody writes any more, the oldest first, as many as are read at once; and whether there are more."""
    for name in (TAKEN, REFUSED, _MOVING):
        (folder / name).mkdir(parents=True, exist_ok=True)
    moving = _files(folder / _MOVING)  # by a node that has crashed, or what came too fast under the name of another
    names = {entry.name for entry in moving}
    before = time.time() - _STILL
    waiting = []
    for entry in (*moving, *(entry for entry in _files(folder) if entry.name not in names)):
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


def _files(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return [
            entry
            for entry in entries
            if not entry.name.startswith(".")
            and entry.name.lower().endswith(_ENDINGS)
            and entry.is_file(follow_symlinks=False)
        ]


def _complain(folder: Path, error: Exception) -> None:
    reason = error.strerror if isinstance(error, OSError) else type(error).__name__
    tell(_LOG, "folder not usable", level=logging.WARNING, folder=folder, reason=reason)


def _read_all(paths: Sequence[Path], largest: int, longest: int) -> list[_Seen]:
    """What is in files, or why that is no message. One that somebody takes away or writes meanwhile is left out."""
    found = []
    for path in paths:
        with suppress(FileNotFoundError):
            found.append(_read(path, largest, longest))
    return [seen for seen in found if seen is not None]


def _read(path: Path, largest: int, longest: int) -> _Seen | None:
    there = _identity(path.lstat())
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            data = file.read() if status.st_size <= largest else None
            is_written = _identity(os.fstat(file.fileno())) != _identity(status)
    except FileNotFoundError:
        raise
    except OSError as error:
        return _Seen(path, there, _NoMessage(f"the file cannot be read: {error.strerror}"))
    if is_written:
        return None
    if data is None:
        return _Seen(path, _identity(status), _NoMessage(f"this is larger than {largest:,} bytes"))
    return _Seen(path, _identity(status), _message(path, status.st_mtime_ns, data, longest))


def _message(path: Path, written: int, data: bytes, longest: int) -> FoundFile | _NoMessage:
    key = sha256(os.fsencode(path.name) + f" {written} ".encode() + data).hexdigest()
    try:
        return FoundFile(path, json_to_xml(data, longest) if path.suffix.lower() == ".json" else data, f"file {key}")
    except JsonInvalid as error:
        return _NoMessage(str(error), error.kind)


def _identity(status: os.stat_result) -> _Identity:
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def _put_aside(seen: _Seen, folder: Path, reason: str | None) -> None:
    """Move a file to those that are done. What is under its name by now, but is another file, is found again."""
    if not _is_there(seen.path, seen.identity):
        return
    ours = folder / _MOVING / seen.path.name
    if seen.path != ours:
        seen.path.rename(ours)
        if not _is_there(ours, seen.identity):
            return  # it has come since we looked
    _move(ours, folder, reason)


def _is_there(path: Path, identity: _Identity) -> bool:
    try:
        return _identity(path.lstat()) == identity
    except FileNotFoundError:
        return False


def _move(path: Path, folder: Path, reason: str | None) -> None:
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


class FileTransport(Threads):
    """Writes messages into folders."""

    def __init__(self) -> None:
        super().__init__(_WRITERS, "files")

    async def send(self, parcel: Parcel) -> None:
        """Write a message: whole or not at all, and the same file if it is written again. Raises `Undelivered`."""
        await self.run(_write, parcel)


def _write(parcel: Parcel) -> None:
    folder = Path(unquote(urlsplit(parcel.to).path))
    name = f"{parcel.message.id:012d}-{parcel.identity.rpartition(':')[2][:8]}.xml"
    try:
        write_whole(folder / name, parcel.message.body.encode())
    except OSError as error:
        raise Undelivered("disconnectedTransport", f"{folder} cannot be written to: {error.strerror}") from error
