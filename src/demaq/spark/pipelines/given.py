"""Data frames that somebody gives in place of a source or an enricher: their types are known."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as st

from demaq.diagnostics import DemaqError, listing
from demaq.pipelines.program import Enricher, Program, Relation, Source
from demaq.pipelines.values import ValueType
from demaq.spark.pipelines.messages import AT_ONCE
from demaq.spark.pipelines.state import ARRIVAL, Channel
from demaq.spark.pipelines.values import MESSAGE, in_type, place, spark_type

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


def taken(relation: Relation, frame: DataFrame) -> DataFrame:
    """The facts of a relation in a data frame: columns by the names of parameters, null where there is none."""
    return frame.select(*_columns(relation, frame))


def _columns(relation: Relation, frame: DataFrame) -> Iterator[Column]:
    for at, parameter in enumerate(relation.parameters):
        column, kind = _column(frame, parameter.name), _kind(frame, parameter.name)
        if column is None or kind is None:
            found = F.lit(None)
        elif kind is parameter.type or (kind.is_number and parameter.type.is_number):
            found = F.col(f"`{column}`")
        elif parameter.type is ValueType.ANY:
            found = in_type(F.col(f"`{column}`"), kind, ValueType.ANY)
        else:
            raise FrameInvalid(
                f"the column `{column}` has values of the type {kind.value}, and the parameter of `{relation.name}` is "
                f"of the type {parameter.type.value}"
            )
        yield found.cast(spark_type(parameter.type)).alias(place(at))


def one_message(spark: SparkSession, facts: Frames) -> Channel:
    """Data frames that are given are one message."""
    numbered = {name: frame.select(F.lit(0).cast("bigint").alias(MESSAGE), "*") for name, frame in facts.items()}
    return Channel(numbered, spark.createDataFrame([(0, AT_ONCE)], f"{MESSAGE} bigint, {ARRIVAL} timestamp"))


def is_given(node: Source | Enricher, frames: Frames) -> bool:
    return any(relation in frames for relation in node.relations)
