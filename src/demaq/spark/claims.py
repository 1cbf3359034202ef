"""Which part of a batch a worker takes, where all workers are on one machine: rather one whose documents it has.

Spark says which worker runs a task, and not by what the worker has in its memory. So tasks are places in a queue only,
and a worker takes the part that it likes best among those that nobody has taken. A claim is a link in a folder, from
the number of the part to that of the task: it is made or refused in one step, and a task that is tried again finds it.
"""

import os
from collections.abc import Iterator
from pathlib import Path

_MOST = 16  # parts that a worker remembers
_known: list[int] = []  # the parts that this worker has had, the latest first


def claimed(folder: Path, task: int, parts: int) -> int:
    """The part for a task. Each of as many tasks as there are parts gets another one."""
    for name in os.listdir(folder):
        if os.readlink(folder / name) == str(task):
            return int(name)
    for part in _wishes(task, parts):
        try:
            os.symlink(str(task), folder / str(part))
        except FileExistsError:
            continue
        _remember(part)
        return part
    raise AssertionError(f"all {parts} parts are taken, and task {task} has none")


def _wishes(task: int, parts: int) -> Iterator[int]:
    known = [part for part in _known if part < parts]
    yield from known
    yield from (part for part in (*range(task, parts), *range(task)) if part not in known)


def _remember(part: int) -> None:
    if part in _known:
        _known.remove(part)
    _known.insert(0, part)
    del _known[_MOST:]
