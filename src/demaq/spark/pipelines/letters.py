"""Which characters there are in columns of text: looked up in all values at once, as bytes."""

import pyarrow as pa


def has_any(column: pa.Array, characters: bytes) -> bool:
    """Has some value one of these characters, which are ASCII?

    >>> has_any(pa.array(["a", None, "b,"]), b",;"), has_any(pa.array(["a,", "b"])[1:], b",;")
    (True, False)
    """
    text = _bytes(column)
    return len(text.translate(None, characters)) < len(text)


def has_only(column: pa.Array, characters: bytes) -> bool:
    """Have all values no other characters than these?

    >>> has_only(pa.array(["12", None, "3"]), b"123"), has_only(pa.array(["12", "4"]), b"123")
    (True, False)
    """
    return not _bytes(column).translate(None, characters)


def _bytes(column: pa.Array) -> bytes:
    """What all values consist of; values that are not there have nothing."""
    offsets, data = column.buffers()[1:3]
    if data is None or not len(column):
        return b""
    width = pa.int64() if pa.types.is_large_string(column.type) else pa.int32()
    bounds = pa.Array.from_buffers(width, len(column) + column.offset + 1, [None, offsets])
    first, last = bounds[column.offset].as_py(), bounds[column.offset + len(column)].as_py()
    return memoryview(data)[first:last].tobytes()
