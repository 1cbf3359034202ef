"""All rows of a message in one place that Spark knows: what asks for less, it does not move again."""

from pyspark.sql import DataFrame

from demaq.spark.pipelines.values import MESSAGE

MANY = 64
"""So many messages are enough to have some in each place."""


def aligned(frame: DataFrame) -> DataFrame:
    """The same rows, by message."""
    places = frame.sparkSession.conf.get("spark.sql.shuffle.partitions")
    assert places is not None
    return frame.repartition(int(places), MESSAGE)
