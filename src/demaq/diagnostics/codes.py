"""Stable names for what can be wrong."""

from dataclasses import dataclass
from enum import Enum


class Severity(Enum):
    ERROR = "error"  # the application cannot run
    WARNING = "warning"  # it can run, but probably not as meant
    HINT = "hint"  # it is right, and could be better


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of finding: its stable name, how grave it is, and one sentence that says what it means."""

    name: str
    severity: Severity
    meaning: str


class Catalogue:
    """The codes of one language, each with a name of its own."""

    def __init__(self) -> None:
        self._codes: dict[str, Code] = {}

    @property
    def every(self) -> tuple[Code, ...]:
        return tuple(self._codes.values())

    def error(self, name: str, meaning: str) -> Code:
        return self._code(name, Severity.ERROR, meaning)

    def warning(self, name: str, meaning: str) -> Code:
        return self._code(name, Severity.WARNING, meaning)

    def hint(self, name: str, meaning: str) -> Code:
        return self._code(name, Severity.HINT, meaning)

    def _code(self, name: str, severity: Severity, meaning: str) -> Code:
        assert name not in self._codes, name
        self._codes[name] = Code(name, severity, meaning)
        return self._codes[name]
