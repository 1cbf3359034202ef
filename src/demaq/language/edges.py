"""`[server]` and `[gateways.NAME]` in `demaq.toml`: how a node is connected to the world."""

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from demaq.diagnostics import Report, Source, did_you_mean
from demaq.language import codes
from demaq.language.toml import duration, number, place
from demaq.logs import FORMS
from demaq.model import (
    EdgeSettings,
    GatewaySettings,
    MailSettings,
    SecuritySettings,
    ServerSettings,
    TelemetrySettings,
)

Settings = TypeVar("Settings", ServerSettings, MailSettings, GatewaySettings, SecuritySettings, TelemetrySettings)
_SECRETS = ("token", "password", "key_password")
_FILES = ("folder", "certificate", "key", "trusted", "peer")
_ADDRESSES = ("to", "allow")
_WRONG = object()
_PORTS = 65_535
_CHOICES = {"log": FORMS}


def read_edge(source: Source, table: Mapping[str, Any], report: Report) -> EdgeSettings:
    gateways = table.get("gateways", {})
    if not isinstance(gateways, dict):
        report.say(codes.CONFIGURATION, place(source, "gateways"), "`gateways` are tables: `[gateways.requests]`")
        gateways = {}
    return EdgeSettings(
        server=_read(ServerSettings, source, "server", table.get("server", {}), report),
        mail=_read(MailSettings, source, "mail", table.get("mail", {}), report),
        telemetry=_read(TelemetrySettings, source, "telemetry", table.get("telemetry", {}), report),
        gateways={
            name: _read(GatewaySettings, source, f"gateways.{name}", given, report) for name, given in gateways.items()
        },
    )


def _read(kind: type[Settings], source: Source, table: str, given: Any, report: Report) -> Settings:
    if not isinstance(given, dict):
        report.say(codes.CONFIGURATION, place(source, table), f"`{table}` is a table: `[{table}]`")
        return kind()
    known = {field.name: field.type for field in fields(kind)}
    found: dict[str, Any] = {}
    for key, value in given.items():
        where = place(source, key, table)
        if key not in known:
            help_ = did_you_mean(key, list(known), "settings")
            report.say(codes.CONFIGURATION, where, f"there is no setting `{key}` in `[{table}]`", help=help_)
            continue
        if key == "security":
            found[key] = _read(SecuritySettings, source, f"{table}.security", value, report)
            continue
        if key == "users":
            found[key] = _users(source, f"{table}.users", value, report)
            continue
        read = _value(getattr(kind(), key), key, value)
        if read is _WRONG:
            what = _WORDS.get(key) or _KINDS[_kind_of(kind, key)]
            report.say(codes.CONFIGURATION, where, f"`{key}` is {what}, not {value!r}")
        elif key in _SECRETS:
            found[key] = _secret(key, read, table, source, report)
            if key == "token":  # of which it matters that it is wanted, though nobody has set it
                found[key] = found[key] or ""
        else:
            found[key] = _beside(read, key, source)
    return kind(**found)


def _users(source: Source, table: str, given: Any, report: Report) -> dict[str, str]:
    """The users who are known, with their passwords. Whose password is not set is not known."""
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        report.say(codes.CONFIGURATION, place(source, table), f'`[{table}]` has lines such as `ada = "$ADA_PASSWORD"`')
        return {}
    secrets = {name: _secret(name, value, table, source, report, "password") for name, value in given.items()}
    return {name: secret for name, secret in secrets.items() if secret is not None}


_WORDS = {
    "port": "a number of a port",
    "log": '"off", "text" or "json"',
    "relays": 'a list of addresses and networks such as "192.0.2.25" and "10.0.0.0/8"',
    "endpoint": 'an address such as "http://localhost:4318"',
}
_KINDS: dict[type, str] = {
    timedelta: 'a duration such as "30 seconds"',
    bool: "true or false",
    int: "a whole number",
    tuple: "a list of texts",
    str: "a text in quotes",
}


def _kind_of(kind: type[Settings], key: str) -> type:
    default = getattr(kind(), key)
    return str if default is None else type(default)


def _value(default: Any, key: str, value: Any) -> Any:
    """A value of the same kind as that which a setting has if nobody sets it."""
    if isinstance(default, timedelta):
        return _or_wrong(duration(value))
    if isinstance(default, bool):
        return value if isinstance(value, bool) else _WRONG
    if isinstance(default, int):
        read = number(value)
        is_good = read is not None and read == int(read) and read >= 0 and (key != "port" or read <= _PORTS)
        return int(read) if is_good and read is not None else _WRONG
    if isinstance(default, tuple):
        is_list = isinstance(value, list) and all(isinstance(each, str) for each in value)
        return tuple(value) if is_list and (key != "relays" or all(map(_is_network, value))) else _WRONG
    if key == "endpoint" and not str(value).startswith(("http://", "https://")):
        return _WRONG
    return value if isinstance(value, str) and value in _CHOICES.get(key, (value,)) else _WRONG


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def _or_wrong(value: Any) -> Any:
    return _WRONG if value is None else value


def _beside(value: Any, key: str, source: Source) -> Any:
    """Files and folders are named as they are seen from `demaq.toml`."""
    root = Path(source.name).parent
    if isinstance(value, tuple):
        return tuple(_beside(each, key, source) for each in value)
    if key in _FILES:
        return str((root / value).resolve())
    if key in _ADDRESSES and value.startswith("file:") and not value.startswith("file://"):
        return f"file://{(root / value.removeprefix('file:')).resolve()}"
    return value


def _secret(key: str, value: str, table: str, source: Source, report: Report, what: str = "") -> str | None:
    """What a variable of the environment has: a secret does not stand in a file that everybody may read."""
    if not value.startswith("$"):
        report.say(
            codes.CONFIGURATION,
            place(source, key, table),
            f"a {what or key} does not stand here, where others may read it",
            help=f'name a variable of the environment: `{key} = "$DEMAQ_{key.upper()}"`',
        )
        return None
    return os.environ.get(value[1:]) or None
