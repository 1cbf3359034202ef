"""The root elements of messages, found in the beginning of their texts, and kept within a bound."""

import re
from collections import OrderedDict
from collections.abc import Collection, Iterable

from demaq.engine.history import History
from demaq.language.analysis.condition import Members
from demaq.model import Message
from demaq.store import HEAD, Reader

_START_TAG = re.compile(r"""<([^\s/>!?:]+)(?:\s+[^\s=<>"']+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*\s*/?>""")
_KEPT = 200_000  # messages whose root elements are kept


def root_in(head: str) -> str | None:
    """The name of the root element, if the head of a message tells that it has no namespace.

    >>> root_in('<order id="1"><item/>')
    'order'
    >>> root_in('<order xmlns="http://example.org/">')
    >>> root_in('<order id="1')
    """
    found = _START_TAG.match(head)
    return None if found is None or "xmlns" in found[0] else found[1]


class Roots:
    """Root elements by the ids of messages, which never change."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, str | None] = OrderedDict()  # of which the first one is found at once
        self._reader: Reader | None = None

    def read_by(self, reader: Reader) -> None:
        """From now on the ids are those of the messages that this one reads."""
        if reader is not self._reader:
            self._kept.clear()
            self._reader = reader

    def note(self, messages: Iterable[Message]) -> None:
        """The root elements of messages that are here."""
        for message in messages:
            if message.id not in self._kept:
                self._kept[message.id] = root_in(message.body[:HEAD])

    def load(self, ids: Iterable[int], history: History) -> None:
        """Look up those that are not known yet, with one question to the store."""
        absent = [number for number in dict.fromkeys(ids) if number not in self._kept]
        if absent:
            self._kept.update((number, root_in(head[:HEAD])) for number, head in history.heads(absent).items())

    def may_be(self, message: int, names: Collection[str]) -> bool:
        """May the root element of a message have one of these names? One that is not known may."""
        root = self._kept.get(message)
        return root is None or root in names

    def of(self, ids: Iterable[int]) -> Members:
        """The root elements of these messages."""
        return frozenset(map(self._kept.get, ids))

    def trim(self) -> None:
        """Forget those that came first, down to the bound. Not between loading and asking."""
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
