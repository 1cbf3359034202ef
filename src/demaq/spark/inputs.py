"""Files that are to be loaded: which they are, what is in them, and what tells them from others."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from urllib.parse import unquote

from demaq.diagnostics import listing
from demaq.files import InputInvalid, files

COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
_NULL = "__HIVE_DEFAULT_PARTITION__"  # a folder of rows that have no value


class Format(Enum):
    XML = "xml"  # one message a file
    PARQUET = "parquet"  # one message a row
    JSONL = "jsonl"  # one message a line


SUFFIXES = {
    ".xml": Format.XML,
    ".parquet": Format.PARQUET,
    ".pq": Format.PARQUET,
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".json": Format.JSONL,
}


@dataclass(frozen=True, slots=True)
class Input:
    """A file, as it was when it was found. `keys` are columns whose values the folders `name=value` around it tell."""

    path: str
    size: int
    changed: int
    format: Format
    keys: tuple[tuple[str, str], ...] = ()

    @property
    def compression(self) -> str | None:
        return COMPRESSIONS.get(Path(self.path).suffix.lower())

    def check_unchanged(self) -> None:
        """Other parts of the file are in the store, or will be: all must be parts of one."""
        found = _stat(self.path)
        if (found.st_size, found.st_mtime_ns) != (self.size, self.changed):
            raise InputInvalid(f"`{self.path}` has changed while it was loaded")


def find(names: Sequence[str], format: Format | None) -> Iterator[Input]:
    """The files that are meant, in the order of the names, and sorted where a name stands for many.

    What is in a file is told by its name, unless a format is given.
    """
    for name in names:
        for root, path in files(name):
            yield _input(root, path, format)


def _input(root: str, path: str, format: Format | None) -> Input:
    found = _stat(path)
    if not os.path.isfile(path):
        raise InputInvalid(f"`{path}` is no file: only files can be loaded, since a load may have to begin again")
    if not os.access(path, os.R_OK):
        raise InputInvalid(f"`{path}` cannot be read: permission denied")
    format = format or _format(path)
    keys = _keys(os.path.relpath(path, root)) if root and format is not Format.XML else ()
    return Input(os.path.abspath(path), found.st_size, found.st_mtime_ns, format, keys)


def _keys(path: str) -> tuple[tuple[str, str], ...]:
    """
    >>> _keys("day=2007-01-10/of=A%2FB/part.parquet")
    (('day', '2007-01-10'), ('of', 'A/B'))
    """
    pairs = (folder.partition("=") for folder in path.split(os.sep)[:-1])
    return tuple((unquote(name), unquote(value)) for name, equals, value in pairs if equals and value != _NULL)


def _stat(path: str) -> os.stat_result:
    try:
        return os.stat(path)
    except OSError as error:
        raise InputInvalid(f"`{path}` cannot be read: {error.strerror}") from error


def _format(path: str) -> Format:
    name = Path(path)
    stem = name.stem if name.suffix.lower() in COMPRESSIONS else name.name
    found = SUFFIXES.get(Path(stem).suffix.lower())
    if found is None:
        known = listing(SUFFIXES, "or")
        raise InputInvalid(f"what is in `{path}`? Its name does not end with {known}: say it with `--format`")
    return found
