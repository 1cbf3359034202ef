"""Figures for Prometheus, as text."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import inf

from demaq.engine.destinations import Destination
from demaq.gateways.outbox import Counts
from demaq.store import QueueCounts

_LEDGER = {
    "outside": "Messages that came from outside a batch.",
    "produced": "Messages that rules made.",
    "completed": "Messages that were processed.",
    "failed": "Messages whose rules failed.",
    "reclaimed": "Messages that were deleted, when nobody needed them any more.",
}
_OUTBOX = {
    "sent": "Messages that were delivered to others.",
    "replied": "Messages that answered a request.",
    "failed": "Messages that could not be delivered.",
    "attempts": "Attempts to deliver a message.",
}


def metrics_text(
    ledger: Mapping[str, QueueCounts], outbox: Counts, failing: Sequence[Destination], waiting: int
) -> str:
    return "".join(f"{line}\n" for line in _lines(ledger, outbox, failing, waiting))


def _lines(
    ledger: Mapping[str, QueueCounts], outbox: Counts, failing: Sequence[Destination], waiting: int
) -> Iterator[str]:
    for name, what in _LEDGER.items():
        yield from _head(f"demaq_messages_{name}_total", what, "counter")
        for queue, counted in sorted(ledger.items()):
            yield f'demaq_messages_{name}_total{{queue="{_escaped(queue)}"}} {getattr(counted, name)}'
    yield from _head("demaq_messages_waiting", "Messages that are not processed yet.", "gauge")
    for queue, counted in sorted(ledger.items()):
        came, went = counted.outside + counted.produced, counted.completed + counted.failed
        yield f'demaq_messages_waiting{{queue="{_escaped(queue)}"}} {came - went}'
    for name, what in _OUTBOX.items():
        yield from _head(f"demaq_outbox_{name}_total", what, "counter")
        yield f"demaq_outbox_{name}_total {getattr(outbox, name)}"
    yield from _head("demaq_outbox_homeless", "Messages that have nowhere to go.", "gauge")
    for queue, number in sorted(outbox.homeless.items()):
        yield f'demaq_outbox_homeless{{queue="{_escaped(queue)}"}} {number}'
    labels = [f'queue="{_escaped(one.queue)}",to="{_escaped(one.to)}"' for one in failing]
    waiting_for: Counter[str] = Counter()
    since: dict[str, float] = {}
    for label, one in zip(labels, failing, strict=True):  # several may be shown alike
        waiting_for[label] += one.waiting
        since[label] = min(one.since.timestamp(), since.get(label, inf))
    yield from _head("demaq_destination_waiting", "Messages that wait for a destination that fails.", "gauge")
    for label, number in waiting_for.items():
        yield f"demaq_destination_waiting{{{label}}} {number}"
    yield from _head("demaq_destination_failing_since_seconds", "When a destination began to fail.", "gauge")
    for label, began in since.items():
        yield f"demaq_destination_failing_since_seconds{{{label}}} {began:.3f}"
    yield from _head("demaq_requests_waiting", "Senders that wait for a reply.", "gauge")
    yield f"demaq_requests_waiting {waiting}"


def _head(name: str, what: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} {kind}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
