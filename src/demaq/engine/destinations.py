"""Destinations that do not take what is sent to them, as a node tells of them in its store."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from demaq.store import Store

DESTINATIONS = "destinations"
"""The name of the note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Since when one has failed for a queue; why, at the last attempt; and how many messages wait for it."""

    queue: str
    to: str
    since: datetime
    kind: str
    reason: str
    waiting: int


def destinations_text(found: Sequence[Destination]) -> str:
    """What is left in the store; nothing if there are none."""
    return json.dumps([{**asdict(each), "since": each.since.isoformat()} for each in found]) if found else ""


def failing_destinations(store: Store) -> tuple[Destination, ...]:
    """What a node that serves told last."""
    text, _ = store.notes().get(DESTINATIONS, ("", None))
    read = json.loads(text) if text else []
    return tuple(Destination(**{**each, "since": datetime.fromisoformat(each["since"])}) for each in read)
