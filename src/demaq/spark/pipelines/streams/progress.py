"""How far a stream has come: what is known after each of its batches, in the folder of its checkpoint.

It appears at once when a batch is done, and after all that the batch has written. A batch that is begun again, since
something crashed, begins with what was known after the one before it.
"""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from demaq.spark.pipelines.state import Channel

_FILE, _MESSAGES = "progress.json", "messages"
_KEPT = 2  # batches: the last one, and the one before, from which the last can be done again


@dataclass(slots=True)
class Progress:
    """`counts`: how many messages each channel has had. `done`: how many of them each reader has had, by its name.
    `waiting`: numbers of messages that wait for others, by the aggregation and the channels that they are of.
    `lengths`: how long goals are that are appended to, in bytes. `sent`: how many messages each goal has had.
    """

    counts: dict[str, int] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, list[int]] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)


class Checkpoint:
    """The folder. Facts that later batches need are in it as Parquet, by channel and relation."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, batch: int) -> bool:
        return self._at(batch).exists()

    def last(self) -> int:
        """The last batch that is done; -1 if there is none."""
        return max((int(found.name) for found in self._folder.glob("[0-9]*")), default=-1)

    def _at(self, batch: int) -> Path:
        return self._folder / f"{batch:09d}"

    def load(self, batch: int) -> Progress:
        """What was known after a batch; before the first, nothing."""
        if batch < 0:
            return Progress()
        data: dict[str, Any] = json.loads((self._at(batch) / _FILE).read_text(encoding="utf-8"))
        return Progress(**data["progress"])

    def kept(self, batch: int, spark: SparkSession) -> dict[str, Channel]:
        """The messages of channels that are still needed after a batch."""
        if batch < 0:
            return {}
        data = json.loads((self._at(batch) / _FILE).read_text(encoding="utf-8"))
        found = {}
        for channel, place in data["kept"].items():
            folder = self._at(batch) / place["folder"]
            facts = {relation: spark.read.parquet(str(folder / name)) for relation, name in place["relations"].items()}
            found[channel] = Channel(facts, spark.read.parquet(str(folder / _MESSAGES)))
        return found

    def save(self, batch: int, progress: Progress, kept: Mapping[str, Channel]) -> None:
        temporary = self._folder / f".{batch:09d}"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        places = {
            channel: _written(found, temporary, f"channel{number}")
            for number, (channel, found) in enumerate(kept.items())
        }
        text = json.dumps({"progress": asdict(progress), "kept": places}, indent=1)
        with open(temporary / _FILE, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self._at(batch))
        for earlier in sorted(self._folder.glob("[0-9]*"))[:-_KEPT]:
            shutil.rmtree(earlier)


def _written(channel: Channel, folder: Path, name: str) -> dict[str, Any]:
    relations = {relation: f"relation{number}" for number, relation in enumerate(channel.facts)}
    _write(channel.messages, folder / name / _MESSAGES)
    for relation, inner in relations.items():
        _write(channel.facts[relation], folder / name / inner)
    return {"folder": name, "relations": relations}


def _write(frame: DataFrame, path: Path) -> None:
    frame.coalesce(1).write.parquet(str(path))
