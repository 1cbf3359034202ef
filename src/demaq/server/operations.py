"""The operations of the REST API: what routes, checks of parameters and the OpenAPI document are made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MOST = 1000  # entries on one page
_ID = {"type": "integer", "minimum": 1, "maximum": 2**63 - 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """`name` is that of the method of `Api`. `query` and `path_types` are schemas, by the names of parameters;
    `returns` is the name of a schema; `errors` are the statuses of problems that it may answer with. What `is_keyed` is
    done once for each `Idempotency-Key`."""

    name: str
    method: str
    path: str
    summary: str
    returns: str
    status: int = 200
    query: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    path_types: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    takes: str | None = None
    is_keyed: bool = False
    errors: tuple[int, ...] = ()


_PAGE = {
    "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "default": 100},
    "after": {"type": "integer", "minimum": 0, "maximum": 2**63 - 1, "default": 0},
}
_NAME = {"type": "string", "minLength": 1}

OPERATIONS = (
    Operation(
        name="status", method="GET", path="/api/status", summary="The ledger, and how the node stands", returns="Status"
    ),
    Operation(name="queues", method="GET", path="/api/queues", summary="All queues", returns="Queues"),
    Operation(
        name="queue",
        method="GET",
        path="/api/queues/{queue}",
        summary="One queue",
        returns="Queue",
        path_types={"queue": _NAME},
        errors=(404,),
    ),
    Operation(
        name="send",
        method="POST",
        path="/api/queues/{queue}/messages",
        summary="Put a message into a queue; it is durable when this returns",
        returns="Sent",
        status=201,
        path_types={"queue": _NAME},
        takes="NewMessage",
        is_keyed=True,
        errors=(400, 404, 415, 422),
    ),
    Operation(
        name="messages",
        method="GET",
        path="/api/messages",
        summary="Messages by their ids, those that wait, are retained or are to be sent; with `all`, the others, too",
        returns="Messages",
        query={**_PAGE, "queue": _NAME, "all": {"type": "boolean", "default": False}},
        errors=(400, 404),
    ),
    Operation(
        name="message",
        method="GET",
        path="/api/messages/{id}",
        summary="One message, and what became of it if it was to be sent",
        returns="Message",
        path_types={"id": _ID},
        errors=(400, 404),
    ),
    Operation(
        name="trace",
        method="GET",
        path="/api/messages/{id}/trace",
        summary="Where a message came from, and what came of it",
        returns="Trace",
        path_types={"id": _ID},
        errors=(400, 404),
    ),
    Operation(
        name="retry",
        method="POST",
        path="/api/messages/{id}/retry",
        summary="Process a message again that failed, or send one again that could not be delivered",
        returns="Sent",
        status=201,
        path_types={"id": _ID},
        errors=(400, 404, 409),
    ),
    Operation(
        name="slices",
        method="GET",
        path="/api/slices",
        summary="Slices that have members",
        returns="Slices",
        query={"slicing": _NAME, "limit": _PAGE["limit"], "after": {"type": "string", "default": ""}},
        errors=(400, 404),
    ),
    Operation(
        name="slice",
        method="GET",
        path="/api/slices/{slicing}",
        summary="The members of one slice",
        returns="Messages",
        path_types={"slicing": _NAME},
        query={**_PAGE, "key": {"type": "string", "required": True}},
        errors=(400, 404),
    ),
    Operation(
        name="errors",
        method="GET",
        path="/api/errors",
        summary="Error messages, the latest first",
        returns="Messages",
        query=_PAGE,
        errors=(400,),
    ),
    Operation(
        name="timers",
        method="GET",
        path="/api/timers",
        summary="Messages that wait for their time",
        returns="Messages",
        query=_PAGE,
        errors=(400,),
    ),
    Operation(
        name="versions",
        method="GET",
        path="/api/versions",
        summary="The versions of the application",
        returns="Versions",
    ),
    Operation(
        name="deploy",
        method="POST",
        path="/api/versions",
        summary="Put a new version of the application into force; it comes as a ZIP archive of its folder",
        returns="Version",
        status=201,
        takes="application/zip",
        errors=(400, 409, 415, 422),
    ),
)
