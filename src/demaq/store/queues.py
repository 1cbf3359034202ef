"""The messages of queues, for those who read them as documents."""

from collections.abc import Iterator

from demaq.store.address import open_store
from demaq.store.port import Selection

_AT_ONCE = 5000


class StoredQueues:
    """The queues in a store."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._store = open_store(url, read_only=True)

    def close(self) -> None:
        self._store.close()

    def count(self, queue: str) -> int:
        """How many messages came into a queue."""
        counted = self._store.ledger().get(queue)
        return 0 if counted is None else counted.outside + counted.produced

    def documents(self, queue: str) -> Iterator[tuple[int, str]]:
        """The messages of a queue that were processed, in the order of their positions, with their ids."""
        places: list[tuple[int, int]] = []
        after = 0
        while found := self._store.select(Selection(queue=queue, everything=True, after=after, limit=_AT_ONCE)):
            places += [(message.position, message.id) for message in found if message.position is not None]
            after = found[-1].id
        ids = [number for _, number in sorted(places)]
        for start in range(0, len(ids), _AT_ONCE):
            some = ids[start : start + _AT_ONCE]
            bodies = self._store.bodies(some)
            yield from ((number, bodies[number]) for number in some)
