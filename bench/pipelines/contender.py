"""What a contender is: something that can do tasks."""

import importlib
import shutil
import time
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from bench.pipelines.tasks import Job

EXTRA = "pip install --editable '.[bench]' --constraint constraints.txt"
_JAVA = "apt-get install openjdk-17-jre-headless"


class System(Protocol):
    """One that is up."""

    def run(self, job: Job) -> float:
        """Do what is to be done; how many seconds that took."""


class InProcess(ABC):
    """A system whose work is a call, of which the seconds are taken."""

    def run(self, job: Job) -> float:
        start = time.perf_counter()
        self.work(job)
        return time.perf_counter() - start

    @abstractmethod
    def work(self, job: Job) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    key: str  # for `--only`
    name: str
    module: str  # whose function `started` gives a system
    package: str | None = None
    needs_java: bool = False
    built: tuple[Path, str] | None = None  # what has to be there, and how it is made

    @property
    def missing(self) -> str | None:
        """How to install what it needs, if that is not there."""
        if self.package is not None and find_spec(self.package) is None:
            return EXTRA
        if self.needs_java and shutil.which("java") is None:
            return _JAVA
        if self.built is not None and not self.built[0].exists():
            return self.built[1]
        return None

    def started(self) -> AbstractContextManager[System]:
        module = importlib.import_module(f"bench.pipelines.contenders.{self.module}")
        system: AbstractContextManager[System] = module.started()
        return system
