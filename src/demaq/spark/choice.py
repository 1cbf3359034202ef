"""Where a batch is evaluated: in the worker beside the node, or on Spark. Decided by what was measured."""

from dataclasses import dataclass

_WEIGHT = 0.3  # of the latest measurement


@dataclass(slots=True)
class Costs:
    """Seconds: for each message in the local worker, for each message on Spark, and for a job on Spark at all.

    They begin as what was seen on a small machine, and follow what is measured.
    """

    local: float = 0.0004
    spark: float = 0.0003
    job: float = 0.2

    def note_local(self, messages: int, seconds: float) -> None:
        self.local += _WEIGHT * (seconds / messages - self.local)

    def note_spark(self, messages: int, seconds: float) -> None:
        self.job = min(self.job, seconds)  # no job costs more than one that had something to do
        self.spark += _WEIGHT * (max(seconds - self.job, 0.1 * seconds) / messages - self.spark)

    @property
    def worthwhile(self) -> int | None:
        """From how many messages on Spark is faster; None if it never is."""
        gained = self.local - self.spark
        return None if gained <= 0 else max(1, round(self.job / gained))
