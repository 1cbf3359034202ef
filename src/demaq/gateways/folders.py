"""Messages that come as files in a folder, and that go out as files."""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote, urlsplit

from demaq.files import write_whole
from demaq.gateways.json import JsonInvalid, json_to_xml
from demaq.gateways.parcel import Parcel, Undelivered
from demaq.logs import logger, tell

_LOG = logger("folders")
_EVERY = 0.5  # seconds between two looks into a folder
_STILL = 1.0  # seconds for which a file must not have changed
_ENDINGS = (".xml", ".json")
_AT_ONCE = 200  # files
_LONGEST_NAME = 255  # bytes, as file systems have it
TAKEN, REFUSED = "taken", "refused"  # folders inside, for files that were


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that is a message: its document, and the key by which it is known if it should be taken again."""

    path: Path
    body: bytes | str
    key: str


Take = Callable[[FoundFile], Awaitable[str | None]]
"""Takes a file in; why it is refused, if it is."""


async def watch(folder: Path, take: Take, is_stopping: Callable[[], bool], largest: int) -> None:
    """Take in what is put into a folder. A file moves to `taken` after its commit, or to `refused` with the reason.

    What cannot be moved stays where it is, and is the same message when it is found again.
    """
    while not is_stopping():
        try:
            paths = await asyncio.to_thread(_still, folder)
        except OSError as error:
            _complain(folder, error)
            paths = []
        found = await asyncio.to_thread(_read_all, paths, largest)
        await asyncio.gather(*(_one(path, read, folder, take) for path, read in found))  # they begin in this order
        if len(paths) < _AT_ONCE:
            await asyncio.sleep(_EVERY)


def _still(folder: Path) -> list[Path]:
    """Files that nobody writes any more, the oldest first."""
    for name in (TAKEN, REFUSED):
        (folder / name).mkdir(parents=True, exist_ok=True)
    before = time.time() - _STILL
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name.startswith(".") or not name.lower().endswith(_ENDINGS) or not entry.is_file(follow_symlinks=False):
                continue
            changed = entry.stat(follow_symlinks=False).st_mtime
            if changed <= before:
                found.append((changed, Path(entry.path)))
    return [path for _, path in sorted(found)[:_AT_ONCE]]


async def _one(path: Path, read: FoundFile | str, folder: Path, take: Take) -> None:
    reason = read if isinstance(read, str) else await take(read)
    try:
        await asyncio.to_thread(_put_aside, path, folder, reason)
    except OSError as error:
        _complain(folder, error)
        await asyncio.sleep(_EVERY)


def _complain(folder: Path, error: OSError) -> None:
    tell(_LOG, "folder not usable", level=logging.WARNING, folder=folder, reason=error.strerror)


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
