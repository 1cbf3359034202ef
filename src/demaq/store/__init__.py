"""The append-only log of messages, behind one port: in memory, in SQLite, or in PostgreSQL."""

from demaq.store.address import open_store, shown
from demaq.store.errors import (
    Conflict,
    StoreAddressInvalid,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreOutdated,
    StoreTooNew,
    StoreUnavailable,
)
from demaq.store.memory import MemoryStore
from demaq.store.port import (
    HEAD,
    Entry,
    Index,
    KeyKind,
    Member,
    Note,
    Processed,
    QueueCounts,
    Reader,
    Reset,
    Selection,
    Store,
    Version,
)

__all__ = [
    "HEAD",
    "Conflict",
    "Entry",
    "Index",
    "KeyKind",
    "Member",
    "MemoryStore",
    "Note",
    "Processed",
    "QueueCounts",
    "Reader",
    "Reset",
    "Selection",
    "Store",
    "StoreAddressInvalid",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreLocked",
    "StoreOutdated",
    "StoreTooNew",
    "StoreUnavailable",
    "Version",
    "open_store",
    "shown",
]
