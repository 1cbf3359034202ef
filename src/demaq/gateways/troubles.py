"""Destinations that do not take what is sent to them: since when, and why.

That begins with an attempt that fails and is made again, and ends with the first one that is answered, or when nothing
waits for the destination any more. The log tells of both, and not of the attempts between them.
"""

import logging
from collections.abc import Callable
from dataclasses import replace

from demaq.engine.destinations import Destination
from demaq.gateways.destinations import shown
from demaq.gateways.parcel import Parcel, Undelivered
from demaq.logs import logger, tell
from demaq.model import Clock

_LOG = logger("outbox")
_LONGEST = 500  # characters of a reason
_OURS = ("disconnectedTransport", "timeout", "nameResolution")  # kinds of errors that are told in our words
Key = tuple[str, str]
"""A queue, and where its messages go."""


class Troubles:
    """In the event loop."""

    def __init__(self, clock: Clock, changed: Callable[[], None]) -> None:
        """`changed` is called when there is something new to tell."""
        self._clock = clock
        self._changed = changed
        self._known: dict[Key, Destination] = {}

    def failed(self, parcel: Parcel, why: Undelivered) -> None:
        """An attempt has failed. The log has the words of others nowhere: why is told there if they are ours."""
        key, reason = (parcel.message.queue, parcel.to), why.description[:_LONGEST]
        known = self._known.get(key)
        if known is not None:
            self._known[key] = replace(known, kind=why.kind, reason=reason)
        else:
            found = self._known[key] = Destination(
                queue=key[0], to=shown(key[1]), since=self._clock.now(), kind=why.kind, reason=reason, waiting=0
            )
            tell(
                _LOG,
                "destination fails",
                level=logging.WARNING,
                id=parcel.message.id,
                queue=found.queue,
                to=found.to,
                kind=found.kind,
                reason=reason if why.kind in _OURS and not why.is_answer else None,
            )
        self._changed()

    def answered(self, parcel: Parcel) -> None:
        """It takes messages again."""
        key = parcel.message.queue, parcel.to
        known = self._known.pop(key, None)
        if known is not None:
            seconds = round((self._clock.now() - known.since).total_seconds(), 3)
            tell(_LOG, "destination answers", id=parcel.message.id, queue=key[0], to=known.to, seconds=seconds)
            self._changed()

    def end(self, key: Key) -> None:
        """Nothing waits for it."""
        if self._known.pop(key, None) is not None:
            self._changed()

    def shown(self, waiting: Callable[[Key], int], most: int) -> tuple[Destination, ...]:
        """As they stand, those that have failed for longest, with how many messages wait."""
        first = sorted(self._known.items(), key=lambda each: each[1].since)[:most]
        return tuple(replace(each, waiting=waiting(key)) for key, each in first)
