"""Many rows of the log at once, for those who analyse it: which columns, and which rows."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum
from typing import Any, Protocol

from demaq.store.errors import StoreError

_WIDER = 1e-12  # of a number, by which a range is wider: databases round

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "message": {
        "id": "id",
        "position": "position",
        "queue": "queue",
        "created": "created",
        "processed": "processed",
        "cause": "cause",
        "rule": "rule",
        "origin": "origin",
        "state": "case when position is null then 'waiting' when failed > 0 then 'failed' else 'completed' end",
        "retained": "case when position is null or retained > 0 then 1 else 0 end",
        "version": "version",
        "properties": "properties",
        "body": "body",
    },
    "member": {name: name for name in ("slicing", "key", "message", "position")},
}
"""The columns of each table that can be read, and how they are written in SQL."""
_TEXTS = frozenset({"queue", "rule", "origin", "state", "slicing", "key"})


class Op(Enum):
    EQUAL = "="
    OTHER = "<>"
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    AMONG = "in"
    NULL = "is null"
    PRESENT = "is not null"


class Kind(Enum):
    """As what the text of a property is compared."""

    TEXT = "text"
    NUMBER = "number"
    DAY = "day"  # dates and times: their time zones may differ, so the day before and the day after may be meant


@dataclass(frozen=True, slots=True)
class Rounding:
    """How far a number may be from that in the text that it was read from: by a part of itself, and beside that."""

    relative: float = 0.0
    absolute: float = 0.0


@dataclass(frozen=True, slots=True)
class Constraint:
    """What a column must be; with a kind, a property. Of those, some rows too many may be found, but never too few.

    Times are microseconds since 1970; of days, the value is a date. Numbers may be those of a type that rounds.
    """

    column: str
    op: Op
    value: Any = None
    kind: Kind | None = None
    rounding: Rounding = Rounding()


@dataclass(frozen=True, slots=True)
class Scan:
    """Columns of the rows of a table that fulfil all constraints."""

    table: str
    columns: tuple[str, ...]
    constraints: tuple[Constraint, ...] = ()


class Dialect(Protocol):
    """What databases write in their own way."""

    def property_of(self, parameter: str) -> str:
        """The text of a property whose name is passed as a parameter."""

    def property_name(self, name: str) -> str:
        """The name, as that parameter."""

    def number_of(self, text: str) -> str:
        """A text as a number; null if it is none."""

    def bytewise(self, text: str) -> str:
        """A text that is compared byte by byte."""

    def is_among(self, column: str, parameter: str) -> str: ...

    def list_of(self, values: Collection[int] | Collection[str]) -> Any: ...


def query(scan: Scan, dialect: Dialect) -> tuple[str, dict[str, Any]]:
    """A scan in SQL, with its parameters."""
    known = COLUMNS[scan.table]
    columns = ", ".join(known[name] for name in scan.columns) or "1"
    where, parameters = conditions(scan.table, scan.constraints, dialect)
    return f"select {columns} from {scan.table}{where}", parameters


def conditions(table: str, constraints: Sequence[Constraint], dialect: Dialect) -> tuple[str, dict[str, Any]]:
    """The rows that fulfil all constraints, as a `where`."""
    texts, parameters = [], {}
    for number, constraint in enumerate(constraints):
        name = f"v{number}"
        column = COLUMNS[table].get(constraint.column) if constraint.kind is None else None
        if constraint.kind is not None:
            column = dialect.property_of(f"p{number}")
            parameters[f"p{number}"] = dialect.property_name(constraint.column)
        if column is None:
            raise StoreError(f"the table `{table}` has no column `{constraint.column}`")
        text, values = _condition(constraint, column, name, dialect)
        texts.append(text)
        parameters.update(values)
    return (f" where {' and '.join(texts)}" if texts else ""), parameters


def _condition(constraint: Constraint, column: str, name: str, dialect: Dialect) -> tuple[str, dict[str, Any]]:
    if constraint.op in (Op.NULL, Op.PRESENT):
        return f"({column}) {constraint.op.value}", {}
    if constraint.kind is Kind.NUMBER:
        return _any_of(_numbers(constraint), dialect.number_of(column), column, name, "cast(:{} as numeric)")
    if constraint.kind is Kind.DAY:
        day = dialect.bytewise(f"case when {column} like '____-__-__%' then substr({column}, 1, 10) end")
        return _any_of(_days(constraint), day, column, name, ":{}")
    if constraint.op is Op.AMONG:
        return dialect.is_among(f"({column})", name), {name: dialect.list_of(constraint.value)}
    is_text = constraint.kind is Kind.TEXT or constraint.column in _TEXTS
    compared = dialect.bytewise(f"({column})") if is_text else f"({column})"
    return f"{compared} {constraint.op.value} :{name}", {name: constraint.value}


def _any_of(
    ranges: Sequence[tuple[Any, Any]], value: str, text: str, name: str, parameter: str
) -> tuple[str, dict[str, Any]]:
    """In one of the ranges, or not comparable at all."""
    texts, parameters = [f"({value}) is null"], {}
    for number, bounds in enumerate(ranges):
        sides = []
        for side, op, bound in zip("lh", (">=", "<="), bounds, strict=True):
            if bound is not None:
                sides.append(f"({value}) {op} {parameter.format(f'{name}{side}{number}')}")
                parameters[f"{name}{side}{number}"] = bound
        texts.append(f"({' and '.join(sides)})")
    return f"({text} is not null and ({' or '.join(texts)}))", parameters


def _numbers(constraint: Constraint) -> list[tuple[float | None, float | None]]:
    values = [float(value) for value in (constraint.value if constraint.op is Op.AMONG else [constraint.value])]
    offs = [_off(value, constraint.rounding) for value in values]
    return [_sides(constraint.op, value - off, value + off) for value, off in zip(values, offs, strict=True)]


def _off(value: float, rounding: Rounding) -> float:
    return abs(value) * max(rounding.relative, _WIDER) + rounding.absolute


def _days(constraint: Constraint) -> list[tuple[str | None, str | None]]:
    values: list[date] = list(constraint.value) if constraint.op is Op.AMONG else [constraint.value]
    day = timedelta(days=1)
    return [_sides(constraint.op, (value - day).isoformat(), (value + day).isoformat()) for value in values]


def _sides(op: Op, low: Any, high: Any) -> tuple[Any, Any]:
    assert op is not Op.OTHER
    return (None if op in (Op.LESS, Op.AT_MOST) else low), (None if op in (Op.MORE, Op.AT_LEAST) else high)
