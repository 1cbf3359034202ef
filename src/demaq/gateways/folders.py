"""Messages that come as files in a folder, and that go out as files."""

import asyncio
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

_EVERY = 0.5  # seconds between two looks into a folder
_STILL = 1.0  # seconds for which a file must not have changed
_ENDINGS = (".xml", ".json")
_AT_ONCE = 200  # files
TAKEN, REFUSED = "taken", "refused"  # folders inside, for files that were


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that is a message: its document, and the key by which it is known if it should be taken again."""

    path: Path
    body: bytes | str
    key: str


Take = Callable[[FoundFile], Awaitable[str | None]]
"""Takes a file in; why it is refused, if it is."""


async def watch(folder: Path, take: Take, is_stopping: Callable[[], bool]) -> None:
    """Take in what is put into a folder. A file moves to `taken` after its commit, or to `refused` with the reason."""
    for name in (TAKEN, REFUSED):
        (folder / name).mkdir(parents=True, exist_ok=True)
    while not is_stopping():
        paths = await asyncio.to_thread(_still, folder)
        found = await asyncio.to_thread(_read_all, paths)
        await asyncio.gather(*(_one(path, read, folder, take) for path, read in found))  # they begin in this order
        if len(paths) < _AT_ONCE:
            await asyncio.sleep(_EVERY)


def _still(folder: Path) -> list[Path]:
    """Files that nobody writes any more, the oldest first."""
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
    await asyncio.to_thread(_put_aside, path, folder, reason)


def _read_all(paths: Sequence[Path]) -> list[tuple[Path, FoundFile | str]]:
    """What is in files, or why that is no message. One that somebody has taken away meanwhile is left out."""
    found: list[tuple[Path, FoundFile | str]] = []
    for path in paths:
        try:
            found.append((path, _read(path)))
        except JsonInvalid as error:
            found.append((path, str(error)))
        except FileNotFoundError:
            continue
    return found


def _read(path: Path) -> FoundFile:
    data = path.read_bytes()
    status = path.stat()
    key = sha256(f"{path.name} {status.st_mtime_ns} ".encode() + data).hexdigest()
    body = json_to_xml(data) if path.suffix.lower() == ".json" else data
    return FoundFile(path, body, f"file {key}")


def _put_aside(path: Path, folder: Path, reason: str | None) -> None:
    place = folder / (TAKEN if reason is None else REFUSED) / path.name
    number = 1
    while place.exists():
        number += 1
        place = place.with_name(f"{path.stem}-{number}{path.suffix}")
    path.rename(place)
    if reason is not None:
        place.with_name(f"{place.name}.reason.txt").write_text(f"{reason}\n", encoding="utf-8")


async def send_file(parcel: Parcel) -> None:
    """Write a message into a folder: whole or not at all, and the same file if it is written again."""
    folder = Path(unquote(urlsplit(parcel.to).path))
    name = f"{parcel.message.id:012d}-{parcel.identity.rpartition(':')[2][:8]}.xml"
    try:
        await asyncio.to_thread(write_whole, folder / name, parcel.message.body.encode())
    except OSError as error:
        raise Undelivered("disconnectedTransport", f"{folder} cannot be written to: {error.strerror}") from error
