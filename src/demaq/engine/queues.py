"""The queues of an application, from beside its node: messages are read and put in."""

from collections.abc import Sequence
from contextlib import closing

from demaq.diagnostics import DemaqError
from demaq.engine.incoming import check_queue, incoming_messages
from demaq.engine.local import LocalExecutor
from demaq.engine.plan import Plan
from demaq.engine.versions import latest_plan
from demaq.model import SystemClock
from demaq.store import Store, open_store
from demaq.store.queues import StoredQueues


class NothingDeployed(DemaqError):
    """A store has no application yet."""


class Queues(StoredQueues):
    """The version that was deployed last decides about properties and schemas."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._executor: LocalExecutor | None = None
        self._plan: Plan | None = None

    def close(self) -> None:
        if self._executor is not None:
            self._executor.close()
            self._executor = None

    def check(self, queue: str) -> None:
        with closing(open_store(self.url, read_only=True)) as store:
            check_queue(_plan(store), queue, beside=True)

    def put(self, queue: str, documents: Sequence[str], once: tuple[str, int] | None = None) -> list[str]:
        now = SystemClock().now()
        with closing(open_store(self.url)) as store:
            executor, plan = self._loaded(store)
            check_queue(plan, queue, beside=True)
            admissions = executor.admit(incoming_messages(plan, queue, documents, {}, now))
            made = [message for message, _ in admissions if message is not None]
            if once is None:
                store.append(made, now)
            elif store.append_once(*once, made, now) is None:
                return []  # it was told before
        return [refusal.reason for _, refusal in admissions if refusal is not None]

    def _loaded(self, store: Store) -> tuple[LocalExecutor, Plan]:
        """What is costly to make is kept for the next batch."""
        plan = _plan(store)
        if self._executor is None:
            self._executor = LocalExecutor(None)
        if self._plan is None or self._plan.digest != plan.digest:
            self._executor.load(plan)
            self._plan = plan
        return self._executor, plan


def _plan(store: Store) -> Plan:
    plan = latest_plan(store)
    if plan is None:
        raise NothingDeployed("no application was deployed to this store: run `demaq deploy` or `demaq run` first")
    return plan
