"""JSON as XML and back, by the mapping of XQuery 3.1 (`json-to-xml` and `xml-to-json`)."""

import json
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from xml.sax.saxutils import escape

from lxml import etree

from demaq.diagnostics import DemaqError
from demaq.engine.errors import printable
from demaq.engine.xml import admitted
from demaq.model import Limits

NAMESPACE = "http://www.w3.org/2005/xpath-functions"
_DEEPEST = 200  # levels
LONGEST = Limits().message_size  # characters of XML, unless others are allowed
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_LITERAL = re.compile(rf"(?P<none>NaN|-?Infinity)|(?P<number>{_NUMBER.pattern})|true|false|null")
_STRINGS = json.JSONDecoder()
_BLANK = " \t\n\r"
_BLANKS = re.compile(f"[{_BLANK}]*")
_CARRIAGE_RETURN = {"\r": "&#13;"}
_IN_ATTRIBUTES = _CARRIAGE_RETURN | {'"': "&quot;", "\t": "&#9;", "\n": "&#10;"}


class JsonInvalid(DemaqError):
    """A text is no JSON. `kind` is that of the error message about it."""

    kind = "malformed"


class JsonTooLarge(JsonInvalid):
    """A text is JSON, perhaps, but too large as XML."""

    kind = "resource"


class JsonUnknown(DemaqError):
    """A document is not the XML form of JSON."""


def json_to_xml(data: bytes, longest: int = LONGEST) -> str:
    """The XML form of a JSON text; raises `JsonInvalid`, as soon as it is longer than so many characters.

    >>> json_to_xml(b'{"a": [1.50, true, null]}')[52:]
    '<array key="a"><number>1.50</number><boolean>true</boolean><null/></array></map>'
    """
    try:
        return _Reader(data.decode("utf-8-sig"), longest).document()
    except UnicodeDecodeError as error:
        raise JsonInvalid(f"the JSON is not UTF-8: byte {error.start} is wrong") from error
    except json.JSONDecodeError as error:
        raise JsonInvalid(f"this is not JSON: {error.msg}, line {error.lineno}, column {error.colno}") from error


class _Reader:
    """Writes XML as it reads JSON. Nothing is built meanwhile: a few bytes of JSON can be much XML."""

    def __init__(self, text: str, longest: int) -> None:
        self._text = text
        self._longest = longest
        self._at = 0
        self._written: list[str] = []
        self._size = 0

    def document(self) -> str:
        self._value(f' xmlns="{NAMESPACE}"', 0)
        if self._next():
            raise self._wrong("Extra data")
        return "".join(self._written)

    def _value(self, attributes: str, depth: int) -> None:
        if depth > _DEEPEST:
            raise JsonInvalid(f"the JSON is nested deeper than {_DEEPEST} levels")
        first = self._next()
        if first == "{":
            self._all_of("map", "}", attributes, self._member, depth)
        elif first == "[":
            self._all_of("array", "]", attributes, self._item, depth)
        elif first == '"':
            self._write(_element("string", attributes, escape(printable(self._string()), _CARRIAGE_RETURN)))
        else:
            self._write(self._literal(attributes))

    def _all_of(self, name: str, end: str, attributes: str, one: Callable[[int], None], depth: int) -> None:
        self._at += 1
        if self._next() == end:
            self._at += 1
            self._write(f"<{name}{attributes}/>")
            return
        self._write(f"<{name}{attributes}>")
        one(depth + 1)
        while (found := self._next()) == ",":
            self._at += 1
            one(depth + 1)
        if found != end:
            raise self._wrong("Expecting ',' delimiter")
        self._at += 1
        self._write(f"</{name}>")

    def _item(self, depth: int) -> None:
        self._value("", depth)

    def _member(self, depth: int) -> None:
        if self._next() != '"':
            raise self._wrong("Expecting property name enclosed in double quotes")
        key = escape(printable(self._string()), _IN_ATTRIBUTES)
        if self._next() != ":":
            raise self._wrong("Expecting ':' delimiter")
        self._at += 1
        self._value(f' key="{key}"', depth)

    def _string(self) -> str:
        found, self._at = _STRINGS.raw_decode(self._text, self._at)
        return str(found)

    def _literal(self, attributes: str) -> str:
        found = _LITERAL.match(self._text, self._at)
        if found is None:
            raise self._wrong("Expecting value")
        text, self._at = found[0], found.end()
        if found.lastgroup == "none":
            raise JsonInvalid(f"this is not JSON: there is no number {text}")
        if text == "null":
            return f"<null{attributes}/>"
        return _element("number" if found.lastgroup == "number" else "boolean", attributes, text)

    def _next(self) -> str:
        """The next character that means something, which is not passed over; nothing at the end."""
        if self._text[self._at : self._at + 1] in _BLANK:
            found = _BLANKS.match(self._text, self._at)
            self._at = self._at if found is None else found.end()
        return self._text[self._at : self._at + 1]

    def _write(self, text: str) -> None:
        self._size += len(text)
        if self._size > self._longest:
            raise JsonTooLarge(f"the JSON has more than {self._longest:,} characters as XML: no more are allowed")
        self._written.append(text)

    def _wrong(self, reason: str) -> json.JSONDecodeError:
        return json.JSONDecodeError(reason, self._text, self._at)


def _element(name: str, attributes: str, text: str) -> str:
    return f"<{name}{attributes}>{text}</{name}>"


def is_json(body: str) -> bool:
    """Is a message the XML form of JSON?"""
    return NAMESPACE in body[:1000]


def xml_to_json(body: str) -> str:
    """The JSON text of its XML form.

    >>> xml_to_json('<map xmlns="http://www.w3.org/2005/xpath-functions"><number key="a">1.50</number></map>')
    '{"a":1.50}'
    """
    return _text(admitted(body), 0)


def _text(element: "etree._Element", depth: int) -> str:
    name = etree.QName(element)
    if name.namespace != NAMESPACE or depth > _DEEPEST:
        raise JsonUnknown(f"`{name.localname}` is not of the XML form of JSON")
    if name.localname == "map":
        members = (f"{json.dumps(each.get('key', ''))}:{_text(each, depth + 1)}" for each in element.iterchildren("*"))
        return "{" + ",".join(members) + "}"
    if name.localname == "array":
        return "[" + ",".join(_text(each, depth + 1) for each in element.iterchildren("*")) + "]"
    return _value(str(name.localname), "".join(element.itertext()))


def _value(kind: str, text: str) -> str:
    if kind == "string":
        return json.dumps(text, ensure_ascii=False)
    stripped = text.strip()
    if kind == "null" and not stripped:
        return "null"
    if kind == "boolean" and stripped in ("true", "false", "1", "0"):
        return "true" if stripped in ("true", "1") else "false"
    if kind == "number":
        return stripped if _NUMBER.fullmatch(stripped) else _number(stripped)
    raise JsonUnknown(f"`{text}` is no {kind}")


def _number(text: str) -> str:
    """A number that XML Schema writes other than JSON."""
    try:
        found = Decimal(text)
    except InvalidOperation as error:
        raise JsonUnknown(f"`{text}` is no number") from error
    if not found.is_finite():
        raise JsonUnknown(f"JSON has no number {text}")
    return f"{found:f}"
