"""Files are read a few at a time, and one that is in the way holds up no others."""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from demaq.gateways import folders
from demaq.gateways.folders import FoundFile, LeftAlone, Refuse, Take, watch

_SOON = 10.0  # seconds that anything may take


def put(folder: Path, *names: str, size: int = 10) -> None:
    for number, name in enumerate(names):
        (folder / name).write_text("x" * size)
        then = time.time() - 100 + number
        os.utime(folder / name, (then, then))


async def nobody(_kind: str, _reason: str) -> None:
    """Nobody is told."""


def watched(folder: Path, take: Take, is_done: Callable[[], bool], refuse: Refuse = nobody) -> None:
    """Watch a folder until something is so."""

    async def run() -> None:
        end = time.monotonic() + _SOON
        await watch(
            folder, take, refuse, lambda: is_done() or time.monotonic() > end, largest=1000, longest=lambda: 1000
        )

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

    def putting(seen: folders._Seen, folder: Path, reason: str | None) -> None:
        if seen.path.name == "stuck.xml" and (len(tries) < 5 or len(taken) < 3):
            tries.append(reason)
            raise PermissionError(13, "Permission denied")
        put_aside(seen, folder, reason)

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


def replaced(folder: Path, text: str) -> None:
    """What a producer does: it writes another file under a name of its own, and renames it."""
    (folder / ".orders.xml").write_text(text)
    os.utime(folder / ".orders.xml", (time.time() - 50, time.time() - 50))
    (folder / ".orders.xml").rename(folder / "orders.xml")


def test_a_file_that_is_replaced_while_it_is_taken_in_is_taken_in_as_well(tmp_path: Path) -> None:
    put(tmp_path, "orders.xml")
    taken: list[bytes | str] = []

    async def take(found: FoundFile) -> None:
        taken.append(found.body)
        if len(taken) == 1:
            replaced(tmp_path, "second")

    watched(tmp_path, take, lambda: len(list((tmp_path / "taken").glob("*"))) == 1)
    assert taken == [b"x" * 10, b"second"]
    assert [file.read_text() for file in (tmp_path / "taken").iterdir()] == ["second"]


def test_a_file_that_is_replaced_as_it_is_moved_is_taken_in_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "orders.xml")
    is_there = folders._is_there
    taken: list[bytes | str] = []

    def looked(path: Path, identity: folders._Identity) -> bool:
        found = is_there(path, identity)
        if len(taken) == 1 and path.parent == tmp_path:
            replaced(tmp_path, "second")
        return found

    async def take(found: FoundFile) -> None:
        taken.append(found.body)

    monkeypatch.setattr(folders, "_is_there", looked)
    watched(tmp_path, take, lambda: len(list((tmp_path / "taken").glob("*"))) == 1)
    assert taken == [b"x" * 10, b"second"]


def test_a_file_that_was_on_its_way_when_a_node_crashed_is_the_same_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "orders.xml")
    keys: list[str] = []

    def crashed(_path: Path, _folder: Path, _reason: str | None) -> None:
        monkeypatch.undo()
        monkeypatch.setattr(folders, "_EVERY", 0.01)
        raise KeyError("the node crashes")

    async def take(found: FoundFile) -> None:
        keys.append(found.key)
        if len(keys) == 1:
            replaced(tmp_path, "second")  # which has to wait

    monkeypatch.setattr(folders, "_move", crashed)
    monkeypatch.setattr(folders, "_is_there", lambda _path, _identity: True)
    (tmp_path / ".moving").mkdir()
    (tmp_path / "orders.xml").rename(tmp_path / ".moving" / "orders.xml")
    watched(tmp_path, take, lambda: len(list((tmp_path / "taken").glob("*"))) == 2)
    assert len(keys) == 3
    assert keys[0] == keys[1] != keys[2]


def test_a_refused_file_that_is_replaced_is_not_refused_for_it(tmp_path: Path) -> None:
    put(tmp_path, "orders.json")
    reasons: list[str] = []
    taken: list[bytes | str] = []

    async def refuse(_kind: str, reason: str) -> None:
        reasons.append(reason)
        (tmp_path / ".orders.json").write_text("1")
        os.utime(tmp_path / ".orders.json", (time.time() - 50, time.time() - 50))
        (tmp_path / ".orders.json").rename(tmp_path / "orders.json")

    async def take(found: FoundFile) -> None:
        taken.append(found.body)

    watched(tmp_path, take, lambda: (tmp_path / "taken" / "orders.json").exists(), refuse)
    assert len(reasons) == len(taken) == 1
    assert not list((tmp_path / "refused").iterdir())
