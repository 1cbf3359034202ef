"""What can go wrong with a store.

StoreError
├── StoreAddressInvalid
├── StoreUnavailable
│   ├── StoreLocked
│   └── StoreFull
├── StoreCorrupt
├── StoreTooNew
├── StoreOutdated
├── Conflict
└── KeysUsed
"""

from collections.abc import Mapping

from demaq.diagnostics import DemaqError


class StoreError(DemaqError):
    """Something is wrong with the store."""


class StoreAddressInvalid(StoreError):
    """The address names no store: write `sqlite:///path/to/file`, `postgresql://…` or `memory:`."""


class StoreUnavailable(StoreError):
    """The store cannot be reached at the moment. Nothing that was acknowledged is lost."""


class StoreLocked(StoreUnavailable):
    """Another node has the store open: stop that one first."""


class StoreFull(StoreUnavailable):
    """There is no space left on the device. Nothing was changed: make room, and try again."""


class StoreCorrupt(StoreError):
    """The file is not a store of Demaq, or is damaged. Restore it from a backup."""


class StoreTooNew(StoreError):
    """A newer version of Demaq wrote the store: use that version, or a newer one."""


class StoreOutdated(StoreError):
    """An older version of Demaq wrote the store: run `demaq migrate`."""


class Conflict(StoreError):
    """A message was to be processed a second time. Nothing was committed."""


class KeysUsed(StoreError):
    """Messages came in with the keys of others. Nothing was committed: put in what says so instead of them."""

    def __init__(self, others: Mapping[int, int | None]) -> None:
        super().__init__("other messages have come with the same keys before")
        self.others = others
        """Which of those that were to come in, and the message of before; None for one that was to come in with it."""
