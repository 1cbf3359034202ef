"""Messages that programs and people bring: for which queues, and with which properties."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from demaq.diagnostics import DemaqError, did_you_mean, listing
from demaq.engine.executor import Executor
from demaq.engine.plan import Plan
from demaq.engine.records import Incoming
from demaq.engine.told import tell_of_arrivals, tell_of_errors
from demaq.engine.values import text_of
from demaq.engine.xml import MessageRefused
from demaq.model import ECHO_PROPERTIES, SETTABLE_PROPERTIES, NewMessage, PropertyMode, QueueKind, Value
from demaq.store import Arrival, Arrived, Note, Store

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

    What comes again, by its key, is not put in again; what is another message, by its fingerprint, is refused. The
    store finds that out in the transaction, so that error messages about it come in by another, after it.
    """
    if not messages and not notes:
        return []
    admissions = executor.admit(messages) if messages else []
    arrivals = [
        Arrival(message=made) if refusal else _arrival(made, incoming)
        for incoming, (made, refusal) in zip(messages, admissions, strict=True)
        if made is not None
    ]
    arrived = iter(store.arrive(arrivals, now, notes))
    found: list[Arrived | MessageRefused] = []
    put_in: list[tuple[int, NewMessage] | None] = []
    for made, refusal in admissions:
        one = next(arrived) if made is not None else None
        put_in.append(None if made is None or one is None else (one.message, made))
        if refusal is not None:
            found.append(refusal)
        else:
            assert one is not None
            found.append(one)
    _refuse_others(messages, found, put_in, executor, store, now)
    tell_of_arrivals(messages, found, [None if one is None else one[0] for one in put_in])
    known = [one for one in put_in if one is not None]
    tell_of_errors([made for _, made in known], [number for number, _ in known], store)
    return found


def _arrival(made: NewMessage, incoming: Incoming) -> Arrival:
    return Arrival(message=made, key=incoming.key, connection=incoming.connection, fingerprint=incoming.fingerprint)


def _refuse_others(
    messages: Sequence[Incoming],
    found: list[Arrived | MessageRefused],
    put_in: list[tuple[int, NewMessage] | None],
    executor: Executor,
    store: Store,
    now: datetime,
) -> None:
    """Refuse what came with the key of another message, and put error messages in about that."""
    others: dict[int, MessageRefused] = {}
    for number, one in enumerate(found):
        if isinstance(one, Arrived) and one.differs:
            others[number] = MessageRefused(
                f"another message has come with the same key before, as message {one.message}: send this one with a "
                "key of its own (Idempotency-Key, wsa:MessageID or Message-ID)",
                "duplicate",
            )
    if not others:
        return
    errors = executor.admit([replace(messages[number], refusal=refusal) for number, refusal in others.items()])
    made = [error for error, _ in errors if error is not None]
    ids = iter(store.append(made, now))
    for (number, refusal), (error, _) in zip(others.items(), errors, strict=True):
        found[number] = refusal
        put_in[number] = None if error is None else (next(ids), error)


def ids_of(answers: Iterable[Arrived | MessageRefused]) -> list[int | MessageRefused]:
    return [answer if isinstance(answer, MessageRefused) else answer.message for answer in answers]
