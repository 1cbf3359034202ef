"""Names of files, as Spark takes them: to it, brackets and braces stand for other names."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from demaq.files import is_hidden, is_meant, matching

_SPECIAL = re.compile(r"([\[\]{}*?\\])")
_BEHIND_BRACKET = re.compile(r"\[.*")
_ANY_ONE = re.compile(r"[]{}\\]")


def literal(name: str | Path) -> str:
    """The name of one file or folder.

    >>> print(literal("in[1]"))
    in\\[1\\]
    """
    return _SPECIAL.sub(r"\\\1", str(name))


def literals(path: Path) -> list[str]:
    """The names of all that a path stands for; if there is nothing, its own, for Spark to say so."""
    name = str(path.absolute())
    return [*map(literal, matching(name) or [name])]


def wider(pattern: str) -> str:
    """A pattern of Spark for all that is meant by one of ours, and perhaps for more.

    >>> wider("a{1}*.json"), wider("a[1-3].json")
    ('a?1?*.json', 'a*')
    """
    return _ANY_ONE.sub("?", _BEHIND_BRACKET.sub("*", pattern))


@dataclass(frozen=True, slots=True)
class Wanted:
    """The files that a source of a stream stands for, of all that Spark finds: the same that a run would read."""

    path: str
    is_folder: bool
    is_table: bool

    def has(self, name: str) -> bool:
        folder, own = (self.path, "") if self.is_folder else os.path.split(self.path)
        parts = os.path.relpath(name, folder).split(os.sep)
        if self.is_folder:
            return not any(map(is_hidden, parts))
        is_named = parts[0] == own or (is_meant(parts[0], own) and not os.path.lexists(self.path))
        return is_named and (len(parts) == 1 or (self.is_table and not any(map(is_hidden, parts[1:]))))
