"""The collection of garbage, kept away from work on very many records."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_LOOKED_AT = 50  # batches after which what was set aside is garbage like any other, if it is
_batches = 0


@contextmanager
def garbage_kept() -> Iterator[None]:
    """Do not look for cycles meanwhile: records have none, and each search would go through all of them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def garbage_set_aside() -> Iterator[None]:
    """The same in a process that keeps documents and does nothing else: what is there in the end is not looked at
    later, either. At times it is."""
    global _batches
    with garbage_kept():
        yield
        _batches += 1
        if _batches % _LOOKED_AT == 0:
            gc.unfreeze()
        else:
            gc.freeze()
