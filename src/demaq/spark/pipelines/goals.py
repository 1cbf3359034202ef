"""Files as goals. What is written appears at once, when all of it is there."""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from demaq.diagnostics import DemaqError
from demaq.pipelines.documents import Shape
from demaq.pipelines.documents.writing import pieces
from demaq.pipelines.program import Endpoint
from demaq.pipelines.vocabulary import Format
from demaq.spark.pipelines.values import MESSAGE, decoder, place

_WHICH = "which"
_ENDINGS = {Format.JSON: ".json", Format.CSV: ".csv", Format.XML: ".xml", Format.DATALOG: ".datalog"}
_DIGITS = 6  # of the number of a message, in the name of its file
_OWN = re.compile(r"\d{6,}\.(json|csv|xml|datalog)")


class GoalRefused(DemaqError):
    """Facts cannot be written there; the text says why, and what to do."""


Sent = tuple[int, int, tuple[Any, ...]]
"""A fact: the number of its message, that of its relation, and its values."""


def write_files(parts: Mapping[str, DataFrame], shapes: Sequence[Shape], endpoint: Endpoint, path: Path) -> int:
    """Write the facts of messages; how many messages. A path with an ending is a file with all facts, or, with `lines`,
    with a line for each message. Any other is a folder with a file for each message."""
    if is_one_file(endpoint, path):
        with appearing(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
            return _one_file(parts, shapes, endpoint, file.write)
    return _folder(parts, shapes, endpoint, path)


def is_one_file(endpoint: Endpoint, path: Path) -> bool:
    """Is the goal a file, and not a folder?"""
    return bool(path.suffix) and not endpoint.path.endswith("/")


def file_name(number: int, endpoint: Endpoint) -> str:
    """The name of the file with a message, in a folder."""
    return f"{number:0{_DIGITS}d}{_ENDINGS[endpoint.format]}"


@contextmanager
def appearing(path: Path) -> Iterator[str]:
    """A place beside a file, which becomes the file in the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    os.close(handle)
    try:
        yield temporary
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _one_file(
    parts: Mapping[str, DataFrame], shapes: Sequence[Shape], endpoint: Endpoint, write: Callable[[str], object]
) -> int:
    if endpoint.options.get("lines"):
        messages = 0
        for _, own in groupby(sent(parts, shapes, by_message=True), itemgetter(0)):
            messages += 1
            for piece in pieces(rows(own), endpoint.format, shapes, endpoint.options):
                write(piece)
        return messages
    numbers: set[int] = set()
    for piece in pieces(rows(_noted(parts, shapes, numbers)), endpoint.format, shapes, endpoint.options):
        write(piece)
    return len(numbers)


def _noted(parts: Mapping[str, DataFrame], shapes: Sequence[Shape], numbers: set[int]) -> Iterator[Sent]:
    for each in sent(parts, shapes, by_message=False):
        numbers.add(each[0])
        yield each


def _folder(parts: Mapping[str, DataFrame], shapes: Sequence[Shape], endpoint: Endpoint, path: Path) -> int:
    """The files of an earlier run go when those of this one are there. Files of others are not touched."""
    earlier = _earlier(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}-"))
    try:
        messages = 0
        for number, own in groupby(sent(parts, shapes, by_message=True), itemgetter(0)):
            name = temporary / file_name(number, endpoint)
            with open(name, "w", encoding="utf-8") as file:
                file.writelines(pieces(rows(own), endpoint.format, shapes, endpoint.options))
            messages += 1
        temporary.chmod(0o755)
        for file_ in earlier:
            file_.unlink()
        if path.exists():
            path.rmdir()
        os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return messages


def _earlier(path: Path) -> list[Path]:
    """What an earlier run has left in a folder."""
    found = list(path.iterdir()) if path.is_dir() else []
    others = [each.name for each in found if not _OWN.fullmatch(each.name)]
    if others or (path.exists() and not path.is_dir()):
        what = f"has other files, such as `{others[0]}`" if others else "is no folder"
        raise GoalRefused(f"`{path}` {what}: name an empty folder, or a file with an ending")
    return found


def rows(found: Iterable[Sent]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    return ((which, row) for _, which, row in found)


def sent(parts: Mapping[str, DataFrame], shapes: Sequence[Shape], *, by_message: bool) -> Iterator[Sent]:
    """Facts in an order: by the numbers of messages and relations, or the other way round, then by their values."""
    order = [MESSAGE, _WHICH] if by_message else [_WHICH, MESSAGE]
    frames = [
        parts[shape.relation].select(
            MESSAGE,
            F.lit(number).alias(_WHICH),
            F.struct(*(place(at) for at in range(len(shape.names)))).alias(_relation(number)),
        )
        for number, shape in enumerate(shapes)
    ]
    united = reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), frames)
    ordered = united.orderBy(*order, *map(_relation, range(len(shapes))))
    decoders = [[decoder(type_) for type_ in shape.types] for shape in shapes]
    for row in ordered.toLocalIterator():
        which = row[_WHICH]
        values = zip(decoders[which], row[_relation(which)], strict=True)
        yield row[MESSAGE], which, tuple(decode(value) for decode, value in values)


def _relation(number: int) -> str:
    return f"r{number}"
