"""Files as goals of a stream: each batch adds to them. One that is done again begins where the one before it ended."""

import os
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from pyspark.sql import DataFrame

from demaq.pipelines.documents import Shape
from demaq.pipelines.documents.writing import can_grow, end_of, more_pieces, pieces
from demaq.pipelines.program import Endpoint
from demaq.spark.pipelines.goals import GoalRefused, appearing, file_name, is_one_file, rows, sent


def check_goal(endpoint: Endpoint, shapes: Sequence[Shape], path: Path, *, is_new: bool) -> None:
    """Can a stream write there? A new one begins with nothing."""
    if is_one_file(endpoint, path) and not can_grow(endpoint.format, shapes, endpoint.options):
        raise GoalRefused(
            f"`{endpoint.shown}` cannot grow as one document with the facts of {len(shapes)} relations: add `lines`, "
            "name a folder, or write a goal for each relation"
        )
    there = path.exists() and (not path.is_dir() or any(path.iterdir()))
    if is_new and there:
        raise GoalRefused(f"`{path}` is there already, and this is a new stream: remove it, or name another goal")


def add_to_file(
    parts: Mapping[str, DataFrame], shapes: Sequence[Shape], endpoint: Endpoint, path: Path, length: int
) -> tuple[int, int]:
    """Add messages to a file that had so many bytes; how many messages, and how many bytes it has now."""
    path.parent.mkdir(parents=True, exist_ok=True)
    end = end_of(endpoint.format, endpoint.options)
    with open(path, "ab") as file:
        file.truncate(max(0, length - len(end)))
        numbers: set[int] = set()
        found = sent(parts, shapes, by_message=True)
        for number, own in groupby(found, itemgetter(0)):
            write = pieces if length == 0 and not numbers else more_pieces
            text = "".join(write(rows(own), endpoint.format, shapes, endpoint.options))
            file.write(text.removesuffix(end).encode())
            numbers.add(number)
        file.write(end.encode() if numbers or length else b"")
        file.flush()
        os.fsync(file.fileno())
        return len(numbers), file.tell()


def add_files(parts: Mapping[str, DataFrame], shapes: Sequence[Shape], endpoint: Endpoint, path: Path) -> int:
    """Write a file for each message into a folder; how many messages."""
    messages = 0
    for number, own in groupby(sent(parts, shapes, by_message=True), itemgetter(0)):
        name = path / file_name(number, endpoint)
        with appearing(name) as temporary, open(temporary, "w", encoding="utf-8") as file:
            file.writelines(pieces(rows(own), endpoint.format, shapes, endpoint.options))
        messages += 1
    return messages
