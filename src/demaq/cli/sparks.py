"""What commands tell of Spark."""

from collections.abc import Iterator, Mapping
from typing import Any

from demaq.spark.executor import NOT_STARTED


def spark_lines(spark: Mapping[str, Any]) -> Iterator[str]:
    """What a node told last of its use of Spark, in words; nothing if there was none."""
    if spark["state"] == NOT_STARTED:
        return
    yield f"Spark ({spark['master']}, {spark['mode']}): {spark['state']}"
    if spark["ui"]:
        yield f"  its pages: {spark['ui']}"
    failed = f", {spark['failedJobs']} failed ({spark['lastFailure']})" if spark["failedJobs"] else ""
    yield f"  {spark['messagesOnSpark']} messages in {spark['jobs']} jobs{failed}; {spark['messagesHere']} here"
    if spark["mode"] == "auto" and spark["jobs"]:
        here, there = (1e6 * spark[f"secondsPerMessage{where}"] for where in ("Here", "OnSpark"))
        worthwhile = spark["worthwhileFrom"]
        since = "not worthwhile" if worthwhile is None else f"worthwhile from {worthwhile} messages on"
        yield f"  {1e3 * spark['secondsPerJob']:.0f} ms a job and {there:.0f} µs a message, {here:.0f} µs here: {since}"
