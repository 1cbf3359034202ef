"""What a contender has written, read again to be compared: facts have no order, and files may be folders with parts."""

import io
import re
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
from bench.pipelines.tasks import Columns, Job

_TYPES = {str: pa.string(), int: pa.int64(), float: pa.float64()}
_BETWEEN = re.compile(rb"\}\s*,\s*\{")  # facts in a list; no value has braces or brackets
_BRACKETS = re.compile(rb"[\[\]]")

Results = Mapping[str, pa.Table]


class ResultsDiffer(Exception):
    """A contender has written other facts than the one that all are compared with."""


def results(job: Job) -> Results:
    """The facts in each goal, in one order for all."""
    return {goal: _sorted(_facts(job.out / goal, columns)) for goal, columns in job.task.goals.items()}


def compare(expected: Results, found: Results) -> None:
    for goal, facts in expected.items():
        if not found[goal].equals(facts):
            raise ResultsDiffer(
                f"{goal} has {found[goal].num_rows:,} facts that are not those {facts.num_rows:,} of it"
            )


def _facts(path: Path, columns: Columns) -> pa.Table:
    schema = pa.schema([(name, _TYPES[type_]) for name, type_ in columns.items()])
    read = _csv if path.suffix == ".csv" else _json
    files = sorted(path.glob("part-*")) if path.is_dir() else [path]
    return pa.concat_tables([read(file, schema) for file in files if file.stat().st_size] or [schema.empty_table()])


def _csv(file: Path, schema: pa.Schema) -> pa.Table:
    options = pa.csv.ConvertOptions(column_types=schema, include_columns=schema.names)
    return pa.csv.read_csv(file, convert_options=options)


def _json(file: Path, schema: pa.Schema) -> pa.Table:
    """Objects in lists or beside each other, in one line or in many."""
    text = _BRACKETS.sub(b"", _BETWEEN.sub(b"}\n{", file.read_bytes())).strip()
    if not text:
        return schema.empty_table()
    options = pa.json.ParseOptions(explicit_schema=schema)
    return pa.json.read_json(io.BytesIO(text), parse_options=options).select(schema.names)


def _sorted(facts: pa.Table) -> pa.Table:
    return facts.sort_by([(name, "ascending") for name in facts.column_names]).combine_chunks()
