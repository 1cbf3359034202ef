"""What enriches the messages of a stream: read again when it has changed."""

import os
from collections.abc import Callable
from typing import Generic, TypeVar

from demaq.pipelines.program import Enricher
from demaq.pipelines.running.endpoints import FILE, Endpoints, is_table

Facts = TypeVar("Facts")


class Enriching(Generic[Facts]):
    """The facts of enrichers, read again if their files have changed. Nobody tells whether a table of a database has:
    it is read for each batch. Services, queues and topics are read once: they may have much, and be slow."""

    def __init__(
        self,
        endpoints: Endpoints,
        load: Callable[[Enricher], Facts],
        forget: Callable[[Facts], None] = lambda _facts: None,
    ) -> None:
        self._endpoints = endpoints
        self._load = load
        self._forget = forget
        self._known: dict[str, tuple[object, Facts]] = {}

    def current(self, enricher: Enricher) -> tuple[Facts, bool]:
        """What there is now, and whether it was read just now."""
        names = self._endpoints.names(enricher)
        version = [(name, os.stat(name).st_mtime_ns, os.stat(name).st_size) for name in names]
        known = self._known.get(enricher.id)
        if known is not None and known[0] == version and not _is_live(enricher):
            return known[1], False
        if known is not None:
            self._forget(known[1])
        self._known[enricher.id] = (version, self._load(enricher))
        return self._known[enricher.id][1], True


def _is_live(enricher: Enricher) -> bool:
    """Is it a table that may change without being told?"""
    return is_table(enricher.endpoint) and enricher.endpoint.scheme != FILE
