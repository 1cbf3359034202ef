"""Which characters there are in columns of text: looked up in all values at once, as bytes."""

from typing import Any

import numpy as np
import pyarrow as pa


def has_any(column: pa.Array, characters: bytes) -> bool:
    """Has some value one of these characters, which are ASCII?

    >>> has_any(pa.array(["a", None, "b,"]), b",;"), has_any(pa.array(["a,", "b"])[1:], b",;")
    (True, False)
    """
    text = bytes_of(column)
    return len(text.translate(None, characters)) < len(text)


def has_only(column: pa.Array, characters: bytes) -> bool:
    """Have all values no other characters than these?

    >>> has_only(pa.array(["12", None, "3"]), b"123"), has_only(pa.array(["12", "4"]), b"123")
    (True, False)
    """
    return not bytes_of(column).translate(None, characters)


def bounds(column: pa.Array) -> "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]":
    """Where the bytes of each value begin and end, among those of all.

    >>> [each.tolist() for each in bounds(pa.array(["a", "", "bcd"])[1:])]
    [[1, 1], [1, 4]]
    """
    width = np.int64 if pa.types.is_large_string(column.type) else np.int32
    every = np.frombuffer(column.buffers()[1], width)[column.offset : column.offset + len(column) + 1]
    return every[:-1], every[1:]


def bytes_of(column: pa.Array) -> bytes:
    """What all values consist of; values that are not there have nothing."""
    data = column.buffers()[2]
    if data is None or not len(column):
        return b""
    begins, ends = bounds(column)
    return memoryview(data)[begins[0] : ends[-1]].tobytes()
