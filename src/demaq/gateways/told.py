"""What is told of messages that go out: by their ids, without their bodies, and without what an address may hide."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from demaq.gateways.destinations import shown
from demaq.gateways.lanes import Finished
from demaq.gateways.parcel import Undelivered
from demaq.logs import logger, tell
from demaq.model import Message

_LOG = logger("outbox")


def tell_of_finished(done: Sequence[Finished], attempts: Mapping[int, int]) -> None:
    """Messages were sent, or given up. In sequences of WS-ReliableMessaging attempts are not those of one message."""
    for one in done:
        queue = None if one.parcel is None else one.parcel.message.queue
        known: dict[str, Any] = {
            "id": one.message,
            "queue": queue,
            "to": shown(one.to),
            "attempts": attempts.get(one.message),
        }
        if one.failure is None:
            tell(_LOG, "message sent", **known)
        else:
            tell(_LOG, "message not delivered", level=logging.WARNING, kind=one.failure.kind, **known)


def tell_of_refused(refused: Sequence[tuple[Message, Undelivered]]) -> None:
    """Messages were to go where they may not."""
    for message, why in refused:
        known: dict[str, Any] = {"id": message.id, "queue": message.queue, "kind": why.kind, "attempts": 0}
        tell(_LOG, "message not delivered", level=logging.WARNING, **known)


def tell_of_replies(messages: Sequence[Message]) -> None:
    """Messages answered requests. On which connection is between the node and who asked."""
    for message in messages:
        tell(_LOG, "message replied", id=message.id, queue=message.queue)
