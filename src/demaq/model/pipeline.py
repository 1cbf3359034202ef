"""Pipelines."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A pipeline of an application, in a file relative to its folder."""

    name: str
    file: str
