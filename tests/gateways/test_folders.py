"""Files are read a few at a time, and one that is in the way holds up no others."""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from demaq.gateways import folders
from demaq.gateways.folders import FoundFile, LeftAlone, Take, watch

_SOON = 10.0  # seconds that anything may take


def put(folder: Path, *names: str, size: int = 10) -> None:
    for number, name in enumerate(names):
        (folder / name).write_text("x" * size)
        then = time.time() - 100 + number
        os.utime(folder / name, (then, then))


async def nobody(_kind: str, _reason: str) -> None:
    """Nobody is told."""


def watched(folder: Path, take: Take, is_done: Callable[[], bool]) -> None:
    """Watch a folder until something is so."""

    async def run() -> None:
        end = time.monotonic() + _SOON
        await watch(folder, take, nobody, lambda: is_done() or time.monotonic() > end, largest=1000)

    asyncio.run(run())
    assert is_done()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "_EVERY", 0.01)


def test_few_files_are_read_at_once_if_they_are_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "_MOST_BYTES", 250)
    put(tmp_path, *(f"{number}.xml" for number in range(9)), size=100)
    put(tmp_path, "a.xml", "b.xml", size=5000)
    now, most = 0, 0

    async def take(_found: FoundFile) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1

    watched(tmp_path, take, lambda: len(list((tmp_path / "taken").glob("*"))) == 9)
    assert most == 3
    assert {file.name for file in (tmp_path / "refused").glob("*.xml")} == {"a.xml", "b.xml"}


def test_a_refused_file_that_cannot_be_moved_is_refused_once_and_others_go_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "_AT_ONCE", 1)
    put(tmp_path, "stuck.xml", "b.xml", "c.xml")
    put_aside = folders._put_aside
    tries: list[str | None] = []
    taken: list[str] = []

    def putting(path: Path, folder: Path, reason: str | None) -> None:
        if path.name == "stuck.xml" and (len(tries) < 5 or len(taken) < 3):
            tries.append(reason)
            raise PermissionError(13, "Permission denied")
        put_aside(path, folder, reason)

    async def take(found: FoundFile) -> str:
        taken.append(found.path.name)
        return "this is not wanted"

    monkeypatch.setattr(folders, "_put_aside", putting)
    watched(tmp_path, take, lambda: not (tmp_path / "stuck.xml").exists())
    assert taken == ["stuck.xml", "b.xml", "c.xml"]
    assert set(tries) == {"this is not wanted"}


def test_what_goes_wrong_with_one_file_does_not_end_the_watching(tmp_path: Path) -> None:
    put(tmp_path, "a.xml", "b.xml", "c.xml")

    async def take(found: FoundFile) -> None:
        if found.path.name == "a.xml":
            raise KeyError("what nobody has thought of")
        if found.path.name == "b.xml":
            raise LeftAlone("not now")

    watched(tmp_path, take, lambda: (tmp_path / "taken" / "c.xml").exists())
    assert {file.name for file in tmp_path.glob("*.xml")} == {"a.xml", "b.xml"}
