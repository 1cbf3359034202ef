"""Typed values, for the XQuery engine and from it."""

import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from demaq.model import Message, Value
from demaq.store import KeyKind
from demaq.xquery.saxon import Item, Saxon

_CACHED = 1024  # maps of properties that are kept
_TIMES = frozenset({"xs:dateTime", "xs:dateTimeStamp"})
_FLOATS = frozenset({"xs:double", "xs:float"})
_OFFSET = re.compile(
    r"(?P<whole>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?P<fraction>\.\d+)?(?P<sign>[+-])(?P<hours>\d\d):(?P<minutes>\d\d)"
)


class Values:
    """Values as `driver.xq` reads them. Those that come again are made once."""

    def __init__(self, saxon: Saxon, to_time: Item) -> None:
        self._saxon = saxon
        self._to_time = to_time
        self._maps: dict[tuple[tuple[str, str, str], ...], Item] = {}
        self._now: datetime | None = None
        self._now_item: Item = None

    def map(self, values: Mapping[str, Value]) -> Item:
        """Properties: each a pair of type and text."""
        if not values:
            return self._saxon.map({})
        key = tuple((name, value.type, value.text) for name, value in values.items())
        found = self._maps.get(key)
        if found is None:
            text = self._saxon.string
            pairs = {name: self._saxon.array([text(value.type), text(value.text)]) for name, value in values.items()}
            found = self._saxon.map(pairs)
            if len(self._maps) >= _CACHED:
                self._maps.clear()
            self._maps[key] = found
        return found

    def system(self, cause: Message | None, now: datetime) -> Item:
        """What the system knows of a message that is being made."""
        values = {"sys:created": Value("xs:dateTime", time_text(now))}
        if cause is not None:
            values["sys:cause"] = Value("xs:integer", str(cause.id))
        return self.map(values)

    def time(self, then: datetime) -> Item:
        if then != self._now:
            (self._now_item,) = self._saxon.called(self._to_time, self._saxon.string(time_text(then)))
            self._now = then
        return self._now_item


def readable(message: Message, names: Iterable[str]) -> dict[str, Value]:
    """Those of a message's properties, and of the system's."""
    found = {}
    for name in names:
        value = value_of(message, name)
        if value is not None:
            found[name] = value
    return found


def value_of(message: Message, name: str) -> Value | None:
    """A property of a message, or of the system's."""
    value = message.properties.get(name)
    return value if value is not None or not name.startswith("sys:") else _system_value(name, message)


def _system_value(name: str, message: Message) -> Value | None:
    if name == "sys:id":
        return Value("xs:integer", str(message.id))
    if name == "sys:queue":
        return Value("xs:string", message.queue)
    if name == "sys:rule":
        return None if message.rule is None else Value("xs:string", message.rule)
    if name == "sys:cause":
        return None if message.cause is None else Value("xs:integer", str(message.cause))
    if name == "sys:created":
        return Value("xs:dateTime", time_text(message.created))
    if name == "sys:size":
        return Value("xs:integer", str(len(message.body)))
    return message.properties.get("Sender") if name == "sys:sender" else None


def time_text(then: datetime) -> str:
    return then.isoformat().replace("+00:00", "Z")


def key_text(value: Value) -> str:
    """The key of a slice: values that are equal give the same, though they may be written in several ways.

    >>> key_text(Value("xs:dateTime", "2024-05-01T01:30:00+02:00"))
    '2024-04-30T23:30:00Z'
    >>> key_text(Value("xs:double", "-0")), key_text(Value("xs:string", "-0"))
    ('0', '-0')
    """
    if value.type in _TIMES:
        return _in_utc(value.text)
    return "0" if value.text == "-0" and value.type in _FLOATS else value.text


def _in_utc(text: str) -> str:
    match = _OFFSET.fullmatch(text)
    if match is None:
        return text
    moved = timedelta(hours=int(match["hours"]), minutes=int(match["minutes"]))
    then = datetime.fromisoformat(match["whole"])
    try:
        then = then - moved if match["sign"] == "+" else then + moved
    except OverflowError:
        return text
    return f"{then.isoformat()}{match['fraction'] or ''}Z"


def text_of(value: Any) -> str:
    """A value of Python, as the text of a property.

    >>> text_of(True), text_of(Decimal("1E+3")), text_of(float("-inf")), text_of(date(2007, 1, 10))
    ('true', '1000', '-INF', '2007-01-10')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):  # or a time
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"{'-' if value < timedelta(0) else ''}PT{abs(value).total_seconds():f}S"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, float):
        return {float("inf"): "INF", float("-inf"): "-INF"}.get(value, "NaN" if value != value else repr(value))
    return str(value)


def canonical(kind: KeyKind, text: str) -> str:
    """A key as the index has it."""
    found = index_key(kind, text)
    return text if found is None else found


def index_key(kind: KeyKind, text: str) -> str | None:
    """The value of a path as a key: None for a text that is no number, where numbers are compared."""
    if kind is KeyKind.TEXT:
        return text
    stripped = text.strip().replace("INF", "inf")
    if not stripped or any(c.isalpha() and c not in "eEinfNa" for c in stripped) or "_" in stripped:
        return None
    try:
        return repr(float(stripped) + 0.0)
    except ValueError:
        return None
