"""Worker processes that wait, work when they are told to, and say how many answers they gave."""

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.connection import Connection, wait

_IDLE = 0.002  # seconds, until a worker that found nothing looks again
_LONGEST = 600.0  # seconds without an answer, until something must be wrong


class Stalled(Exception):
    """Workers do not get on."""


class Worker:
    def begin(self) -> None:
        """From now on there may be something to do."""

    def step(self) -> int | None:
        """Do some of it: how many answers are out now, or None if there was nothing to do."""
        raise NotImplementedError

    def end(self) -> None:
        """There is nothing to do for a while."""


class Workers:
    def __init__(self, connections: Sequence[Connection]) -> None:
        self._connections = connections
        for connection in connections:
            connection.recv()

    def work_until(self, answers: int) -> None:
        """Let all of them work until they have given so many answers."""
        self._tell("work")
        while answers > 0:
            ready = wait(self._connections, _LONGEST)
            if not ready:
                raise Stalled(f"no answer for {_LONGEST:.0f} seconds, and {answers} are missing")
            answers -= sum(connection.recv() for connection in ready if isinstance(connection, Connection))
        self._tell("pause")

    def _tell(self, what: str) -> None:
        for connection in self._connections:
            connection.send(what)


@contextmanager
def workers(*opened: Callable[[], AbstractContextManager[Worker]]) -> Iterator[Workers]:
    """Processes that each open something to work with, and then wait."""
    context = multiprocessing.get_context("spawn")
    pairs = [context.Pipe() for _ in opened]
    processes = [
        context.Process(target=_serve, args=(there, each)) for (_, there), each in zip(pairs, opened, strict=True)
    ]
    for process, (_, there) in zip(processes, pairs, strict=True):
        process.start()
        there.close()
    try:
        yield Workers([here for here, _ in pairs])
    finally:
        for here, _ in pairs:
            here.close()
        for process in processes:
            process.join(10)
            process.kill()


def _serve(connection: Connection, opened: Callable[[], AbstractContextManager[Worker]]) -> None:
    with opened() as worker:
        connection.send(0)
        while _next_word(connection) == "work":
            worker.begin()
            while not connection.poll():
                _report(connection, worker.step())
            worker.end()
            connection.recv()


def _report(connection: Connection, answers: int | None) -> None:
    if answers is None:
        time.sleep(_IDLE)
    elif answers:
        connection.send(answers)


def _next_word(connection: Connection) -> str:
    try:
        return str(connection.recv())
    except EOFError:  # the benchmark is over
        return "end"
