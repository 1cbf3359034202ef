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
