"""The OpenAPI document, made of the operations."""

from functools import cache
from http import HTTPStatus
from typing import Any

from demaq._version import __version__
from demaq.engine.shown import COUNTS
from demaq.model import MessageState, Origin, QueueKind, QueueMode
from demaq.server.exchanges import LONGEST_KEY
from demaq.server.operations import OPERATIONS, Operation
from demaq.store import DeliveryResult

_INTEGER = {"type": "integer"}
_TEXT = {"type": "string"}
_TIME = {"type": "string", "format": "date-time"}
_BOOLEAN = {"type": "boolean"}


_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {**_TEXT, "minLength": 1, "maxLength": LONGEST_KEY},
}


@cache
def openapi() -> dict[str, Any]:
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Demaq",
            "version": __version__,
            "description": "A node of Demaq: its queues, messages, slices, errors, timers and versions.",
        },
        "paths": paths,
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [*_parameters(operation)],
        "responses": {
            str(operation.status): {
                "description": HTTPStatus(operation.status).phrase,
                "content": {"application/json": {"schema": _ref(operation.returns)}},
            },
            **{str(status): _problem(status) for status in sorted({*operation.errors, *_of_the_guard(operation), 503})},
        },
    }
    if operation.takes is not None:
        found["requestBody"] = {"required": True, "content": _content(operation.takes)}
    return found


def _of_the_guard(operation: Operation) -> tuple[int, ...]:
    """By which a request is refused whatever it asks for."""
    return (400, 401, 413, 421, 429) if operation.method == "GET" else (400, 401, 403, 413, 421, 429)


def _content(takes: str) -> dict[str, Any]:
    if takes.startswith("application/"):
        return {takes: {"schema": {"type": "string", "format": "binary"}}}
    return {"application/json": {"schema": _ref(takes)}, "application/xml": {"schema": _TEXT}}


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": dict(schema)}
        for name, schema in operation.path_types.items()
    ]
    in_query = [
        {
            "name": name,
            "in": "query",
            "required": bool(schema.get("required")),
            "schema": {key: value for key, value in schema.items() if key != "required"},
        }
        for name, schema in operation.query.items()
    ]
    return in_path + in_query + ([_KEY] if operation.is_keyed else [])


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _problem(status: int) -> dict[str, Any]:
    return {
        "description": HTTPStatus(status).phrase,
        "content": {"application/problem+json": {"schema": _ref("Problem")}},
    }


def _object(**properties: Any) -> dict[str, Any]:
    """All of them are there; what may be nothing is null."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(name: str) -> dict[str, Any]:
    return {"type": "array", "items": _ref(name)}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _one_of(kind: Any) -> dict[str, Any]:
    return {"type": "string", "enum": [each.value for each in kind]}


_COUNTS = _object(**dict.fromkeys(COUNTS, _INTEGER))
_MESSAGE: dict[str, Any] = {
    "id": _INTEGER,
    "queue": _TEXT,
    "body": _TEXT,
    "properties": {"type": "object", "additionalProperties": _object(type=_TEXT, value=_TEXT)},
    "position": _or_null(_INTEGER),
    "cause": _or_null(_INTEGER),
    "rule": _or_null(_TEXT),
    "created": _TIME,
    "origin": _one_of(Origin),
    "state": _one_of(MessageState),
    "processed": _or_null(_TIME),
    "version": _or_null(_INTEGER),
    "due": _or_null(_TIME),
    "retained": _BOOLEAN,
    "held": _BOOLEAN,
}
_DELIVERY = _object(result=_one_of(DeliveryResult), destination=_TEXT, at=_TIME)
_EFFECTS = {"type": "array", "items": {"anyOf": [_ref("Trace"), _INTEGER]}}
_RESETS = {"type": "array", "items": _object(slicing=_TEXT, key=_TEXT)}
_TRACED = _object(**_MESSAGE, resets=_RESETS, effects=_EFFECTS)
_SCHEMAS: dict[str, Any] = {
    "Problem": _object(title=_TEXT, status=_INTEGER, detail=_TEXT),
    "Status": _object(
        application=_or_null(_TEXT),
        version=_or_null(_INTEGER),
        position=_INTEGER,
        nextDue=_or_null(_TIME),
        ok=_BOOLEAN,
        alarms={"type": "array", "items": _TEXT},
        spark=_or_null({"type": "object"}),
        pipelines={"type": "array", "items": _object(name=_TEXT, position=_INTEGER, waiting=_INTEGER)},
        destinations={
            "type": "array",
            "items": _object(queue=_TEXT, to=_TEXT, since=_TIME, kind=_TEXT, reason=_TEXT, waiting=_INTEGER),
        },
        queues={"type": "array", "items": _object(queue=_TEXT, **dict.fromkeys(COUNTS, _INTEGER))},
    ),
    "Queue": _object(name=_TEXT, kind=_one_of(QueueKind), mode=_one_of(QueueMode), priority=_INTEGER, counts=_COUNTS),
    "Queues": _object(queues=_list("Queue")),
    "NewMessage": {
        "type": "object",
        "properties": {
            "body": _TEXT,
            "properties": {
                "type": "object",
                "additionalProperties": {"anyOf": [_TEXT, {"type": "number"}, _BOOLEAN]},
            },
        },
        "required": ["body"],
        "additionalProperties": False,
    },
    "Sent": _object(id=_INTEGER),
    "Listed": _object(**_MESSAGE),
    "Message": _object(**_MESSAGE, retriedAs=_or_null(_INTEGER), delivery=_or_null(_DELIVERY)),
    "Messages": _object(messages=_list("Listed"), next=_or_null(_INTEGER)),
    "Trace": {"anyOf": [_TRACED, {"type": "array", "items": _TRACED}]},
    "Slices": _object(
        slices={"type": "array", "items": _object(slicing=_TEXT, key=_TEXT, members=_INTEGER)}, next=_or_null(_TEXT)
    ),
    "Version": _object(
        number=_INTEGER, application=_TEXT, created=_TIME, position=_or_null(_INTEGER), refused=_or_null(_TEXT)
    ),
    "Versions": _object(versions=_list("Version")),
}
