"""Operations on decimals: results of Spark's own have too few digits, so its workers do what is done in memory."""

from collections.abc import Callable, Sequence

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_type

from demaq.pipelines.evaluate.arithmetic import operation
from demaq.pipelines.values import ValueType
from demaq.spark.pipelines.values import spark_type


def decimal_operation(symbol: str, operands: Sequence[Column], type_: ValueType) -> Column:
    """What an operator gives of decimals, or of decimals and integers, as a value of a type."""
    types, wanted = (ValueType.DECIMAL,) * len(operands), to_arrow_type(spark_type(type_))

    def compute(*columns: pa.Array) -> pa.Array:
        function = operation(symbol, len(types), types)
        return pa.array(list(map(function, *(column.to_pylist() for column in columns))), wanted)

    decimals = [operand.cast(spark_type(ValueType.DECIMAL)) for operand in operands]
    function: Callable[..., Column] = arrow_udf(compute, spark_type(type_))  # type: ignore[call-overload]
    return function(*decimals)
