"""JSON: objects are facts, and their fields parameters.

Objects in a field that is called like a relation are facts of it, wherever they are. The object that the document is,
or the objects in the list that it is, are facts of the first relation, if they have a parameter of it.
"""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from demaq.pipelines.documents.places import line_of_constant, with_lines
from demaq.pipelines.documents.shapes import Collector, Found, Place, Shape, shown
from demaq.pipelines.values import Value, ValueType

_MORE = "Extra data"  # as the decoder calls it
_DIGITS = "integer string conversion"
_DEEPEST = 100  # objects and lists inside one another


def read_json(document: str | bytes, shapes: tuple[Shape, ...], _options: Mapping[str, Value]) -> Found:
    assert isinstance(document, str)
    exact = any(ValueType.DECIMAL in shape.types for shape in shapes)
    try:
        data = (_EXACT if exact else _DECODER).decode(document)
    except json.JSONDecodeError as error:
        return Found.broken(f"it is no JSON: {error.msg} in column {error.colno}{_advice(error)}", error.lineno)
    except (ValueError, RecursionError) as error:
        return Found.broken(f"it is no JSON that can be read: {_reason(error)}", line_of_constant(document))
    collector = Collector(shapes)
    objects = data if isinstance(data, list) else [data]
    for number, each in enumerate(objects):
        place = (number,) if isinstance(data, list) else ()
        if isinstance(each, dict):
            _root(each, collector, place)
        else:
            collector.problem(f"{shown(place)} is no object, but {_kind(each)}", place=place)
    if collector.found.problems:
        collector.found.problems = with_lines(collector.found.problems, document)
    return collector.found


def _advice(error: json.JSONDecodeError) -> str:
    begins_a_line = error.msg == _MORE and error.lineno > 1 and error.colno == 1
    return "; if each line is a message, write `lines` behind the name of the file" if begins_a_line else ""


def _reason(error: ValueError | RecursionError) -> str:
    """What Python says of numbers is advice to those who write programs."""
    return "a number has thousands of digits" if _DIGITS in str(error) else str(error)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number in JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_number)
_EXACT = json.JSONDecoder(parse_float=Decimal, parse_constant=_no_number)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return {list: "a list", str: "text", bool: "a boolean"}.get(type(value), "a number")


def _root(data: dict[str, Any], collector: Collector, place: Place) -> None:
    """An object is a fact of the first relation if it has a parameter of it; else there may be facts inside."""
    shape = collector.first
    if not any(isinstance(value, dict | list) for value in data.values()) and any(name in data for name in shape.names):
        collector.add(shape, data, place=place)  # the same as below, and faster
        return
    if any(
        not isinstance(data.get(name, {}), dict) and not _holds_facts(name, data[name], collector)
        for name in shape.names
    ):
        _fact(shape, data, collector, None, place, 1)
        return
    before = collector.seen
    _inside(data, collector, None, place, 1)
    if collector.seen == before:
        reason = f"{shown(place)} has no field with the name of a parameter of `{shape.relation}`"
        collector.problem(reason, place=place)


def _holds_facts(name: str, value: Any, collector: Collector) -> bool:
    return isinstance(value, dict | list) and collector.shape(name) is not None


def _fact(
    shape: Shape, data: dict[str, Any], collector: Collector, parent: int | None, place: Place, depth: int
) -> None:
    own = {name: value for name, value in data.items() if not _holds_facts(name, value, collector)}
    number = collector.add(shape, own, parent, place=place)
    _inside(data, collector, number, place, depth)


def _inside(data: dict[str, Any], collector: Collector, parent: int | None, place: Place, depth: int) -> None:
    """The facts in the fields of an object."""
    if depth > _DEEPEST:
        collector.problem(f"{shown(place)} has more than {_DEEPEST} objects inside one another", place=place)
        return
    for name, value in data.items():
        shape = collector.shape(name)
        for number, each in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(each, dict):
                inner = (*place, name, number) if isinstance(value, list) else (*place, name)
                if shape is None:
                    _inside(each, collector, parent, inner, depth + 1)
                else:
                    _fact(shape, each, collector, parent, inner, depth + 1)
