"""`demaq.toml`: what an operator sets, beside what the application says."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from typing import Any

from demaq.diagnostics import Report, Source, Span, did_you_mean
from demaq.language import codes
from demaq.language.edges import read_edge
from demaq.language.toml import duration, number, place
from demaq.model import EdgeSettings, Limits
from demaq.model.masters import names_master

FILE = "demaq.toml"
_KEYS = ("name", "description", "keep", "limits", "spark", "config", "server", "mail", "gateways", "telemetry")
_MOST = {"depth": 1_000, "worker_names": 900_000}  # what the XQuery engine takes
_LINE = re.compile(r"\(at line (\d+), column (\d+)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """`keep`: how long messages that no rule can see any more are held for people to look at.

    `spark` are settings of Spark, by their own names. `config` is what `$name` stands for in pipelines. `edge` is how a
    node is connected to the world.
    """

    name: str | None = None
    description: str = ""
    keep: timedelta = timedelta(days=7)
    limits: Limits = field(default_factory=Limits)
    spark: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, str] = field(default_factory=dict, repr=False)
    edge: EdgeSettings = field(default_factory=EdgeSettings)


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
                place(source, key),
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
        edge=read_edge(source, table, report),
    )


def _text(source: Source, table: dict[str, Any], key: str, report: Report) -> str:
    value = table.get(key, "")
    if isinstance(value, str):
        return value
    report.say(codes.CONFIGURATION, place(source, key), f"`{key}` is a string in quotes")
    return ""


def _keep(source: Source, table: dict[str, Any], report: Report) -> timedelta:
    if "keep" not in table:
        return Configuration().keep
    found = duration(table["keep"])
    if found is None:
        report.say(
            codes.CONFIGURATION,
            place(source, "keep"),
            f"`keep` is a duration, not {table['keep']!r}",
            help='write it as a number and a unit: `keep = "7 days"`',
        )
        return Configuration().keep
    return found


def _limits(source: Source, table: dict[str, Any], report: Report) -> Limits:
    given = table.get("limits", {})
    if not isinstance(given, dict):
        report.say(codes.CONFIGURATION, place(source, "limits"), "`limits` is a table: `[limits]`")
        return Limits()
    known = [limit.name for limit in fields(Limits)]
    found: dict[str, Any] = {}
    for key, value in given.items():
        if key not in known:
            report.say(
                codes.CONFIGURATION,
                place(source, key),
                f"there is no limit `{key}`",
                help=did_you_mean(key, known, "limits"),
            )
        elif (limit := number(value)) is None or limit <= 0 or (key != "seconds" and limit != int(limit)):
            report.say(
                codes.CONFIGURATION,
                place(source, key),
                f"`{key}` is a {'' if key == 'seconds' else 'whole '}number above zero, not {value!r}",
                help='write `seconds = 10`, or `memory = "2 GB"`',
            )
        elif limit > _MOST.get(key, limit):
            report.say(codes.CONFIGURATION, place(source, key), f"`{key}` can be at most {_MOST[key]:,}")
        else:
            found[key] = limit
    return Limits(**found)


def _spark(source: Source, table: dict[str, Any], report: Report) -> dict[str, str]:
    """`spark.executor.memory = "4g"` is a table in a table, and a setting of that name."""
    given = table.get("spark", {})
    if not isinstance(given, dict):
        report.say(codes.CONFIGURATION, place(source, "spark"), "`spark` is a table: `spark.executor.memory = …`")
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
            report.say(codes.CONFIGURATION, place(source, "spark"), f"`{name}` is a text, a number, or true or false")
    master = found.get("spark.master")
    if master is not None and not names_master(master):
        report.say(
            codes.CONFIGURATION,
            place(source, "spark.master" if "spark.master" in source.text else "master"),
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
        place(source, "config"),
        "`config` is a table of texts",
        help='write `[config]`, and below it `name = "value"`',
    )
    return {}
