"""What is in the log, as JSON, for programs."""

from datetime import datetime
from typing import Any

from demaq.engine.log import Status, Trace
from demaq.model import Message
from demaq.store import Delivery, QueueCounts, Version

COUNTS = ("outside", "produced", "completed", "failed", "waiting", "retained", "held", "kept", "reclaimed")
_NESTED = 100  # levels that programs that read JSON can be expected to take


def time_json(then: datetime | None) -> str | None:
    return None if then is None else then.isoformat().replace("+00:00", "Z")


def message_json(message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "queue": message.queue,
        "body": message.body,
        "properties": {name: {"type": value.type, "value": value.text} for name, value in message.properties.items()},
        "position": message.position,
        "cause": message.cause,
        "rule": message.rule,
        "created": time_json(message.created),
        "origin": message.origin.value,
        "state": message.state.value,
        "processed": time_json(message.processed),
        "version": message.version,
        "due": time_json(message.due),
        "retained": message.retained,
        "held": message.held,
    }


def trace_json(found: Trace) -> dict[str, Any] | list[dict[str, Any]]:
    """A tree; if that is very deep, a list of its messages."""
    traces = list(found.walk())
    if max(depth for depth, _ in traces) < _NESTED:
        return _tree(found)
    return [{**_one(each), "effects": [effect.message.id for effect in each.effects]} for _, each in traces]


def _tree(found: Trace) -> dict[str, Any]:
    return {**_one(found), "effects": [_tree(effect) for effect in found.effects]}


def _one(found: Trace) -> dict[str, Any]:
    resets = [{"slicing": slice_.slicing, "key": slice_.key} for slice_ in found.resets]
    return {**message_json(found.message), "resets": resets}


def status_json(found: Status) -> dict[str, Any]:
    return {
        "application": None if found.version is None else found.version.application,
        "version": None if found.version is None else found.version.number,
        "position": found.position,
        "nextDue": time_json(found.next_due),
        "ok": not found.alarms,
        "alarms": found.alarms,
        "spark": found.spark,
        "pipelines": [{"name": one.name, "position": one.position, "waiting": one.waiting} for one in found.pipelines],
        "destinations": [
            {
                "queue": one.queue,
                "to": one.to,
                "since": time_json(one.since),
                "kind": one.kind,
                "reason": one.reason,
                "waiting": one.waiting,
            }
            for one in found.destinations
        ],
        "queues": [counts_json(counted) for counted in found.queues],
    }


def counts_json(counted: QueueCounts) -> dict[str, Any]:
    return {"queue": counted.queue, **{name: getattr(counted, name) for name in COUNTS}}


def delivery_json(found: Delivery) -> dict[str, Any]:
    return {"result": found.result.value, "destination": found.destination, "at": time_json(found.at)}


def version_json(found: Version) -> dict[str, Any]:
    return {
        "number": found.number,
        "application": found.application,
        "created": time_json(found.created),
        "position": found.position,
        "refused": found.refused,
    }
