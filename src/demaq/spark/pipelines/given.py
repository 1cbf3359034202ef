"""Data frames that somebody gives in place of a source or an enricher: their types are known."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as st
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_type

from demaq.diagnostics import DemaqError, listing
from demaq.pipelines.documents.conversion import convert
from demaq.pipelines.documents.shapes import PARENT, UID
from demaq.pipelines.plan.numbers import DIGITS
from demaq.pipelines.program import Enricher, Parameter, Program, Relation, Source
from demaq.pipelines.values import ValueType
from demaq.spark.pipelines.files import PROBLEMS
from demaq.spark.pipelines.messages import AT_ONCE
from demaq.spark.pipelines.state import ARRIVAL, Channel
from demaq.spark.pipelines.values import MESSAGE, encoder, in_type, place, spark_type

Frames = Mapping[str, DataFrame]

_KINDS: tuple[tuple[type[st.DataType], ValueType], ...] = (
    (st.StringType, ValueType.TEXT),
    (st.BooleanType, ValueType.BOOLEAN),
    (st.IntegralType, ValueType.INTEGER),
    (st.DecimalType, ValueType.DECIMAL),
    (st.FractionalType, ValueType.DOUBLE),
    (st.DateType, ValueType.DATE),
    (st.TimestampType, ValueType.DATETIME),
    (st.TimestampNTZType, ValueType.DATETIME),
)
_WIDER = {
    ValueType.INTEGER: (ValueType.DECIMAL, ValueType.DOUBLE, ValueType.NUMBER),
    ValueType.DECIMAL: (ValueType.DOUBLE, ValueType.NUMBER),
    ValueType.DOUBLE: (ValueType.NUMBER,),
}
"""Types that have a value for each of a column of another type."""

_VALUE, _REASON = "value", "reason"


class FrameInvalid(DemaqError):
    """A data frame cannot be facts of a relation; the text says why."""


def by_relation(program: Program, given: Frames) -> dict[str, DataFrame]:
    """Data frames by the names of relations. Those of a source or an enricher with one relation may also be given by
    the name of its file, without the ending."""
    names: dict[str, str] = {}
    nodes: list[Source | Enricher] = [*program.sources, *program.enrichers]
    for node in nodes:
        names.update({relation: relation for relation in node.relations})
        if len(node.relations) == 1:
            names.setdefault(Path(node.endpoint.path).name.partition(".")[0], node.relations[0])
    unknown = [name for name in given if name not in names]
    if unknown:
        raise FrameInvalid(f"there is no source or enricher `{unknown[0]}`: there are {listing(names, 'and')}")
    found: dict[str, str] = {}
    for name in given:
        other = found.setdefault(names[name], name)
        if other != name:
            raise FrameInvalid(f"`{names[name]}` is given twice, as `{other}` and as `{name}`")
    return {names[name]: frame for name, frame in given.items()}


def known_types(program: Program, frames: Frames) -> dict[tuple[str, str], ValueType]:
    """What data frames tell of the types of parameters."""
    return {
        (relation, parameter.name): kind
        for relation, frame in frames.items()
        for parameter in program.relations[relation].parameters
        if (kind := _kind(frame, parameter.name)) is not None
    }


def _column(frame: DataFrame, name: str) -> str | None:
    """The column for a parameter. Spark does not tell upper from lower case; if it has to, it can."""
    if name in frame.columns:
        return name
    return next((column for column in frame.columns if column.lower() == name.lower()), None)


def _kind(frame: DataFrame, name: str) -> ValueType | None:
    column = _column(frame, name)
    if column is None:
        return None
    found = frame.schema[column].dataType
    kind = next((kind for type_, kind in _KINDS if isinstance(found, type_)), None)
    if kind is None and not isinstance(found, st.NullType):
        raise FrameInvalid(f"the column `{column}` is of the type {found.simpleString()}: facts have single values")
    return kind


@dataclass(frozen=True, slots=True)
class Taken:
    """The facts of a relation in a data frame; what is wrong with all of it; and, if values had to be converted, a data
    frame with the reasons why that could not be done."""

    facts: DataFrame
    wrong: tuple[str, ...] = ()
    refused: DataFrame | None = None


def taken(relation: Relation, frame: DataFrame, *also: str) -> Taken:
    """The facts of a relation: columns by the names of parameters, null where there is none; and other columns before
    them. Facts with a value that cannot be converted are left out."""
    values = [(place(at), _value(parameter, frame)) for at, parameter in enumerate(relation.parameters)]
    plain = [value.alias(name) for name, value in values if value is not None]
    converted = {
        name: _converted(parameter, relation, frame)
        for (name, value), parameter in zip(values, relation.parameters, strict=True)
        if value is None
    }
    wrong, is_broken = _missing(relation, frame, also)
    found = frame.select(*also, *plain, *(value.alias(name) for name, value in converted.items()))
    if is_broken:
        found = found.where(F.lit(False))
    if not converted:
        return Taken(found, wrong)
    reason = F.coalesce(*(F.col(name)[_REASON] for name in converted))
    columns = (F.col(name)[_VALUE].alias(name) if name in converted else F.col(name) for name, _ in values)
    facts = found.where(reason.isNull()).select(*also, *columns)
    return Taken(facts, wrong, found.where(reason.isNotNull()).select(reason.alias(_REASON)))


def _missing(relation: Relation, frame: DataFrame, also: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
    """Which columns are not there, as it is told of CSV; and whether none is, so that there are no facts."""
    wanted = [name for name in relation.names if name not in (UID, PARENT)]
    missing = [name for name in wanted if _column(frame, name) is None]
    there = ", ".join(name for name in frame.columns if f"`{name}`" not in also)
    if not missing:
        return (), False
    if missing == wanted:
        own = f"no column has the name of a parameter of `{relation.name}`"
        return (f"{own}: there are {there}, and parameters are {', '.join(wanted)}",), True
    what = "are no columns" if len(missing) > 1 else "is no column"
    return (f"there {what} {listing(missing, 'and')} for `{relation.name}`: there are {there}",), False


def _value(parameter: Parameter, frame: DataFrame) -> Column | None:
    """What a column has for a parameter; None if each value has to be converted, for some may not be."""
    name, kind = _column(frame, parameter.name), _kind(frame, parameter.name)
    if name is None or kind is None:
        return F.lit(None).cast(spark_type(parameter.type))
    column = F.col(f"`{name}`")
    if parameter.type is ValueType.ANY:
        return in_type(column, kind, ValueType.ANY)
    is_safe = kind is parameter.type or parameter.type in _WIDER.get(kind, ())
    return column.cast(spark_type(parameter.type)) if is_safe and _has_room(frame.schema[name].dataType) else None


def _has_room(type_: st.DataType) -> bool:
    """Are there no more digits before the point than a decimal has?"""
    return not isinstance(type_, st.DecimalType) or type_.precision - type_.scale <= DIGITS


def _converted(parameter: Parameter, relation: Relation, frame: DataFrame) -> Column:
    """The value, or the reason why there is none: Spark's workers convert it as that of a document."""
    type_, where = parameter.type, f"`{parameter.name}` of `{relation.name}`"
    fields = [st.StructField(_VALUE, spark_type(type_)), st.StructField(_REASON, st.StringType())]
    wanted = to_arrow_type(spark_type(type_), timezone="UTC")

    def convert_all(values: pa.Array) -> pa.Array:
        found = [_conversion(value, type_, where) for value in values.to_pylist()]
        arrays = [pa.array([value for value, _ in found], wanted), pa.array([why for _, why in found], pa.string())]
        return pa.StructArray.from_arrays(arrays, names=[_VALUE, _REASON])

    function: Callable[..., Column] = arrow_udf(convert_all, st.StructType(fields))  # type: ignore[call-overload]
    return function(F.col(f"`{_column(frame, parameter.name)}`"))


def _conversion(value: Any, type_: ValueType, where: str) -> tuple[Any, str | None]:
    try:
        return encoder(type_)(convert(value, type_)), None
    except ValueError as error:
        return None, f"{where}: {error}"


def problems_in(spark: SparkSession, found: Taken, source: str, file: str | None) -> list[DataFrame]:
    """What is wrong with a data frame, as what could not be read; nothing if nothing can be."""
    told: list[DataFrame] = []
    if found.wrong:
        told.append(spark.createDataFrame([(source, file, None, reason) for reason in found.wrong], PROBLEMS))
    if found.refused is not None:
        place = F.lit(source), F.lit(file).cast("string"), F.lit(None).cast("bigint")
        told.append(found.refused.select(*place, _REASON).toDF(*PROBLEMS.names))
    return told


def one_message(spark: SparkSession, facts: Frames) -> Channel:
    """Data frames that are given are one message."""
    numbered = {name: frame.select(F.lit(0).cast("bigint").alias(MESSAGE), "*") for name, frame in facts.items()}
    return Channel(numbered, spark.createDataFrame([(0, AT_ONCE)], f"{MESSAGE} bigint, {ARRIVAL} timestamp"))


def is_given(node: Source | Enricher, frames: Frames) -> bool:
    return any(relation in frames for relation in node.relations)
