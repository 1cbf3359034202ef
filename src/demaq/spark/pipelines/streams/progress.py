"""How far a stream has come: what is known after each of its batches, in the folder of its checkpoint.

It appears at once when a batch is done, and after all that the batch has written. A batch that is begun again, since
something crashed, begins with what was known after the one before it.

Messages that later batches need are in Parquet, by channel and relation, whether Spark or this process writes and reads
them: a batch may be too large for memory, and the next one not.
"""

import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_schema

from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.plan.nodes import Columns, Scan
from demaq.pipelines.plan.steps import Plan
from demaq.pipelines.plan.walk import below, nodes
from demaq.pipelines.running.batches import Progress
from demaq.pipelines.running.rows import RowChannel
from demaq.spark.pipelines.names import literal
from demaq.spark.pipelines.state import ARRIVAL, Channel
from demaq.spark.pipelines.values import MESSAGE, decoder, encoder, place, spark_type

_FILE, _MESSAGES = "progress.json", "messages"
_KEPT = 2  # batches: the last one, and the one before, from which the last can be done again
_MESSAGE_FIELDS = st.StructType([st.StructField(MESSAGE, st.LongType()), st.StructField(ARRIVAL, st.TimestampType())])


class Checkpoint:
    """The folder."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self._folder = folder
        self._columns = _columns(plan)

    def has(self, batch: int) -> bool:
        return self._at(batch).exists()

    def last(self) -> int:
        """The last batch that is done; -1 if there is none."""
        return max((int(found.name) for found in self._folder.glob("[0-9]*")), default=-1)

    def _at(self, batch: int) -> Path:
        return self._folder / f"{batch:09d}"

    def _known(self, batch: int) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads((self._at(batch) / _FILE).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise PipelineFailed(
                f"the checkpoint is not complete: `{self._at(batch)}` is missing, and Spark has gone on from there; "
                "name another checkpoint to begin again"
            ) from error
        return found

    # Reading

    def load(self, batch: int) -> Progress:
        """What was known after a batch; before the first, nothing."""
        return Progress() if batch < 0 else Progress(**self._known(batch)["progress"])

    def size(self, batch: int) -> int:
        """Bytes of the messages that were kept after a batch."""
        if batch < 0:
            return 0
        return sum(found.stat().st_size for found in self._at(batch).rglob("*.parquet"))

    def frames(self, batch: int, spark: SparkSession) -> dict[str, Channel]:
        """The messages that were kept, for Spark."""
        return {
            channel: Channel(
                {relation: spark.read.parquet(literal(folder / name)) for relation, name in relations.items()},
                spark.read.parquet(literal(folder / _MESSAGES)),
            )
            for channel, folder, relations in self._places(batch)
        }

    def rows(self, batch: int) -> dict[str, RowChannel]:
        """The messages that were kept, for this process."""
        found = {}
        for channel, folder, relations in self._places(batch):
            facts = {
                relation: list(_decoded(folder / name, self._columns[channel, relation]))
                for relation, name in relations.items()
            }
            times = pq.read_table(folder / _MESSAGES).to_pylist()
            found[channel] = RowChannel(facts, {row[MESSAGE]: _in_utc(row[ARRIVAL]) for row in times})
        return found

    def _places(self, batch: int) -> Iterable[tuple[str, Path, dict[str, str]]]:
        if batch >= 0:
            for channel, place_ in self._known(batch)["kept"].items():
                names = {name: place_["relations"][name] for name in self._needed(channel, place_["relations"])}
                yield channel, self._at(batch) / place_["folder"], names

    def _needed(self, channel: str, relations: Iterable[str]) -> list[str]:
        """Those that the plan reads: a message has all relations of its source, or of the aggregation that made it."""
        return [relation for relation in relations if (channel, relation) in self._columns]

    # Writing

    def save(self, batch: int, progress: Progress, kept: Mapping[str, Channel | RowChannel]) -> None:
        temporary = self._folder / f".{batch:09d}"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        places = {}
        for number, (name, channel) in enumerate(kept.items()):
            relations = {relation: f"relation{at}" for at, relation in enumerate(self._needed(name, channel.facts))}
            folder = temporary / f"channel{number}"
            folder.mkdir()
            self._write(name, channel, folder, relations)
            places[name] = {"folder": folder.name, "relations": relations}
        with open(temporary / _FILE, "w", encoding="utf-8") as file:
            json.dump({"progress": asdict(progress), "kept": places}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self._at(batch))
        for earlier in sorted(self._folder.glob("[0-9]*"))[:-_KEPT]:
            shutil.rmtree(earlier)

    def _write(self, name: str, channel: Channel | RowChannel, folder: Path, relations: Mapping[str, str]) -> None:
        if isinstance(channel, Channel):
            _write_frame(channel.messages, folder / _MESSAGES)
            for relation, inner in relations.items():
                _write_frame(channel.facts[relation], folder / inner)
            return
        _write_rows(sorted(channel.arrivals.items()), _MESSAGE_FIELDS, folder / _MESSAGES)
        for relation, inner in relations.items():
            columns = self._columns[name, relation]
            encoders = [encoder(column.type) for column in columns]
            rows = [
                (row[0], *(encode(value) for encode, value in zip(encoders, row[1:], strict=True)))
                for row in channel.facts[relation]
            ]
            _write_rows(rows, _fields(columns), folder / inner)


def _columns(plan: Plan) -> dict[tuple[str, str], Columns]:
    """The parameters of those relations in channels that the plan reads."""
    scans = (each for step in plan.steps for node in nodes(step) for each in below(node) if isinstance(each, Scan))
    return {(scan.channel, scan.relation): scan.parameters for scan in scans}


def _fields(columns: Columns) -> st.StructType:
    fields = [st.StructField(MESSAGE, st.LongType())]
    return st.StructType(
        fields + [st.StructField(place(at), spark_type(column.type)) for at, column in enumerate(columns)]
    )


def _write_frame(frame: DataFrame, path: Path) -> None:
    frame.coalesce(1).write.parquet(str(path))


def _write_rows(rows: Sequence[tuple[Any, ...]], fields: st.StructType, path: Path) -> None:
    schema = to_arrow_schema(fields, timezone="UTC")
    arrays = [pa.array([row[at] for row in rows], field.type) for at, field in enumerate(schema)]
    path.mkdir()
    pq.write_table(pa.table(arrays, schema=schema), path / "part.parquet")


def _decoded(path: Path, columns: Columns) -> Iterable[tuple[Any, ...]]:
    table = pq.read_table(path)
    names = [MESSAGE, *(place(at) for at in range(len(columns)))]
    decoders = [lambda value: value, *(decoder(column.type) for column in columns)]
    for row in zip(*(table.column(name).to_pylist() for name in names), strict=True):
        yield tuple(decode(_in_utc(value)) for decode, value in zip(decoders, row, strict=True))


def _in_utc(value: Any) -> Any:
    """Times are in UTC, also where the file does not say so."""
    return value.replace(tzinfo=UTC) if hasattr(value, "hour") and value.tzinfo is None else value
