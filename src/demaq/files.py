"""Files that a name stands for, and small files that are written whole."""

import errno
import glob
import os
from collections.abc import Iterable, Iterator
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


def files(name: str) -> Iterable[tuple[str, str]]:
    """Files, each with the folder that was named: a file, those in a folder, or those of a pattern, in their order."""
    if name == "-":
        raise InputInvalid("what is read from standard input cannot be loaded: a load may have to begin again")
    if os.path.isdir(name):
        return _inside(name)
    if os.path.lexists(name) or not glob.has_magic(name):
        return [("", name)]
    found = sorted(glob.glob(name, recursive=True))
    if not found:
        raise FileMissing(name)
    return (found for one in found for found in (_inside(one) if os.path.isdir(one) else [("", one)]))


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


def _inside(folder: str) -> Iterator[tuple[str, str]]:
    found = False
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith(_HIDDEN))
        for name in sorted(names):
            if not name.startswith(_HIDDEN):
                found = True
                yield folder, os.path.join(place, name)
    if not found:
        raise InputInvalid(f"there are no files in the folder `{folder}`")
