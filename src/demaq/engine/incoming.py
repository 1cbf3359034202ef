"""Messages that programs and people bring: for which queues, and with which properties."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from demaq.diagnostics import DemaqError, did_you_mean, listing
from demaq.engine.executor import Admission, Executor
from demaq.engine.plan import Plan
from demaq.engine.records import Incoming
from demaq.engine.told import tell_of_arrivals, tell_of_errors
from demaq.engine.values import text_of
from demaq.engine.xml import MessageRefused
from demaq.model import ECHO_PROPERTIES, SETTABLE_PROPERTIES, NewMessage, PropertyMode, QueueKind, Value
from demaq.store import Arrival, Arrived, KeysUsed, Note, Store

_ANY = "xs:anyAtomicType"
_TYPES: dict[type, str] = {
    bool: "xs:boolean",
    int: "xs:integer",
    float: "xs:double",
    Decimal: "xs:decimal",
    datetime: "xs:dateTime",
    timedelta: "xs:dayTimeDuration",
}


class QueueUnknown(DemaqError):
    """The application has no queue of that name, or none that takes messages from outside."""


class PropertyInvalid(DemaqError):
    """A message cannot be given that property."""


def incoming_messages(
    plan: Plan, queue: str, bodies: Iterable[str | bytes], properties: Mapping[str, Any], now: datetime
) -> list[Incoming]:
    """Messages from outside for a queue that takes some."""
    check_queue(plan, queue)
    values = {name: typed_value(property_type(plan, name, queue), value) for name, value in properties.items()}
    return [Incoming(queue=queue, body=body, properties=values, now=now) for body in bodies]


def check_queue(plan: Plan, name: str, *, beside: bool = False) -> None:
    """Does a queue take messages from outside? With `beside`, from processes other than the node."""
    queue = plan.queues.get(name)
    if queue is None:
        takers = [one.name for one in plan.queues.values() if one.kind is not QueueKind.OUTGOING_GATEWAY]
        raise QueueUnknown(f"there is no queue `{name}`: {did_you_mean(name, takers, 'queues')}")
    if queue.kind is QueueKind.OUTGOING_GATEWAY:
        raise QueueUnknown(f"`{name}` is an outgoing gateway, and takes messages from rules only")
    if beside and queue.transient:
        raise QueueUnknown(f"the queue `{name}` is transient: it lives in the memory of the node that runs")


def property_type(plan: Plan, name: str, queue: str) -> str:
    """The type of a property that messages for a queue can be given."""
    known = plan.properties.get(name)
    if known is not None:
        if known.mode is PropertyMode.FIXED:
            raise PropertyInvalid(f"the property `{name}` is fixed: it always has its computed value")
        if queue not in known.queues:
            raise PropertyInvalid(
                f"the property `{name}` is not defined on the queue `{queue}`, only on {listing(known.queues)}"
            )
        return known.type
    if name in ECHO_PROPERTIES and plan.queues[queue].kind is not QueueKind.ECHO:
        raise PropertyInvalid(f"`{name}` is for messages in echo queues, and `{queue}` is none")
    if name not in SETTABLE_PROPERTIES:
        settable = [one.name for one in plan.properties.values() if queue in one.queues]
        raise PropertyInvalid(
            f"there is no property `{name}`: {did_you_mean(name, [*settable, *SETTABLE_PROPERTIES], 'properties')}"
        )
    return SETTABLE_PROPERTIES[name]


def typed_value(type_: str, value: Any) -> Value:
    """A value of Python as one of a type; if that may be any, of its own."""
    return Value(_TYPES.get(type(value), "xs:string") if type_ == _ANY else type_, text_of(value))


def take_in(
    messages: Sequence[Incoming], executor: Executor, store: Store, now: datetime, notes: Sequence[Note] = ()
) -> list[Arrived | MessageRefused]:
    """Put messages from outside into the log, and error messages about those that are refused, in one transaction.

    What comes again, by its key, is not put in again; what is another message, by its fingerprint, is refused.
    """
    if not messages and not notes:
        return []
    admissions = dict(enumerate(executor.admit(messages) if messages else ()))
    arrived = _put_in(messages, admissions, executor, store, now, notes)
    put_in = {number: (one.message, made) for number, (one, made) in arrived.items()}
    found = [refusal or arrived[number][0] for number, (_, refusal) in admissions.items()]
    tell_of_arrivals(messages, found, [None if number not in put_in else put_in[number][0] for number in admissions])
    tell_of_errors([made for _, made in put_in.values()], [id_ for id_, _ in put_in.values()], store)
    return found


def _put_in(
    messages: Sequence[Incoming],
    admissions: dict[int, Admission],
    executor: Executor,
    store: Store,
    now: datetime,
    notes: Sequence[Note],
) -> dict[int, tuple[Arrived, NewMessage]]:
    """Put what was admitted into the log. What the store finds to be another message with a used key is refused."""
    while True:
        made = {number: message for number, (message, _) in admissions.items() if message is not None}
        arrivals = [
            Arrival(message=message) if admissions[number][1] else _arrival(message, messages[number])
            for number, message in made.items()
        ]
        try:
            arrived = store.arrive(arrivals, now, notes)
        except KeysUsed as used:
            numbers = list(made)
            _refuse(messages, admissions, {numbers[each]: id_ for each, id_ in used.others.items()}, executor)
        else:
            return dict(zip(made, zip(arrived, made.values(), strict=True), strict=True))


def _arrival(made: NewMessage, incoming: Incoming) -> Arrival:
    return Arrival(message=made, key=incoming.key, connection=incoming.connection, fingerprint=incoming.fingerprint)


def _refuse(
    messages: Sequence[Incoming],
    admissions: dict[int, Admission],
    others: Mapping[int, int | None],
    executor: Executor,
) -> None:
    """Messages came with the keys of others, which may have an id: error messages take their places."""
    refused = []
    for number, before in others.items():
        known = "" if before is None else f", as message {before}"
        refusal = MessageRefused(
            f"another message has come with the same key before{known}: send this one with a key of its own "
            "(Idempotency-Key, wsa:MessageID or Message-ID)",
            "duplicate",
        )
        refused.append(replace(messages[number], refusal=refusal))
    admissions.update(zip(others, executor.admit(refused), strict=True))


def ids_of(answers: Iterable[Arrived | MessageRefused]) -> list[int | MessageRefused]:
    return [answer if isinstance(answer, MessageRefused) else answer.message for answer in answers]
