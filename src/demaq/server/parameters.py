"""The parameters of a request, checked by the schemas of its operation."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from demaq.diagnostics import did_you_mean
from demaq.server.operations import Operation
from demaq.server.problems import Problem

_BOOLEANS = {"true": True, "false": False}


def parameters(request: Request, operation: Operation) -> dict[str, Any]:
    """All parameters, with their values, or those that they have if nobody says anything else."""
    found: dict[str, Any] = {}
    for name, schema in operation.path_types.items():
        found[name] = _value(name, str(request.path_params[name]), schema)
    given = request.query_params
    for name in given:
        if name not in operation.query:
            known = did_you_mean(name, list(operation.query), "parameters") if operation.query else "it takes none"
            raise Problem(400, f"there is no parameter `{name}`: {known}")
        if len(given.getlist(name)) > 1:
            raise Problem(400, f"the parameter `{name}` is there twice")
    for name, schema in operation.query.items():
        if name in given:
            found[name] = _value(name, given[name], schema)
        elif schema.get("required"):
            raise Problem(400, f"the parameter `{name}` is missing")
        else:
            found[name] = schema.get("default")
    return found


def _value(name: str, text: str, schema: Mapping[str, Any]) -> Any:
    if schema["type"] == "boolean":
        if text not in _BOOLEANS:
            raise Problem(400, f"`{name}` is true or false, not `{text}`")
        return _BOOLEANS[text]
    if "\x00" in text:
        raise Problem(400, f"`{name}` has a character that no name has")
    if schema["type"] == "integer":
        return _integer(name, text, schema)
    if len(text) < schema.get("minLength", 0):
        raise Problem(400, f"`{name}` is empty")
    return text


def _integer(name: str, text: str, schema: Mapping[str, Any]) -> int:
    lowest, highest = schema["minimum"], schema["maximum"]
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and lowest <= int(text) <= highest):
        raise Problem(400, f"`{name}` is a whole number from {lowest:,} to {highest:,}, not `{text[:40]}`")
    return int(text)
