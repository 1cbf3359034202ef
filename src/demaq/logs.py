"""What a node tells of itself, a line at a time: the standard `logging`, below the logger `demaq`, with named fields.

Neither bodies of messages nor secrets are told. Whatever others wrote is escaped: a line is a line.
"""

import json
import logging
import re
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TextIO

FORMS = ("off", "text", "json")
_FIELDS = "demaq_fields"  # of a record: what is told beside the event
_LONGEST = 500  # characters of a text
_PLAIN = re.compile(r"[\w.:/@+-]+", re.ASCII)  # what needs no quotes

logging.getLogger("demaq").addHandler(logging.NullHandler())  # nobody has to listen


def logger(name: str) -> logging.Logger:
    """That of a part of the node."""
    return logging.getLogger(f"demaq.{name}")


def tell(log: logging.Logger, event: str, /, *, level: int = logging.INFO, **fields: Any) -> None:
    """Something has happened. Fields that are None are left out."""
    if log.isEnabledFor(level):
        log.log(level, event, extra={_FIELDS: {name: one for name, one in fields.items() if one is not None}})


@contextmanager
def written(form: str, stream: TextIO | None = None) -> Iterator[None]:
    """Write what is told, and warnings of the libraries, as `text` or as `json`: to standard error, if nowhere else."""
    if form == "off":
        yield
        return
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    everything, ours = logging.getLogger(), logging.getLogger("demaq")
    level = ours.level
    everything.addHandler(handler)
    ours.setLevel(logging.INFO)
    try:
        yield
    finally:
        ours.setLevel(level)
        everything.removeHandler(handler)


class JsonLines(logging.Formatter):
    """Each record is an object in a line of its own."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps({**_head(record), **_fields(record)})


class TextLines(logging.Formatter):
    """Each record is a line for people: time, level, logger, event, and fields as `name=value`."""

    def format(self, record: logging.LogRecord) -> str:
        head = _head(record)
        fields = "".join(f" {name}={_shown(value)}" for name, value in _fields(record).items())
        event = json.dumps(head["event"])[1:-1]
        return f"{head['time']} {head['level']:7} {head['logger']}: {event}{fields}"


def _head(record: logging.LogRecord) -> dict[str, str]:
    time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {
        "time": time,
        "level": record.levelname.lower(),
        "logger": record.name,
        "event": _cut(record.getMessage()),
    }


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    given: Mapping[str, Any] = getattr(record, _FIELDS, {})
    fields = {
        name: value if isinstance(value, bool | int | float) else _cut(str(value)) for name, value in given.items()
    }
    if record.exc_info and record.exc_info[0] is not None:
        kind, _, where = record.exc_info  # what the exception says may be part of a message
        fields["exception"] = kind.__qualname__
        fields["traceback"] = "".join(traceback.format_tb(where))
    return fields


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _shown(value: Any) -> str:
    """
    >>> _shown(7), _shown("orders"), _shown("a b\\n"), _shown("")
    ('7', 'orders', '"a b\\\\n"', '""')
    """
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text)
