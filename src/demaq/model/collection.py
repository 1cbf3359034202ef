"""Collections."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Documents that are no messages, found by a pattern relative to the application's folder."""

    name: str
    pattern: str
