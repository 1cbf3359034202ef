"""Apache Camel: routes in Java, in a process of their own. It is told what to do, and says how long that took."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.pipelines.tasks import Job

_CAMEL = Path(__file__).parents[1] / "camel"


class CamelFailed(Exception):
    """The process of the routes has ended, and said why."""


class Camel:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, job: Job) -> float:
        return float(self.ask(f"{job.task.words} {job.task.form} {job.folder}\n"))

    def ask(self, command: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(command)
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise CamelFailed(f"the routes ended with {self._process.wait()}")
        return answer


@contextmanager
def started() -> Iterator[Camel]:
    command = ["java", "-cp", f"{_CAMEL / 'target' / 'classes'}:{_CAMEL / 'target' / 'lib'}/*", "bench.Bench"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            camel = Camel(process)
            camel.ask("")
            yield camel
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait()
