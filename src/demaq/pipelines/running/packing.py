"""Files that are packed, as their endings say: with gzip or bzip2."""

import bz2
import gzip
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
_COMPRESSORS: dict[str, Callable[[], Any]] = {".gz": lambda: zlib.compressobj(wbits=31), ".bz2": bz2.BZ2Compressor}
_AT_ONCE = 1024 * 1024  # bytes


def is_packed(name: str) -> bool:
    return _ending(name) in _OPENERS


def opened(name: str) -> IO[bytes]:
    """A file, to be read as it is when it is unpacked."""
    found: IO[bytes] = _OPENERS.get(_ending(name), open)(name, "rb")
    return found


def packed(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Bytes as the ending of a name says, which can stand behind others that were packed. Of no pieces, there are none.

    >>> gzip.decompress(b"".join([*packed([b"a", b"b"], "x.gz"), *packed([b"c"], "x.gz")]))
    b'abc'
    """
    if not is_packed(name):
        yield from pieces
        return
    compressor = None
    for piece in pieces:
        compressor = compressor or _COMPRESSORS[_ending(name)]()
        yield compressor.compress(piece)
    if compressor is not None:
        yield compressor.flush()


def pack(place: str, name: str) -> None:
    """Pack a file that will have another name, as that says."""
    if not is_packed(name):
        return
    beside = f"{place}.packed"
    try:
        with open(place, "rb") as plain, open(beside, "wb") as file:
            file.writelines(packed(_pieces(plain), name))
        os.replace(beside, place)
    finally:
        if os.path.exists(beside):
            os.unlink(beside)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    """At least one: nothing is packed, too."""
    piece = file.read(_AT_ONCE)
    yield piece
    while piece := file.read(_AT_ONCE):
        yield piece


def _ending(name: str) -> str:
    return os.path.splitext(name)[1].lower()
