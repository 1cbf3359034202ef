"""The messages of queues, for those who read them as documents."""

from collections.abc import Iterator, Sequence
from contextlib import closing

from demaq.store.address import open_store

_AT_ONCE = 5000


class StoredQueues:
    """The queues in a store, which is open while somebody reads."""

    def __init__(self, url: str) -> None:
        self.url = url

    def count(self, queue: str) -> int:
        """How many messages came into a queue."""
        with closing(open_store(self.url, read_only=True)) as store:
            counted = store.ledger().get(queue)
        return 0 if counted is None else counted.outside + counted.produced

    def documents(self, queue: str, positions: Sequence[int] | None = None) -> Iterator[tuple[int, str]]:
        """The messages of a queue that were processed, in the order of their positions, with their ids; or some."""
        after = 0 if positions is None else min(positions, default=0) - 1
        wanted = None if positions is None else set(positions)
        left = None if wanted is None else len(wanted)
        with closing(open_store(self.url, read_only=True)) as store:
            while left != 0 and (found := store.processed(queue, after, _AT_ONCE)):
                some = [message for message in found if wanted is None or message.position in wanted]
                yield from ((message.id, message.body) for message in some)
                after = found[-1].position or 0
                left = None if left is None else left - len(some)
