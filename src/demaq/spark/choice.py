"""Where a batch is evaluated: in the worker beside the node, or on Spark. Decided by what was measured."""

from dataclasses import dataclass

_WEIGHT = 0.3  # of the latest measurement
_STALE = 200_000  # messages that are evaluated here, after which Spark is tried again
_TRIED = 4_000  # messages that are enough for that


@dataclass(slots=True)
class Costs:
    """Seconds: for each message in the local worker, for each message on Spark, and for a job on Spark at all.

    They begin as what was seen on a small machine. The first measurement takes the place of that, and they follow those
    after it.
    """

    local: float = 0.0004
    spark: float = 0.0003
    job: float = 0.2
    _is_local_known: bool = False
    _is_spark_known: bool = False
    _since: int = 0  # messages that were evaluated here since some were on Spark
    _is_cold: bool = True  # has the next job to do what those after it have not: compile rules, read and parse?

    def begin_anew(self) -> None:
        """The next job finds workers that know nothing. It tells nothing about those after it."""
        self._is_cold = True

    def note_local(self, messages: int, seconds: float) -> None:
        if self._since < _STALE <= self._since + messages:
            self.begin_anew()  # by now, workers have gone
        self._since += messages
        if seconds > 0:  # else the worker has died, and nobody knows
            self.local = _follow(self.local, seconds / messages, is_known=self._is_local_known)
            self._is_local_known = True

    def note_spark(self, messages: int, seconds: float) -> None:
        if self._is_cold:
            self._is_cold = False
            return
        self.job = min(self.job, seconds)  # no job costs more than one that had something to do
        each = max(seconds - self.job, 0.1 * seconds) / messages
        self.spark = _follow(self.spark, each, is_known=self._is_spark_known and not self._is_stale)
        self._is_spark_known = True
        self._since = 0

    @property
    def worthwhile(self) -> int | None:
        """From how many messages on Spark is faster; None if it never is, until that is to be seen again."""
        gained = self.local - self.spark
        found = None if gained <= 0 else max(1, round(self.job / gained))
        return _TRIED if self._is_stale and (found is None or found > _TRIED) else found

    @property
    def _is_stale(self) -> bool:
        return self._since >= _STALE


def _follow(known: float, measured: float, *, is_known: bool) -> float:
    return known + _WEIGHT * (measured - known) if is_known else measured
