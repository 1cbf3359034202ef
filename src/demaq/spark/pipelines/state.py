"""What is known while a plan is evaluated on Spark."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from demaq.pipelines.plan.nodes import Channels, Node, Version
from demaq.spark.pipelines.values import MESSAGE

ARRIVAL = "arrival"
NOTHING = "u"
"""The column of a data frame that has no other."""


@dataclass(frozen=True, slots=True)
class Channel:
    """The messages of a channel: facts by relation, whose columns are the number of the message and values by place;
    and all numbers, with the times of arrival."""

    facts: Mapping[str, DataFrame]
    messages: DataFrame


class Names:
    """What columns are called in data frames, whatever the names of variables: Spark does not tell `x` from `X`."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __getitem__(self, variable: str) -> str:
        return self._known.setdefault(variable, f"v{len(self._known)}")

    def layout(self, node: Node) -> list[str]:
        """The columns of the rows of a node."""
        columns = [self[column.name] for column in node.columns]
        return [MESSAGE, *columns] if node.channels else columns or [NOTHING]


@dataclass(slots=True)
class State:
    """`relations` are defined by steps; in a fixpoint, `new` is what the last round found. `aligned` are channels.
    `facts` and `numbers` are how many facts relations and messages channels have, where that is known anyway."""

    spark: SparkSession
    channels: dict[str, Channel]
    enrichers: Mapping[tuple[str, str], DataFrame]
    aligned: frozenset[str] = frozenset()
    names: Names = field(default_factory=Names)
    relations: dict[str, DataFrame] = field(default_factory=dict)
    new: dict[str, DataFrame] = field(default_factory=dict)
    facts: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)

    def relation(self, name: str, version: Version) -> DataFrame:
        return self.relations[name] if version is Version.ALL else self.new[name]

    def inside(self, relations: Mapping[str, DataFrame], new: Mapping[str, DataFrame]) -> "State":
        """The same in a round of a fixpoint."""
        return replace(self, relations={**self.relations, **relations}, new=dict(new))

    def messages(self, channels: Channels) -> DataFrame:
        """The messages that are made of these channels: their numbers, and when the last part came."""
        first, *others = (self.channels[channel].messages for channel in channels)
        for other in others:
            renamed = other.withColumnRenamed(ARRIVAL, "other")
            first = first.join(renamed, MESSAGE).select(MESSAGE, F.greatest(ARRIVAL, "other").alias(ARRIVAL))
        return first
