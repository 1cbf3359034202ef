"""Facts for people, and for programs that know nothing of pipelines."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from demaq.pipelines.program import Relation
from demaq.pipelines.values import ValueType
from demaq.spark.pipelines.values import place, text_in


def readable(frame: DataFrame, relation: Relation) -> DataFrame:
    """The facts of a relation, under the names of their parameters. Values whose type is not known are text."""
    columns = [
        text_in(F.col(place(at))) if parameter.type is ValueType.ANY else F.col(place(at))
        for at, parameter in enumerate(relation.parameters)
    ]
    names = (parameter.name for parameter in relation.parameters)
    return frame.select(*(column.alias(name) for column, name in zip(columns, names, strict=True)))
