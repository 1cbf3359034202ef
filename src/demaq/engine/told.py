"""What the engine tells of messages: by their ids, and without their bodies."""

import logging
import re
from collections.abc import Collection, Sequence
from contextlib import suppress

from demaq.engine.records import Incoming
from demaq.engine.xml import MessageRefused
from demaq.logs import logger, tell
from demaq.model import NewMessage, Origin
from demaq.store import Arrived, Processed, Store, StoreUnavailable

_INTAKE, _ENGINE = logger("intake"), logger("engine")
_BAD = logging.WARNING
_KIND = re.compile(r"<error><(\w+)/>")  # as error messages begin


def is_told() -> bool:
    """Does anybody listen? If not, nothing has to be looked up."""
    return _ENGINE.isEnabledFor(logging.INFO)


def tell_of_arrivals(
    messages: Sequence[Incoming], answers: Sequence[Arrived | MessageRefused], errors: Sequence[int | None]
) -> None:
    """What came in, and what was refused, with the ids of the error messages about that."""
    if not _INTAKE.isEnabledFor(logging.INFO):
        return
    for incoming, answer, error in zip(messages, answers, errors, strict=True):
        given = incoming.properties.get("Sender")
        sender = None if given is None else given.text
        queue, key = incoming.queue, incoming.key
        if isinstance(answer, MessageRefused):
            refused = {"queue": queue, "reason": answer.kind, "error": error, "key": key, "sender": sender}
            tell(_INTAKE, "message refused", level=_BAD, **refused)
        else:
            event = "message taken in" if answer.is_new else "message came again"
            tell(_INTAKE, event, id=answer.message, queue=queue, key=key, sender=sender)


def tell_of_batch(done: Sequence[Processed], ids: Sequence[int], seconds: float, where: str, store: Store) -> None:
    """Messages were processed: at which positions, and where their rules were evaluated."""
    if not is_told():
        return
    first, last = done[0], done[-1]
    tell(
        _ENGINE,
        "batch processed",
        number=len(done),
        failed=sum(one.failed for one in done),
        produced=len(ids),
        positions=f"{first.position}-{last.position}",
        first=first.message,
        last=last.message,
        seconds=round(seconds, 4),
        where=where,
    )
    tell_of_errors([made for one in done for made in one.produced], ids, store)


def tell_of_errors(made: Sequence[NewMessage], ids: Sequence[int], store: Store) -> None:
    """Error messages that are among those that were made."""
    if not is_told():
        return
    for number, message in zip(ids, made, strict=True):
        if message.origin is Origin.ERROR:
            _tell_of_error(number, message, store)


def _tell_of_error(number: int, made: NewMessage, store: Store) -> None:
    body, rule, cause = made.body, made.rule, made.cause
    if made.staged is not None:
        with suppress(StoreUnavailable):  # whatever happens to the store now, the message is in it
            stored = store.messages([number])[number]
            body, rule, cause = stored.body, stored.rule, stored.cause
    found = _KIND.match(body)
    kind = None if found is None else found[1]
    tell(_ENGINE, "error message made", level=_BAD, id=number, kind=kind, rule=rule, queue=made.queue, cause=cause)


def tell_of_version(application: str, number: int, position: int) -> None:
    tell(_ENGINE, "version in force", application=application, version=number, position=position)


def tell_of_refusal(application: str, number: int, reasons: Collection[str]) -> None:
    refused = {"application": application, "version": number, "reason": "; ".join(reasons)}
    tell(_ENGINE, "version refused", level=_BAD, **refused)
