"""Relations between the steps of a plan: data frames whose columns are known by place."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from demaq.pipelines.plan.nodes import Node
from demaq.spark.pipelines.nodes import compiled
from demaq.spark.pipelines.state import NOTHING, State
from demaq.spark.pipelines.values import MESSAGE, place


def by_place(node: Node, state: State) -> DataFrame:
    """The rows of a node: the number of the message, if they have one, and the values by their places."""
    first = [F.col(MESSAGE)] if node.channels else []
    columns = [F.col(state.names[column.name]).alias(place(number)) for number, column in enumerate(node.columns)]
    found = compiled(node, state)
    return found.select(*first, *columns) if first or columns else found.select(NOTHING)


def numbered(node: Node, state: State) -> DataFrame:
    """The same with the numbers of messages; what belongs to every message is in one message here."""
    found = by_place(node, state)
    if node.channels:
        return found
    columns = [F.col(place(number)) for number in range(len(node.columns))]
    return found.select(F.lit(0).cast("bigint").alias(MESSAGE), *columns)
