"""Small files that are written whole, and are there after the power was lost."""

import errno
import os
import stat
from pathlib import Path

import pytest

from demaq.files import write_whole


def test_a_file_and_its_name_are_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """First what is in it, then its name, which without that of the folder may be lost with the power."""
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def syncing(opened: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(opened).st_mode) else "file")
        fsync(opened)

    def replacing(old: Path, new: Path) -> None:
        done.append("name")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", syncing)
    monkeypatch.setattr(os, "replace", replacing)
    write_whole(tmp_path / "a.xml", b"<a/>")
    assert done == ["file", "name", "folder"]
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a.xml", b"<a/>")]


@pytest.mark.parametrize(("number", "is_told"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_a_file_system_that_cannot_do_it_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, is_told: bool
) -> None:
    fsync = os.fsync

    def syncing(opened: int) -> None:
        if stat.S_ISDIR(os.fstat(opened).st_mode):
            raise OSError(number, os.strerror(number))
        fsync(opened)

    monkeypatch.setattr(os, "fsync", syncing)
    if is_told:
        with pytest.raises(OSError, match=os.strerror(number)):
            write_whole(tmp_path / "a.xml", b"<a/>")
    else:
        write_whole(tmp_path / "a.xml", b"<a/>")
    assert (tmp_path / "a.xml").read_bytes() == b"<a/>"


def test_a_folder_that_one_may_not_read_takes_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_file = os.open

    def opening(path: Path, flags: int, *arguments: int) -> int:
        if path == tmp_path:
            raise PermissionError(errno.EACCES, "no")
        return open_file(path, flags, *arguments)

    monkeypatch.setattr(os, "open", opening)
    write_whole(tmp_path / "a.xml", b"<a/>")
    assert (tmp_path / "a.xml").read_bytes() == b"<a/>"
