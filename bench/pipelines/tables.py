"""What was measured, for people: tables in Markdown, aligned for a terminal, and what follows from them."""

from collections.abc import Iterator, Mapping, Sequence

from bench.pipelines.catalogue import CAMEL, MEMORY, PYSPARK, SPARK
from bench.pipelines.contender import Contender
from bench.pipelines.measure import Measured
from bench.pipelines.tasks import Task

_NEAR = 1.1  # times as long as PySpark
_LARGE = 100_000  # facts from which Demaq should be ahead of Camel
_OWN = (MEMORY, SPARK)


def report(tasks: Sequence[Task], sizes: Sequence[int], contenders: Sequence[Contender], measured: Measured) -> str:
    """A table of seconds and one of ratios for each task, then how times grow, and what was to be reached."""
    parts = [_starts(contenders, measured)]
    for task in tasks:
        title = task.title[0].upper() + task.title[1:]
        parts += [f"## {title}", seconds_table(task, sizes, contenders, measured)]
        ratios = ratios_table(task, sizes, contenders, measured)
        parts += ["Demaq takes so many times as long as:", ratios] if ratios else []
    if len(sizes) > 1:
        parts += [f"## Growth, from {sizes[-2]:,} to {sizes[-1]:,} facts: time per fact, the larger to the smaller"]
        parts += [growth_table(tasks, sizes, contenders, measured)]
    for title, lines in (
        ("What was to be reached", list(reached(tasks, sizes, measured))),
        ("What is missing", [*measured.notes, *measured.failures]),
    ):
        parts += [f"## {title}", "\n".join(f"- {line}" for line in lines)] if lines else []
    return "\n\n".join(parts)


def _starts(contenders: Sequence[Contender], measured: Measured) -> str:
    each = (f"{one.name} {measured.starts[one.key]:.1f} s" for one in contenders)
    return f"To start, which is in no other figure: {', '.join(each)}."


def seconds_table(task: Task, sizes: Sequence[int], contenders: Sequence[Contender], measured: Measured) -> str:
    rows = [["facts", *(contender.name for contender in contenders)]]
    for facts in sizes:
        own = measured.of(task, facts)
        rows.append([f"{facts:,}", *(_seconds(own.get(contender.key)) for contender in contenders)])
    return _table(rows)


def ratios_table(task: Task, sizes: Sequence[int], contenders: Sequence[Contender], measured: Measured) -> str | None:
    others = [contender for contender in contenders if contender.key not in _OWN]
    own = [contender for contender in contenders if contender.key in _OWN]
    rows = [["facts", "", *(other.name for other in others)]]
    for facts in sizes:
        found = measured.of(task, facts)
        for one in own:
            ratios = (_times(_ratio(found, one.key, other.key)) for other in others)
            rows.append([f"{facts:,}", one.name, *ratios])
    return _table(rows) if others and own else None


def growth_table(
    tasks: Sequence[Task], sizes: Sequence[int], contenders: Sequence[Contender], measured: Measured
) -> str:
    rows = [["", *(contender.name for contender in contenders)]]
    for task in tasks:
        rows.append([task.title, *(_times(growth(task, sizes, contender.key, measured)) for contender in contenders)])
    return _table(rows)


def growth(task: Task, sizes: Sequence[int], key: str, measured: Measured) -> float | None:
    """Seconds per fact with the most facts, to those with the second most."""
    smaller, larger = sizes[-2:]
    before, after = measured.of(task, smaller).get(key), measured.of(task, larger).get(key)
    return None if before is None or after is None else (after / larger) / (before / smaller)


def reached(tasks: Sequence[Task], sizes: Sequence[int], measured: Measured) -> Iterator[str]:
    most = sizes[-1]
    for task in tasks:
        ratio = _ratio(measured.of(task, most), SPARK, PYSPARK)
        if ratio is not None:
            yield f"{task.title}: within {_NEAR} of PySpark with {most:,} facts: {_yes(ratio <= _NEAR)} ({ratio:.2f})"
    large = [facts for facts in sizes if facts >= _LARGE]
    for task in tasks:
        ratios = [ratio for facts in large if (ratio := _to_camel(measured.of(task, facts))) is not None]
        if ratios:
            yield f"{task.title}: ahead of Camel from {large[0]:,} facts: {_yes(max(ratios) < 1)} ({_all(ratios)})"


def _to_camel(seconds: Mapping[str, float]) -> float | None:
    """Demaq where it is faster, to Camel."""
    found = [ratio for key in _OWN if (ratio := _ratio(seconds, key, CAMEL)) is not None]
    return min(found, default=None)


def _all(ratios: Sequence[float]) -> str:
    return ", ".join(f"{ratio:.2f}" for ratio in ratios)


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _ratio(seconds: Mapping[str, float], one: str, other: str) -> float | None:
    return seconds[one] / seconds[other] if one in seconds and other in seconds else None


def _seconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds:.3f}" if seconds < 10 else f"{seconds:,.1f}"


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f}" if ratio < 10 else f"{ratio:,.0f}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    rule = ["-" * (width - 1) + ":" for width in widths]
    lines = (
        " | ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
        for row in (rows[0], rule, *rows[1:])
    )
    return "\n".join(f"| {line} |" for line in lines)
