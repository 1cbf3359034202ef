"""Everything that came in is accounted for, after each batch and as a whole. If not, that is an alarm."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from demaq.diagnostics import DemaqError
from demaq.store import Processed, QueueCounts


class LedgerMismatch(DemaqError):
    """The ledger does not add up: a message was lost, or counted twice. Processing stops. Keep the store as it is."""


def check_batch(
    before: Mapping[str, QueueCounts], after: Mapping[str, QueueCounts], batch: Sequence[Processed]
) -> None:
    """What the ledger says of a batch is what the batch did. Only the node processes, so that only it counts these."""
    expected = {
        "produced": Counter(message.queue for done in batch for message in done.produced),
        "completed": Counter(done.queue for done in batch if not done.failed),
        "failed": Counter(done.queue for done in batch if done.failed),
    }
    wrong = []
    for queue in sorted({*before, *after}):
        old, new = before.get(queue, QueueCounts(queue=queue)), after.get(queue, QueueCounts(queue=queue))
        for what, numbers in expected.items():
            counted = getattr(new, what) - getattr(old, what)
            if counted != numbers[queue]:
                wrong.append(f"{queue}: {numbers[queue]} messages were {what}, but the ledger counts {counted}")
    raise_if(wrong)


def check_all(counts: Iterable[QueueCounts]) -> None:
    """All queues, counted afresh, add up."""
    raise_if([counted.mismatch for counted in counts if counted.mismatch])


def raise_if(wrong: Sequence[str | None]) -> None:
    if wrong:
        raise LedgerMismatch("the ledger does not add up: " + "; ".join(str(one) for one in wrong))
