"""The log as tables of Spark: messages, slices, errors and causes, with their columns and types."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from demaq.diagnostics import DemaqError, did_you_mean, listing
from demaq.engine.plan import Plan
from demaq.engine.versions import latest_plan
from demaq.model import Origin
from demaq.store import Store
from demaq.store.scan import Constraint, Op

_TEXT, _LONG, _TIME = StringType(), LongType(), TimestampType()
_INTEGERS = (
    "integer long int short byte nonNegativeInteger positiveInteger nonPositiveInteger negativeInteger"
    " unsignedLong unsignedInt unsignedShort unsignedByte"
)
_TYPES: dict[str, DataType] = {
    **{f"xs:{name}": _LONG for name in _INTEGERS.split()},
    "xs:boolean": BooleanType(),
    "xs:decimal": DecimalType(38, 18),
    "xs:double": DoubleType(),
    "xs:float": DoubleType(),
    "xs:dateTime": _TIME,
    "xs:dateTimeStamp": _TIME,
    "xs:date": DateType(),
}
TABLES = ("messages", "slices", "errors", "causes")


class SourceInvalid(DemaqError):
    """The data source `demaq` cannot be used so; the text says how."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `source` is the column of the store that it comes from, and `part` what of it, if not all.

    Of `properties`, the part is the name of a property; of the body of an error message, the name of an element.
    """

    name: str
    type: DataType
    source: str
    part: str | None = None

    @property
    def property(self) -> str | None:
        return self.part if self.source == "properties" else None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of a table of the store. `key` is the number by which they are read in ranges."""

    name: str
    stored: str
    columns: tuple[Column, ...]
    constraints: tuple[Constraint, ...] = ()
    key: str = "id"
    hidden: tuple[Column, ...] = ()  # columns that only those get who name them

    @property
    def schema(self) -> StructType:
        return StructType([StructField(column.name, column.type) for column in self.columns])

    def narrowed(self, names: Iterable[str]) -> "Table":
        """With these columns only."""
        return replace(self, columns=tuple(self.column(name) for name in names))

    def column(self, name: str) -> Column:
        """A column by its name; Spark does not tell upper case from lower case."""
        known = (*self.columns, *self.hidden)
        for found in known:
            if found.name.lower() == name.lower():
                return found
        raise SourceInvalid(
            f"there is no column `{name}`: {did_you_mean(name, [column.name for column in known], 'columns')}"
        )


def table_of(name: str, store: Store, queue: str | None = None) -> Table:
    """A table by its name; of the messages, those of one queue."""
    if name not in TABLES:
        raise SourceInvalid(f"there is no table `{name}`: write {listing(TABLES, 'or')}")
    if queue is None:
        return _TABLES[name]
    if name != "messages":
        raise SourceInvalid(f"the table `{name}` is not that of a queue: filter its rows instead")
    plan = latest_plan(store)
    known = {*(() if plan is None else plan.queues), *store.ledger()}
    if queue not in known:
        raise SourceInvalid(f"there is no queue `{queue}`: {did_you_mean(queue, known, 'queues')}")
    return queue_table(queue, plan)


def queue_table(queue: str, plan: Plan | None) -> Table:
    """The messages of a queue, with its properties as columns."""
    declared = [] if plan is None else [known for known in plan.properties.values() if queue in known.queues]
    names = _free_names([known.name for known in declared], [column.name for column in _MESSAGES.columns])
    properties = [
        Column(names[known.name], _TYPES.get(known.type, _TEXT), "properties", known.name) for known in declared
    ]
    return Table(
        name="messages",
        stored="message",
        columns=(*_FRONT, *properties, _BODY),
        constraints=(Constraint("queue", Op.EQUAL, queue),),
        hidden=(_PROPERTIES,),
    )


def _free_names(names: Sequence[str], taken: Collection[str]) -> dict[str, str]:
    """A property that is called like another column, but for the case, gets a longer name."""
    used = {name.lower() for name in taken}
    found = {}
    for name in names:
        free = name
        while free.lower() in used:
            free = f"property_{free}"
        used.add(free.lower())
        found[name] = free
    return found


def _columns(*columns: tuple[str, DataType]) -> tuple[Column, ...]:
    return tuple(Column(name, type_, name) for name, type_ in columns)


_FRONT = _columns(
    *(("id", _LONG), ("position", _LONG), ("queue", _TEXT), ("created", _TIME), ("processed", _TIME)),
    *(("cause", _LONG), ("rule", _TEXT), ("origin", _TEXT), ("state", _TEXT)),
    *(("retained", BooleanType()), ("version", _LONG)),
)
_PROPERTIES = Column("properties", MapType(_TEXT, _TEXT), "properties")
_BODY = Column("body", _TEXT, "body")
_MESSAGES = Table(name="messages", stored="message", columns=(*_FRONT, _PROPERTIES, _BODY))
_TABLES = {
    "messages": _MESSAGES,
    "slices": Table(
        name="slices",
        stored="member",
        columns=_columns(("slicing", _TEXT), ("key", _TEXT), ("message", _LONG), ("position", _LONG)),
        key="position",
    ),
    "errors": Table(
        name="errors",
        stored="message",
        columns=(
            Column("id", _LONG, "id"),
            Column("time", _TIME, "created"),
            *(Column(name, _TEXT, "body", name) for name in ("kind", "code", "description")),
            Column("rule", _TEXT, "rule"),
            *(Column(name, _TEXT, "body", name) for name in ("queue", "file")),
            Column("line", _LONG, "body", "line"),
            Column("message", _LONG, "cause"),
            Column("errorQueue", _TEXT, "queue"),
            Column("position", _LONG, "position"),
            Column("state", _TEXT, "state"),
        ),
        constraints=(Constraint("origin", Op.EQUAL, Origin.ERROR.value),),
    ),
    "causes": Table(
        name="causes",
        stored="message",
        columns=(
            Column("message", _LONG, "id"),
            *_columns(("queue", _TEXT), ("cause", _LONG), ("rule", _TEXT), ("origin", _TEXT), ("created", _TIME)),
        ),
        constraints=(Constraint("cause", Op.PRESENT),),
    ),
}
