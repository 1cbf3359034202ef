"""What can go wrong with a store.

StoreError
├── StoreAddressInvalid
├── StoreUnavailable
│   ├── StoreLocked
│   └── StoreFull
├── StoreCorrupt
├── StoreTooNew
├── StoreOutdated
└── Conflict
"""

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
