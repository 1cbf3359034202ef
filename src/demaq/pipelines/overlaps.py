"""Whether a goal lies where a source reads: then a run would overwrite what it has read, or the next one read that. And
whether it lies where another goal does."""

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from demaq.pipelines.program import Endpoint
from demaq.pipelines.vocabulary import Format

_SOMEWHERE = "/folder" * 50  # relative names have the same meaning in any folder
_HIDDEN = (".", "_")  # what is not read of a folder (see `demaq.files`)


def overlap(read: Endpoint, written: Endpoint, folder: str = _SOMEWHERE) -> bool:
    """Do two endpoints, whose names are relative to a folder, have files in common? What is read is a file, a folder or
    a pattern; what is written is a file, or a folder with a file for each message."""
    if (read.scheme, written.scheme) != ("file", "file"):
        return False
    source, goal = _parts(folder, read.path), _parts(folder, written.path)
    if source[: len(goal)] == goal:
        return True  # the same, or the goal is a folder around it, which is replaced
    return _takes(source, [*goal, f"000000.{written.format.value}"] if _is_folder(written) else goal)


def collide(one: Endpoint, other: Endpoint, folder: str = _SOMEWHERE) -> bool:
    """Do two goals write the same file, or does the one write into the folder that is the other?"""
    if (one.scheme, other.scheme) != ("file", "file"):
        return False
    first, second = sorted((_parts(folder, one.path), _parts(folder, other.path)), key=len)
    return second[: len(first)] == first


def _parts(folder: str, path: str) -> list[str]:
    return os.path.normpath(os.path.join(folder, path)).split("/")


def _is_folder(goal: Endpoint) -> bool:
    return goal.format is Format.PARQUET or goal.path.endswith("/") or not PurePosixPath(goal.path).suffix


def _takes(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """Does a pattern stand for a file, or for a folder that the file is in?"""
    if not pattern:
        return not any(part.startswith(_HIDDEN) for part in path)
    if pattern[0] == "**":
        return any(_takes(pattern[1:], path[at:]) for at in range(len(path) + 1))
    return bool(path) and _matches(path[0], pattern[0]) and _takes(pattern[1:], path[1:])


def _matches(name: str, pattern: str) -> bool:
    is_hidden = name.startswith(".") and not pattern.startswith(".")
    return name == pattern or (fnmatchcase(name, pattern) and not is_hidden)
