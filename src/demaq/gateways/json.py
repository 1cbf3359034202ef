"""JSON as XML and back, by the mapping of XQuery 3.1 (`json-to-xml` and `xml-to-json`)."""

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any

from lxml import etree

from demaq.diagnostics import DemaqError
from demaq.engine.errors import printable
from demaq.engine.xml import admitted

NAMESPACE = "http://www.w3.org/2005/xpath-functions"
_NAME = f"{{{NAMESPACE}}}"
_DEEPEST = 200  # levels
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")


class JsonInvalid(DemaqError):
    """A text is no JSON."""


class JsonUnknown(DemaqError):
    """A document is not the XML form of JSON."""


class _Number(str):
    """A number as it was written."""


class _Members(list[tuple[str, Any]]):
    """Of an object, in their order: names may come twice."""


def json_to_xml(data: bytes) -> str:
    """The XML form of a JSON text.

    >>> json_to_xml(b'{"a": [1.50, true, null]}')[52:]
    '<array key="a"><number>1.50</number><boolean>true</boolean><null/></array></map>'
    """
    try:
        text = data.decode("utf-8-sig")
        value = json.loads(
            text, object_pairs_hook=_Members, parse_int=_Number, parse_float=_Number, parse_constant=_refuse
        )
    except UnicodeDecodeError as error:
        raise JsonInvalid(f"the JSON is not UTF-8: byte {error.start} is wrong") from error
    except json.JSONDecodeError as error:
        raise JsonInvalid(f"this is not JSON: {error.msg}, line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise JsonInvalid(f"the JSON is nested deeper than {_DEEPEST} levels") from error
    root = _element(value, None, 0)
    return str(etree.tostring(root, encoding="unicode"))


def _refuse(constant: str) -> Any:
    raise JsonInvalid(f"this is not JSON: there is no number {constant}")


def _element(value: Any, key: str | None, depth: int) -> "etree._Element":
    if depth > _DEEPEST:
        raise JsonInvalid(f"the JSON is nested deeper than {_DEEPEST} levels")
    name, text = _kind(value)
    element = etree.Element(f"{_NAME}{name}", nsmap={None: NAMESPACE} if depth == 0 else None)
    element.text = text
    if key is not None:
        element.set("key", printable(key))
    if isinstance(value, _Members):
        element.extend([_element(inner, name, depth + 1) for name, inner in value])
    elif isinstance(value, list):
        element.extend([_element(inner, None, depth + 1) for inner in value])
    return element


def _kind(value: Any) -> tuple[str, str | None]:
    if isinstance(value, _Members):
        return "map", None
    if isinstance(value, list):
        return "array", None
    if value is None:
        return "null", None
    if isinstance(value, bool):
        return "boolean", "true" if value else "false"
    return ("number", str(value)) if isinstance(value, _Number) else ("string", printable(value))


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
