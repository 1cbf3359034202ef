"""The queues of an application, as pipelines read them."""

from collections.abc import Iterable
from typing import Protocol


class Queues(Protocol):
    """Messages that were processed. Others have not arrived yet, as far as anybody is concerned who reads a queue."""

    url: str

    def count(self, queue: str) -> int:
        """How many messages came into a queue, at least."""

    def documents(self, queue: str) -> Iterable[tuple[int, str]]:
        """The messages of a queue by their ids, in the order in which they were processed."""


def place_in(queue: str, message: int) -> str:
    """Where a message is, for people."""
    return f"message {message} of queue {queue}"
