"""Values of facts in columns of Spark.

A column whose type nothing tells is text, of which the first letter says what the rest is: so values of any types can
be compared, joined and sorted in one column. Which number a column of the type `number` has is not told apart: it has
doubles.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # its usual name
from pyspark.sql import types as st

from demaq.pipelines.plan.nodes import Columns
from demaq.pipelines.plan.numbers import DECIMALS, DIGITS, EXACT, converted, plain
from demaq.pipelines.running.order import BOOLEAN, DATE, DATETIME, NUMBER, TEXT, in_utc, lettered
from demaq.pipelines.values import Value, ValueType

MESSAGE = "m"
"""The column with the number of a message."""

_LONGEST = 2**31 - 1  # text

_TYPES: dict[ValueType, st.DataType] = {
    ValueType.ANY: st.StringType(),
    ValueType.TEXT: st.StringType(),
    ValueType.BOOLEAN: st.BooleanType(),
    ValueType.NUMBER: st.DoubleType(),
    ValueType.INTEGER: st.LongType(),
    ValueType.DECIMAL: st.DecimalType(DIGITS + DECIMALS, DECIMALS),
    ValueType.DOUBLE: st.DoubleType(),
    ValueType.DATE: st.DateType(),
    ValueType.DATETIME: st.TimestampType(),
}


def spark_type(type_: ValueType) -> st.DataType:
    return _TYPES[type_]


def place(number: int) -> str:
    """The name of a column by its place: names of parameters may differ by case only, which Spark does not see."""
    return f"p{number}"


def frame(spark: SparkSession, columns: Columns, rows: Iterable[Sequence[Any]], *, numbered: bool) -> DataFrame:
    """Rows of values as a data frame, by place; with `numbered`, the number of the message comes first."""
    fields = [st.StructField(MESSAGE, st.LongType())] if numbered else []
    fields += [st.StructField(place(n), spark_type(column.type)) for n, column in enumerate(columns)]
    encoders: list[Callable[[Any], Any]] = [lambda value: value] if numbered else []
    encoders += [encoder(column.type) for column in columns]
    encoded = [tuple(encode(value) for encode, value in zip(encoders, row, strict=True)) for row in rows]
    return spark.createDataFrame(encoded, st.StructType(fields))


def encoder(type_: ValueType) -> Callable[[Any], Any]:
    """What turns a value into one of a column."""
    if type_ is ValueType.ANY:
        return lambda value: None if value is None else lettered(value)
    if type_ is ValueType.DATETIME:
        return lambda value: None if value is None else in_utc(value)
    if type_.is_number:
        wanted = ValueType.DOUBLE if type_ is ValueType.NUMBER else type_
        return lambda value: None if value is None else converted(value, wanted)
    return lambda value: value


def unlettered(text: str) -> Value:
    """
    >>> unlettered("ta"), unlettered("n1"), unlettered("n0.5"), unlettered("btrue")
    ('a', 1, 0.5, True)
    """
    letter, rest = text[0], text[1:]
    if letter == TEXT:
        return rest
    if letter == NUMBER:
        return int(rest) if rest.lstrip("-").isdigit() else float(rest)
    if letter == BOOLEAN:
        return rest == "true"
    return date.fromisoformat(rest) if letter == DATE else datetime.fromisoformat(rest).replace(tzinfo=UTC)


def decoder(type_: ValueType) -> Callable[[Any], Any]:
    """What turns a value of a column into one of a fact."""
    if type_ is ValueType.ANY:
        return lambda value: None if value is None else unlettered(value)
    if type_ is ValueType.DATETIME:
        return lambda value: None if value is None else value.astimezone(UTC)
    if type_ is ValueType.NUMBER:
        return lambda value: None if value is None else plain(value)
    return lambda value: value


def in_type(column: Column, given: ValueType, wanted: ValueType) -> Column:
    """A column of one type as one of a wider type."""
    if given is wanted or spark_type(given) == spark_type(wanted):
        return column
    if given.is_number and wanted.is_number:
        return column.cast(spark_type(wanted))
    if wanted is ValueType.ANY:
        return _as_lettered(column, given)
    raise AssertionError(f"{given} is not a kind of {wanted}")


def _as_lettered(column: Column, given: ValueType) -> Column:
    if given.is_number:
        double = column.cast("double")
        whole = (double == F.floor(double).cast("double")) & (F.abs(double) <= F.lit(float(EXACT)))
        text = F.when(whole, double.cast("bigint").cast("string")).otherwise(double.cast("string"))
        return F.concat(F.lit(NUMBER), text)
    if given is ValueType.DATETIME:
        moment = F.to_utc_timestamp(column, F.current_timezone())
        return F.concat(F.lit(DATETIME), F.date_format(moment, "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"))
    letter = {ValueType.TEXT: TEXT, ValueType.BOOLEAN: BOOLEAN, ValueType.DATE: DATE}[given]
    return F.concat(F.lit(letter), column.cast("string"))


def sort_key(column: Column) -> Column:
    """Something by which values of any types are in the order that facts have."""
    rest = F.substring(column, 2, _LONGEST)
    rank = F.position(F.substring(column, 1, 1), F.lit("bntzd"))
    return F.struct(rank, F.when(column.startswith(NUMBER), rest.try_cast("double")), rest)


def in_order_of(column: Column, type_: ValueType) -> Column:
    """A column by which rows are in the order that facts have."""
    return sort_key(column) if type_ is ValueType.ANY else column


def text_in(column: Column) -> Column:
    """What a value of any type is as text, for people."""
    return F.substring(column, 2, _LONGEST)
