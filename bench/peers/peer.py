"""What a peer is: something that can be given requests, and works until each has its answer."""

import importlib
import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

_ADVICE = {
    "rabbitmq-server": "apt-get install --no-install-recommends rabbitmq-server",
    "java": "apt-get install openjdk-17-jre-headless",
}
_EXTRA = "pip install --editable '.[bench]' --constraint constraints.txt"


class System(Protocol):
    """One that is up, and has nothing to do yet."""

    def send(self, requests: Sequence[str]) -> None:
        """Put requests in. They are as durable as the peer makes them when this returns."""

    def process(self) -> None:
        """Work until each of these requests has its answer, as durable as the peer makes it."""

    def answers(self) -> list[str]:
        """All answers so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    key: str  # for `--only`
    name: str
    module: str  # whose function `started` gives a system
    arguments: tuple[Any, ...] = ()
    durability: str = "synced at commit"
    delivery: str = "exactly once"  # how often a message has its effect, whatever crashes
    packages: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    is_slow: bool = False  # gets fewer requests
    least: int = 0  # requests for which it is meant

    @property
    def missing(self) -> str | None:
        """How to install what it needs, if that is not there."""
        if any(find_spec(package) is None for package in self.packages):
            return _EXTRA
        return next((_ADVICE[program] for program in self.programs if shutil.which(program) is None), None)

    def started(self) -> AbstractContextManager[System]:
        module = importlib.import_module(f"bench.peers.{self.module}")
        system: AbstractContextManager[System] = module.started(*self.arguments)
        return system
