"""Records that are made, and go to other processes, by the million."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

_Record = TypeVar("_Record")


@dataclass_transform(frozen_default=True)
def record(cls: type[_Record]) -> type[_Record]:
    """A dataclass with slots that nobody changes.

    The type checker sees to that. A frozen dataclass would see to it while the program runs, and take four times as
    long to make. It is pickled as its values alone.
    """
    made: Any = dataclass(slots=True, unsafe_hash="__hash__" not in vars(cls))(cls)
    names = [known.name for known in fields(made)]
    assert len(names) > 1, cls
    values: Callable[[Any], tuple[Any, ...]] = attrgetter(*names)

    def reduce(self: _Record) -> tuple[Any, ...]:
        return made, values(self)

    made.__reduce__ = reduce
    found: type[_Record] = made
    return found
