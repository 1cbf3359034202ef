"""Files that a name stands for, and small files that are written whole."""

import errno
import glob
import os
from fnmatch import fnmatchcase
from pathlib import Path

from demaq.diagnostics import DemaqError

_HIDDEN = (".", "_")  # what Spark and others write beside the data


class InputInvalid(DemaqError):
    """A file cannot be loaded; the text says why, and what to do."""


class FileMissing(InputInvalid):
    """There is no file of a name; and who wants it, if that is said."""

    def __init__(self, name: str, who: str = "") -> None:
        super().__init__(f"there is no file `{name}`{f': {who}' if who else ''}")
        self.name = name


def files(name: str, *, looks_into_folders: bool = True) -> list[tuple[str, str]]:
    """Files, each with the folder that was named: a file, those in a folder and in what is below it, or those of a
    pattern, which may also stand for folders, if these are looked into. Many are sorted by all of their names, with
    their folders. Hidden ones are files that were named, and no others."""
    if name == "-":
        raise InputInvalid("what is read from standard input cannot be loaded: a load may have to begin again")
    if os.path.isdir(name):
        return _inside(name)
    found = matching(name)
    if not looks_into_folders:
        found = [one for one in found if not os.path.isdir(one)]
    if not found:
        raise FileMissing(name)
    every = [each for one in found for each in (_inside(one) if os.path.isdir(one) else [("", one)])]
    return sorted(every, key=_path)


def matching(name: str) -> list[str]:
    """Files and folders that a name stands for: what it names, whether it is there or not, or what its pattern does."""
    if os.path.lexists(name) or not glob.has_magic(name):
        return [name]
    return sorted(one for one in glob.glob(_pattern(name), recursive=True) if not _is_hidden_from(name, one))


def _pattern(name: str) -> str:
    """A folder that is there is no pattern, whatever it is called."""
    folder, rest = os.path.split(name)
    while folder and not os.path.isdir(folder):
        folder, part = os.path.split(folder)
        rest = os.path.join(part, rest)
    return os.path.join(glob.escape(folder), rest)


def is_hidden(name: str) -> bool:
    """Is it the name of something that is not read unless it is named?"""
    return name.startswith(_HIDDEN)


def is_meant(name: str, pattern: str) -> bool:
    """Does a name without folders stand for another, or is it the same?"""
    return name == pattern or (fnmatchcase(name, pattern) and not is_hidden(name))


def write_whole(path: Path, content: bytes) -> None:
    """All of it, or nothing, whatever happens. It is on the disk when this returns."""
    temporary = path.with_name(f".{path.name}")
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """Let the names in a folder be on the disk, as far as its file system knows how, and we may read the folder."""
    try:
        opened = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(opened)


def _inside(folder: str) -> list[tuple[str, str]]:
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = [one for one in folders if not is_hidden(one)]
        found += [(folder, os.path.join(place, name)) for name in names if not is_hidden(name)]
    if not found:
        raise InputInvalid(f"there are no files in the folder `{folder}`")
    return sorted(found, key=_path)


def _path(found: tuple[str, str]) -> str:
    return found[1]


def _is_hidden_from(pattern: str, path: str) -> bool:
    """Has it, or a folder that it is in, a hidden name that is not in the pattern?"""
    exactly = set(pattern.split(os.sep))
    return any(is_hidden(part) and part not in exactly for part in path.split(os.sep))
