"""What could not be read."""

from dataclasses import dataclass

from pyspark.sql import DataFrame

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Wrong:
    """Something that could not be read."""

    source: str
    file: str | None
    line: int | None
    reason: str

    def __str__(self) -> str:
        return f"{self.file}{'' if self.line is None else f', line {self.line}'}: {self.reason}"


def told(problems: DataFrame) -> tuple[list[Wrong], int]:
    """Some of what could not be read, and how much that is."""
    some = [Wrong(*row) for row in problems.orderBy("source", "file", "line").limit(_SHOWN).collect()]
    return some, problems.count() if len(some) == _SHOWN else len(some)
