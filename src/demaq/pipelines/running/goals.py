"""Files as goals. What is written appears at once, when all of it is there."""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from demaq.diagnostics import DemaqError
from demaq.files import write_whole
from demaq.pipelines.documents import Shape
from demaq.pipelines.documents.writing import can_grow, end_of, more_pieces, pieces
from demaq.pipelines.program import Endpoint
from demaq.pipelines.running.packing import is_packed, pack, packed
from demaq.pipelines.vocabulary import Format

_ENDINGS = {Format.JSON: ".json", Format.CSV: ".csv", Format.XML: ".xml", Format.DATALOG: ".datalog"}
_DIGITS = 6  # of the number of a message, in the name of its file
_OWN = re.compile(r"\.?\d{6,}\.(json|csv|xml|datalog)")  # also one that a stream was writing when it was killed


class GoalRefused(DemaqError):
    """Facts cannot be written there; the text says why, and what to do."""


Sent = tuple[int, int, tuple[Any, ...]]
"""A fact: the number of its message, that of its relation, and its values."""

InOrder = Callable[[bool], Iterable[Sent]]
"""Facts in an order: by message, then by relation, if true; if false, the other way round; and then by values."""


def write_files(facts: InOrder, shapes: Sequence[Shape], endpoint: Endpoint, path: Path) -> int:
    """Write the facts of messages; how many messages. A path with an ending is a file with all facts, or, with `lines`,
    with a line for each message. Any other is a folder with a file for each message."""
    if is_one_file(endpoint, path):
        with appearing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
            return _one_file(facts, shapes, endpoint, file.write)
    return _folder(facts(True), shapes, endpoint, path)


def is_one_file(endpoint: Endpoint, path: Path) -> bool:
    """Is the goal a file, and not a folder?"""
    return bool(path.suffix) and not endpoint.path.endswith("/")


def _file_name(number: int, endpoint: Endpoint) -> str:
    """The name of the file with a message, in a folder."""
    return f"{number:0{_DIGITS}d}{_ENDINGS[endpoint.format]}"


@contextmanager
def appearing(path: Path) -> Iterator[str]:
    """A place beside a file, which becomes the file in the end, packed as its name says."""
    with refusals(path):
        _check_file(path)
        made = [folder for folder in path.parents if not folder.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        os.close(handle)
        try:
            yield temporary
            pack(temporary, path.name)
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            for folder in made:
                with suppress(OSError):  # another goal is in it
                    folder.rmdir()
            raise


@contextmanager
def refusals(path: Path) -> Iterator[None]:
    """What the system says of a file or folder that cannot be written, in one sentence."""
    try:
        yield
    except OSError as error:
        above = next((each for each in path.parents if each.exists()), path.parent)
        if not above.is_dir():
            raise GoalRefused(f"`{above}` is a file, and no folder for a goal: name another folder") from error
        reason = error.strerror or type(error).__name__
        raise GoalRefused(
            f"`{path}` cannot be written: {reason[:1].lower()}{reason[1:]}; name a goal in another folder"
        ) from error


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise GoalRefused(
            f"`{path}` is a folder, and the goal a file: name another file, or a folder without an ending"
        )


def _one_file(facts: InOrder, shapes: Sequence[Shape], endpoint: Endpoint, write: Callable[[str], object]) -> int:
    if endpoint.options.get("lines"):
        messages = 0
        for _, own in groupby(facts(True), itemgetter(0)):
            messages += 1
            for piece in pieces(_rows(own), endpoint.format, shapes, endpoint.options):
                write(piece)
        return messages
    numbers: set[int] = set()
    for piece in pieces(_rows(_noted(facts(False), numbers)), endpoint.format, shapes, endpoint.options):
        write(piece)
    return len(numbers)


def _noted(facts: Iterable[Sent], numbers: set[int]) -> Iterator[Sent]:
    for each in facts:
        numbers.add(each[0])
        yield each


def _folder(facts: Iterable[Sent], shapes: Sequence[Shape], endpoint: Endpoint, path: Path) -> int:
    """The files of an earlier run go when those of this one are there. Files of others are not touched."""
    with refusals(path):
        earlier = _earlier(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}-"))
        try:
            messages = 0
            for number, own in groupby(facts, itemgetter(0)):
                with open(temporary / _file_name(number, endpoint), "w", encoding="utf-8") as file:
                    file.writelines(pieces(_rows(own), endpoint.format, shapes, endpoint.options))
                messages += 1
            temporary.chmod(0o755)
            for file_ in earlier:
                file_.unlink()
            if path.exists():
                path.rmdir()
            os.replace(temporary, path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        return messages


def _earlier(path: Path) -> list[Path]:
    """What an earlier run has left in a folder."""
    found = list(path.iterdir()) if path.is_dir() else []
    others = [each.name for each in found if not _OWN.fullmatch(each.name)]
    if others or (path.exists() and not path.is_dir()):
        what = f"has other files, such as `{others[0]}`" if others else "is no folder"
        raise GoalRefused(f"`{path}` {what}: name an empty folder, or a file with an ending")
    return found


def documents(facts: InOrder, shapes: Sequence[Shape], endpoint: Endpoint) -> Iterator[tuple[int, str]]:
    """The document of each message, with its number."""
    for number, own in groupby(facts(True), itemgetter(0)):
        yield number, "".join(pieces(_rows(own), endpoint.format, shapes, endpoint.options))


def _rows(facts: Iterable[Sent]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    return ((which, row) for _, which, row in facts)


# Streams: each batch adds to what is there. One that is done again begins where the one before it ended.


def check_goal(endpoint: Endpoint, shapes: Sequence[Shape], path: Path, *, is_new: bool) -> None:
    """Can a stream write there? A new one begins with nothing."""
    if is_one_file(endpoint, path) and not can_grow(endpoint.format, shapes, endpoint.options):
        raise GoalRefused(
            f"`{endpoint.shown}` cannot grow as one document with the facts of {len(shapes)} relations: add `lines`, "
            "name a folder, or write a goal for each relation"
        )
    if is_packed(path.name) and is_one_file(endpoint, path) and end_of(endpoint.format, endpoint.options):
        raise GoalRefused(
            f"`{endpoint.shown}` cannot grow, since it is packed, and has an end: add `lines`, name a folder, or a "
            "file that is not packed"
        )
    there = path.exists() and (not path.is_dir() or any(path.iterdir()))
    if is_new and there:
        raise GoalRefused(f"`{path}` is there already, and this is a new stream: remove it, or name another goal")


def add_to_file(
    facts: InOrder, shapes: Sequence[Shape], endpoint: Endpoint, path: Path, length: int
) -> tuple[int, int]:
    """Add messages to a file that had so many bytes; how many messages, and how many bytes it has now. Before the first
    message it is what a run without messages writes, and counts as empty: the first one takes the place of that."""
    end, numbers = end_of(endpoint.format, endpoint.options), set[int]()
    added = _added(_noted(facts(True), numbers), shapes, endpoint, is_new=length == 0)
    _check_file(path)
    with refusals(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab") as file:
            file.truncate(max(0, length - len(end)))
            file.writelines(packed(added, path.name))
            is_begun = bool(numbers or length)
            file.writelines([end.encode()] if is_begun else packed([_nothing(shapes, endpoint)], path.name))
            file.flush()
            os.fsync(file.fileno())
            return len(numbers), file.tell() if is_begun else 0


def _nothing(shapes: Sequence[Shape], endpoint: Endpoint) -> bytes:
    """A file without messages."""
    written: list[str] = []
    _one_file(lambda _by_message: (), shapes, endpoint, written.append)
    return "".join(written).encode()


def _added(facts: Iterable[Sent], shapes: Sequence[Shape], endpoint: Endpoint, *, is_new: bool) -> Iterator[bytes]:
    """What is added to a file, message by message, without its end."""
    end = end_of(endpoint.format, endpoint.options)
    for _, own in groupby(facts, itemgetter(0)):
        write = pieces if is_new else more_pieces
        yield "".join(write(_rows(own), endpoint.format, shapes, endpoint.options)).removesuffix(end).encode()
        is_new = False


def add_files(facts: InOrder, shapes: Sequence[Shape], endpoint: Endpoint, path: Path) -> int:
    """Write a file for each message into a folder; how many messages."""
    messages = 0
    with refusals(path):
        path.mkdir(parents=True, exist_ok=True)
        for number, text in documents(facts, shapes, endpoint):
            write_whole(path / _file_name(number, endpoint), text.encode())
            messages += 1
    return messages
