"""Evaluation as one pure function, for any process: of the program's text, the store's address and the batch."""

from functools import lru_cache

from demaq.engine.evaluator import Care, Evaluator
from demaq.engine.plan import plan_from_text
from demaq.engine.records import Batch, Outcome
from demaq.store import MemoryStore, Store, open_store


def evaluate(plan: str, url: str | None, batch: Batch, care: Care | None = None) -> list[Outcome]:
    """The outcome of each task of a batch. The same arguments give the same outcomes, in whichever process.

    Without an address everything that rules may read is in the batch. What is costly to make is kept for the next call.
    """
    return list(evaluator(plan).process(batch, store_at(url), care))


@lru_cache(maxsize=2)
def evaluator(plan: str) -> Evaluator:
    return Evaluator(plan_from_text(plan))


def evaluator_with_room(plan: str) -> Evaluator:
    """The same, but with another engine, if this one has seen so many names that it will soon take no more."""
    if evaluator(plan).is_worn_out:
        evaluator.cache_clear()
    return evaluator(plan)


_stores: dict[str | None, tuple[str, Store]] = {}
_MOST = 2  # stores that are open


def store_at(url: str | None, life: str = "") -> Store:
    """The store at an address, for as long as whoever asks for it has the same `life`. After that, another store may be
    there, whose messages have the ids of others: it is opened anew, and nothing that was kept of it counts."""
    known = _stores.pop(url, None)
    if known is not None and known[0] != life:
        known[1].close()
        known = None
    if known is None:
        known = life, MemoryStore() if url is None else open_store(url, read_only=True)
    _stores[url] = known
    if len(_stores) > _MOST:
        _stores.pop(next(iter(_stores)))[1].close()
    return known[1]
