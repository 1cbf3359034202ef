"""Records that go to other processes by the thousand."""

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any, TypeVar

_Record = TypeVar("_Record")
_setters: dict[type, tuple[Callable[[Any, Any], None], ...]] = {}


def packed(cls: type[_Record]) -> type[_Record]:
    """Let a frozen dataclass with slots be pickled as its values alone: several times faster than without."""
    names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    assert len(names) > 1, cls
    values = attrgetter(*names)
    _setters[cls] = tuple(getattr(cls, name).__set__ for name in names)

    def reduce(self: _Record) -> tuple[Any, ...]:
        return unpacked, (cls, values(self))

    cls.__reduce__ = reduce  # type: ignore[assignment, method-assign]
    return cls


def unpacked(cls: type[_Record], values: tuple[Any, ...]) -> _Record:
    record = object.__new__(cls)
    for setter, value in zip(_setters[cls], values, strict=True):
        setter(record, value)
    return record
