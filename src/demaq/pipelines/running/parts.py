"""Files as messages: each file is one, or each line. A part is what one task reads of them."""

import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from demaq.files import FileMissing, InputInvalid, files
from demaq.pipelines.documents import Found, Shape, read_document
from demaq.pipelines.program import Endpoint
from demaq.pipelines.running.packing import is_packed, opened

_PART = 8 * 1024 * 1024  # bytes of lines in one part
_FILES = 64 * 1024 * 1024  # bytes of whole files in one part, at most so many
_MOST_FILES = 1000
_END = 2**62
_BLANKS = (b"\n\n", b"\n ", b"\n\t", b"\n\r", b"\n\v", b"\n\f")  # lines that begin so may have nothing else
_DAMAGED = (OSError, EOFError, zlib.error)


def named(path: str, *, is_table: bool = False) -> list[str]:
    """The files that a path stands for, in the order of their names. Tables may be folders, also those of a pattern."""
    found = [name for _, name in files(path, looks_into_folders=is_table)]
    for name in found:
        if not os.path.isfile(name):
            raise FileMissing(name)
        if not os.access(name, os.R_OK):
            raise InputInvalid(f"`{name}` cannot be read: permission denied")
    return [os.path.abspath(name) for name in found]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """In place of a document, why there is none."""

    reason: str


Document = tuple[int, str, int | None, str | bytes | Unreadable]
"""The number of a message, the file that it is in, the line, if it is one, and what it is."""


@dataclass(frozen=True, slots=True)
class Part:
    """Whole files, or the lines that begin in a stretch of one. `first` is the number of the first message."""

    paths: tuple[str, ...]
    first: int = 0
    stretch: tuple[int, int] | None = None
    line: int = 0  # that come before in the file

    def documents(self) -> Iterator[Document]:
        """Messages. What cannot be unpacked, or be read at all, is told in the place of a document."""
        if self.stretch is None:
            for number, path in enumerate(self.paths, self.first):
                yield number, path, None, _content(path)
            return
        number, line = self.first, self.line
        try:
            for line, text in enumerate(self.lines(), self.line + 1):
                if not text.isspace():
                    yield number, self.paths[0], line, text
                    number += 1
        except _DAMAGED as error:
            yield number, self.paths[0], line + 1, Unreadable(str(error))

    def content(self) -> bytes | None:
        """All of its lines, or its one file, if that can be read."""
        if len(self.paths) != 1:
            return None
        try:
            with opened(self.paths[0]) as file:
                if self.stretch is None:
                    return file.read()
                start, end = self.stretch
                if start:
                    file.seek(start - 1)
                    file.readline()
                begin = file.tell()
                found = file.read(max(0, end - begin)) if end != _END else file.read()
                return found if not found or found.endswith(b"\n") else found + file.readline()
        except _DAMAGED:
            return None  # which is told when it is read

    def count(self) -> tuple[int, int]:
        """How many lines there are, and how many messages."""
        content = self.content()
        if content is not None and not content[:1].isspace() and not any(blank in content for blank in _BLANKS):
            lines = content.count(b"\n") + (bool(content) and not content.endswith(b"\n"))
            return lines, lines
        lines, messages = 0, 0
        with suppress(*_DAMAGED):  # which is told when it is read
            for text in self.lines():
                lines += 1
                messages += not text.isspace()
        return lines, messages

    def lines(self) -> Iterator[bytes]:
        assert self.stretch is not None
        start, end = self.stretch
        with opened(self.paths[0]) as file:
            if start:
                file.seek(start - 1)
                file.readline()
            while file.tell() < end and (line := file.readline()):
                yield line


def _content(path: str) -> bytes | Unreadable:
    try:
        with opened(path) as file:
            return file.read()
    except _DAMAGED as error:
        return Unreadable(str(error))


def of_files(names: Sequence[str], first: int) -> Iterator[Part]:
    """Each file is a message; they are numbered from the `first`."""
    some: list[str] = []
    size = 0
    for name in names:
        own = os.path.getsize(name)
        if some and (size + own > _FILES or len(some) == _MOST_FILES):
            yield Part(tuple(some), first)
            first += len(some)
            some, size = [], 0
        some.append(name)
        size += own
    if some:
        yield Part(tuple(some), first)


def of_lines(names: Sequence[str]) -> Iterator[Part]:
    """Each line is a message; nobody has counted them yet."""
    for name in names:
        size = os.path.getsize(name)
        if is_packed(name):
            yield Part((name,), stretch=(0, _END))  # it can only be read from its beginning
        else:
            yield from (Part((name,), stretch=(at, min(at + _PART, size))) for at in range(0, size, _PART))


def whole(names: Iterable[str], *, is_of_lines: bool) -> Iterator[Part]:
    """Files that are read one after the other."""
    for name in names:
        yield Part((name,), stretch=(0, _END) if is_of_lines else None)


def bytes_of(names: Iterable[str]) -> int:
    """How much there is to be read. What is compressed is more than it seems."""
    sizes = ((name, os.path.getsize(name)) for name in names)
    return sum(size * (10 if is_packed(name) else 1) for name, size in sizes)


def facts_in(document: str | bytes | Unreadable, endpoint: Endpoint, shapes: Sequence[Shape]) -> Found:
    """The facts of a document of an endpoint."""
    if isinstance(document, Unreadable):
        return Found.broken(f"it cannot be read: {document.reason}")
    return read_document(document, endpoint.format, shapes, endpoint.options)
