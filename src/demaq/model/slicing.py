"""Slicings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Slicing:
    """A family of virtual queues, one for each value of a property; `key_type` is the property's type."""

    name: str
    property: str
    key_type: str
    queues: tuple[str, ...]
