"""Whether a goal lies where a source reads: then a run would overwrite what it has read, or the next one read that. And
whether it lies where another goal does."""

import os
from collections.abc import Sequence
from pathlib import PurePosixPath

from demaq.files import is_hidden, is_meant
from demaq.pipelines.program import Endpoint
from demaq.pipelines.vocabulary import Format

_SOMEWHERE = "/folder" * 50  # relative names have the same meaning in any folder


def overlap(read: Endpoint, written: Endpoint, folder: str = _SOMEWHERE) -> bool:
    """Do two endpoints, whose names are relative to a folder, have files in common? What is read is a file, a folder or
    a pattern; what is written is a file, or a folder with a file for each message."""
    if (read.scheme, written.scheme) != ("file", "file"):
        return False
    source, goal = _parts(folder, read.path), _parts(folder, written.path)
    if source[: len(goal)] == goal:
        return True  # the same, or the goal is a folder around it, which is replaced
    path = [*goal, f"000000.{written.format.value}"] if _is_folder(written) else goal
    return _takes(source, path, is_table=read.format is Format.PARQUET)


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


def _takes(pattern: Sequence[str], path: Sequence[str], *, is_table: bool, is_exact: bool = True) -> bool:
    """Does a pattern stand for a file, or for a folder that the file is in? It stands for folders only if they are
    tables, or if it names them (see `demaq.files`)."""
    if not pattern:
        return not path or ((is_exact or is_table) and not any(map(is_hidden, path)))
    first, rest = pattern[0], pattern[1:]
    if first == "**":
        ends = (at for at in range(len(path) + 1) if not any(map(is_hidden, path[:at])))
        return any(_takes(rest, path[at:], is_table=is_table, is_exact=False) for at in ends)
    if not path or not is_meant(path[0], first):
        return False
    return _takes(rest, path[1:], is_table=is_table, is_exact=is_exact and path[0] == first)
