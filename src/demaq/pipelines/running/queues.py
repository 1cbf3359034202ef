"""The queues of an application, as pipelines see them."""

from collections.abc import Iterable, Sequence
from typing import Protocol


class Queues(Protocol):
    """Messages that were processed. Others have not arrived yet, as far as anybody is concerned who reads a queue."""

    url: str

    def count(self, queue: str) -> int:
        """How many messages came into a queue, at least."""

    def documents(self, queue: str, positions: Sequence[int] | None = None) -> Iterable[tuple[int, str]]:
        """The messages of a queue by their ids, in the order in which they were processed; or some, by positions."""

    def check(self, queue: str) -> None:
        """Can messages be put into a queue? If not, an error says why."""

    def put(self, queue: str, documents: Sequence[str], once: tuple[str, int] | None = None) -> list[str]:
        """Put messages into a queue; why some were refused, about which the log has error messages.

        What comes `once`, by a name and a number, does not come in again.
        """


def place_in(queue: str, message: int) -> str:
    """Where a message is, for people."""
    return f"message {message} of queue {queue}"
