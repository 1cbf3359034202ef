"""A broker of our own on the loopback address, or the one that `DEMAQ_RABBITMQ` names."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pika

_PATIENCE = 60.0  # seconds, for the broker to start
_PLACES = ("/usr/lib/rabbitmq/bin/rabbitmq-server", "rabbitmq-server")  # the first does not change the user


def script() -> str | None:
    return next((found for found in map(shutil.which, _PLACES) if found), None)


@contextmanager
def broker() -> Iterator[str]:
    """The address of a broker that has no queues, or none that are in use."""
    named = os.environ.get("DEMAQ_RABBITMQ")
    if named:
        yield named
        return
    with tempfile.TemporaryDirectory() as folder, _running(Path(folder)) as url:
        yield url


@contextmanager
def _running(folder: Path) -> Iterator[str]:
    found = script()
    assert found is not None
    port, environment = _free_port(), _environment(folder)
    environment["RABBITMQ_NODE_PORT"] = str(port)
    with open(folder / "output", "w", encoding="utf-8") as output:
        process = subprocess.Popen([found], env=environment, stdout=output, stderr=output, cwd=folder)
    try:
        url = f"amqp://guest:guest@127.0.0.1:{port}/%2F?heartbeat=600"
        _wait_for(url, process, folder / "output")
        yield url
    finally:
        process.terminate()
        process.wait(_PATIENCE)
        subprocess.run(["epmd", "-kill"], env=environment, stdout=subprocess.DEVNULL, check=False)


def _environment(folder: Path) -> dict[str, str]:
    """Nothing is shared with a broker of the system, not even Erlang's directory of names."""
    (folder / "plugins").write_text("[].", encoding="utf-8")
    return {
        **os.environ,
        "HOME": str(folder),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_EPMD_PORT": str(_free_port()),
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq"),
        "RABBITMQ_CONF_ENV_FILE": str(folder / "rabbitmq-env.conf"),
        "RABBITMQ_DIST_PORT": str(_free_port()),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_MNESIA_BASE": str(folder / "data"),
        "RABBITMQ_NODENAME": "demaq-bench@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        # On few cores, threads that wait must not keep those busy that work.
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+sbwt none +sbwtdcpu none +sbwtdio none",
    }


def _free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_for(url: str, process: subprocess.Popen[bytes], output: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            pika.BlockingConnection(pika.URLParameters(url)).close()
        except pika.exceptions.AMQPConnectionError:
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the broker does not start:\n{output.read_text(encoding='utf-8')}") from None
            time.sleep(0.2)
        else:
            return
