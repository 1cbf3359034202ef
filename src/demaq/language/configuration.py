"""`demaq.toml`: what an operator sets, beside what the application says."""

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from typing import Any

from demaq.diagnostics import Report, Source, Span, did_you_mean
from demaq.language import codes
from demaq.model import Limits
from demaq.model.masters import names_master

FILE = "demaq.toml"
_UNITS = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
_DURATION = re.compile(rf"\s*(\d{{1,9}})\s*({'|'.join(_UNITS)})s?\s*")
_KEYS = ("name", "description", "keep", "limits", "spark", "config")
_BYTES = {"kB": 1024, "MB": 1024**2, "GB": 1024**3}
_SIZE = re.compile(rf"\s*(\d{{1,9}})\s*({'|'.join(_BYTES)})\s*")
_MOST = {"depth": 1_000, "worker_names": 900_000}  # what the XQuery engine takes
_LINE = re.compile(r"\(at line (\d+), column (\d+)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """`keep`: how long messages that no rule can see any more are held for people to look at.

    `spark` are settings of Spark, by their own names. `config` is what `$name` stands for in pipelines.
    """

    name: str | None = None
    description: str = ""
    keep: timedelta = timedelta(days=7)
    limits: Limits = field(default_factory=Limits)
    spark: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, str] = field(default_factory=dict, repr=False)


def read_configuration(root: Path, report: Report) -> Configuration:
    file = root / FILE
    if not file.is_file():
        return Configuration()
    try:
        source = Source(str(file), file.read_bytes().decode("utf-8-sig"))
        table = tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        _complain_of_syntax(source, str(error), report)
        return Configuration()
    except (OSError, UnicodeDecodeError) as error:
        report.say(codes.UNREADABLE, None, f"`{file}` cannot be read: {error}")
        return Configuration()
    return _configuration(source, table, report)


def _complain_of_syntax(source: Source, message: str, report: Report) -> None:
    place = _LINE.search(message)
    offset = source.offset(int(place[1]), int(place[2])) if place else len(source.text)
    text = _LINE.sub("", message).strip()
    report.say(codes.CONFIGURATION, Span(source, offset, offset), f"this is not TOML: {text}")


def _configuration(source: Source, table: dict[str, Any], report: Report) -> Configuration:
    for key in table:
        if key not in _KEYS:
            report.say(
                codes.CONFIGURATION,
                _place(source, key),
                f"there is no setting `{key}`",
                help=did_you_mean(key, _KEYS, "settings"),
            )
    return Configuration(
        name=_text(source, table, "name", report) or None,
        description=_text(source, table, "description", report),
        keep=_keep(source, table, report),
        limits=_limits(source, table, report),
        spark=_spark(source, table, report),
        config=_config(source, table, report),
    )


def _text(source: Source, table: dict[str, Any], key: str, report: Report) -> str:
    value = table.get(key, "")
    if isinstance(value, str):
        return value
    report.say(codes.CONFIGURATION, _place(source, key), f"`{key}` is a string in quotes")
    return ""


def _keep(source: Source, table: dict[str, Any], report: Report) -> timedelta:
    if "keep" not in table:
        return Configuration().keep
    match = _DURATION.fullmatch(table["keep"]) if isinstance(table["keep"], str) else None
    if match is None:
        report.say(
            codes.CONFIGURATION,
            _place(source, "keep"),
            f"`keep` is a duration, not {table['keep']!r}",
            help='write it as a number and a unit: `keep = "7 days"`',
        )
        return Configuration().keep
    try:
        return int(match[1]) * _UNITS[match[2]]
    except OverflowError:
        return timedelta.max


def _limits(source: Source, table: dict[str, Any], report: Report) -> Limits:
    given = table.get("limits", {})
    if not isinstance(given, dict):
        report.say(codes.CONFIGURATION, _place(source, "limits"), "`limits` is a table: `[limits]`")
        return Limits()
    known = [limit.name for limit in fields(Limits)]
    found: dict[str, Any] = {}
    for key, value in given.items():
        if key not in known:
            report.say(
                codes.CONFIGURATION,
                _place(source, key),
                f"there is no limit `{key}`",
                help=did_you_mean(key, known, "limits"),
            )
        elif (number := _number(value)) is None or number <= 0 or (key != "seconds" and number != int(number)):
            report.say(
                codes.CONFIGURATION,
                _place(source, key),
                f"`{key}` is a {'' if key == 'seconds' else 'whole '}number above zero, not {value!r}",
                help='write `seconds = 10`, or `memory = "2 GB"`',
            )
        elif number > _MOST.get(key, number):
            report.say(codes.CONFIGURATION, _place(source, key), f"`{key}` can be at most {_MOST[key]:,}")
        else:
            found[key] = number
    return Limits(**found)


def _spark(source: Source, table: dict[str, Any], report: Report) -> dict[str, str]:
    """`spark.executor.memory = "4g"` is a table in a table, and a setting of that name."""
    given = table.get("spark", {})
    if not isinstance(given, dict):
        report.say(codes.CONFIGURATION, _place(source, "spark"), "`spark` is a table: `spark.executor.memory = …`")
        return {}
    found: dict[str, str] = {}
    ahead: list[tuple[str, Any]] = [("spark", given)]
    while ahead:
        name, value = ahead.pop()
        if isinstance(value, dict):
            ahead.extend((f"{name}.{key}", inner) for key, inner in value.items())
        elif isinstance(value, bool):
            found[name] = str(value).lower()
        elif isinstance(value, str | int | float):
            found[name] = str(value)
        else:
            report.say(codes.CONFIGURATION, _place(source, "spark"), f"`{name}` is a text, a number, or true or false")
    master = found.get("spark.master")
    if master is not None and not names_master(master):
        report.say(
            codes.CONFIGURATION,
            _place(source, "spark.master" if "spark.master" in source.text else "master"),
            f"`{master}` is no place for Spark",
            help="write `local[2]`, `spark://host:7077`, `yarn` or `k8s://…`",
        )
    return dict(sorted(found.items()))


def _config(source: Source, table: dict[str, Any], report: Report) -> dict[str, str]:
    given = table.get("config", {})
    if isinstance(given, dict) and all(isinstance(value, str) for value in given.values()):
        return given
    report.say(
        codes.CONFIGURATION,
        _place(source, "config"),
        "`config` is a table of texts",
        help='write `[config]`, and below it `name = "value"`',
    )
    return {}


def _number(value: Any) -> int | float | None:
    if isinstance(value, str) and (match := _SIZE.fullmatch(value)) is not None:
        return int(match[1]) * _BYTES[match[2]]
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if is_number else None


def _place(source: Source, key: str) -> Span:
    match = re.search(rf"^\s*\[*\s*({re.escape(key)})\b", source.text, re.MULTILINE)
    return Span(source, match.start(1), match.end(1)) if match else Span(source, 0, 0)
