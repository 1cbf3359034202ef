"""Two nodes on a network that is not to be relied on: what arrives, how often, and in which order.

    PYTHONPATH=tests .venv/bin/python tests/faults/network.py [--messages 10000] [--seed 1] [--version 1.0|1.1]

Each node sends so many messages to the other by WS-ReliableMessaging, both at the same time; then one sends as many,
but 1,000 at most, to a plain service over HTTP, where one waits for the other. All goes through proxies that delay,
drop, break, repeat and reorder requests. In sequences, each message has to arrive once and in order; without, at least
once.
"""

import argparse
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from demaq.engine.engine import Engine
from demaq.engine.records import Incoming
from demaq.model import GatewaySettings
from flaky import Network, Weather, network
from server.test_reliable import POLICIES
from serving import Served, Service, served, service

Tell = Callable[[str], None]
_AT_ONCE = 1000
_PLAIN = 1000
_LOOK = 2.0  # seconds between looks
_APP = """
create queue jobs kind incomingGateway mode persistent
create queue reliable kind outgoingGateway mode persistent using WS-ReliableMessaging policy rm.xml
create queue plain kind outgoingGateway mode persistent
create queue orders kind incomingGateway mode persistent using WS-ReliableMessaging policy rm.xml
create queue done kind basic mode persistent
create rule forward for jobs
if (/job) then do enqueue <order>{string(/job)}</order> into reliable
else if (/note) then do enqueue . into plain
create rule note for orders
if (/order) then do enqueue <done>{string(/order)}</done> into done
"""
_PATIENCE = timedelta(hours=1)
_PORTS = 2


class Failed(Exception):
    """Something arrived that should not have, or did not that should."""


@contextmanager
def two_nodes(folder: Path, version: str, weather: Weather, seed: int) -> Iterator[tuple[list[Served], list[Network]]]:
    """Each sends to the other through a network of its own."""
    with ExitStack() as stack:
        ports = [_free_port() for _ in range(_PORTS)]
        networks = [
            stack.enter_context(network(f"127.0.0.1:{port}", weather, seed + number))
            for number, port in enumerate(ports)
        ]
        nodes = []
        for number, port in enumerate(ports):
            to = f"{networks[1 - number].address}/gateways/orders"
            gateways = {"reliable": GatewaySettings(to=to, patience=_PATIENCE)}
            files = {"rm.xml": POLICIES[version]}
            app = folder / str(number) / "app"
            nodes.append(stack.enter_context(served(app, _APP, files=files, gateways=gateways, port=port)))
        yield nodes, networks


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def give(node: Served, name: str, number: int) -> None:
    """Messages for the node to send on."""
    bodies = [f"<{name}>{each}</{name}>" for each in range(number)]
    for start in range(0, number, _AT_ONCE):
        node.node.call(partial(_send, bodies[start : start + _AT_ONCE])).result()


def _send(bodies: Sequence[str], engine: Engine) -> None:
    engine.send([Incoming(queue="jobs", body=body, now=datetime.now(UTC)) for body in bodies])


def arrived(node: Served) -> list[str]:
    """What arrived, in order."""
    found: list[str] = []
    after: int | None = 0
    while after is not None:
        page = node.get("/api/messages", queue="done", all="true", limit=_AT_ONCE, after=after)
        found += [message["body"] for message in page["messages"]]
        after = page["next"]
    return found


def counted(node: Served) -> int:
    counts: Mapping[str, int] = node.get("/api/queues/done")["counts"]
    return counts["completed"]


def in_sequences(folder: Path, messages: int, version: str, weather: Weather, seed: int, tell: Tell) -> None:
    """Each way, once and in order."""
    wanted = [f"<done>{number}</done>" for number in range(messages)]
    with two_nodes(folder, version, weather, seed) as (nodes, networks):
        began = time.monotonic()
        for node in nodes:
            give(node, "job", messages)
        while (counts := [counted(node) for node in nodes]) != [messages, messages]:
            tell(f"{counts[0]:,} and {counts[1]:,} of {messages:,} have arrived")
            if max(counts) > messages:
                raise Failed("something arrived twice")
            time.sleep(_LOOK)
        seconds = time.monotonic() - began
        for node in nodes:
            if arrived(node) != wanted:
                raise Failed("what arrived is not what was sent, in its order")
            node.until(partial(_has_sent, node))
            if node.get("/api/errors")["messages"]:
                raise Failed("there are errors")
        happened = sum((each.happened for each in networks), Counter())
    tell(
        f"WS-ReliableMessaging {version}: {messages:,} each way, once and in order, in {seconds:.1f} s; "
        f"{shown(happened)}"
    )


def _has_sent(node: Served) -> bool:
    return not node.node.call(lambda engine: engine.held(0, 1)).result()


def without(folder: Path, messages: int, weather: Weather, seed: int, tell: Tell) -> None:
    """To a plain service, at least once."""
    with service() as there, network(there.address.split("/")[2], weather, seed) as way:
        gateways = {"plain": GatewaySettings(to=f"{way.address}/service", patience=_PATIENCE)}
        files = {"rm.xml": POLICIES["1.1"]}
        with served(folder / "plain" / "app", _APP, files=files, gateways=gateways) as node:
            began = time.monotonic()
            give(node, "note", messages)
            while len(_known(there)) < messages:
                tell(f"{len(_known(there)):,} of {messages:,} have arrived")
                time.sleep(_LOOK)
            seconds = time.monotonic() - began
        ids = Counter(headers["idempotency-key"] for _, headers, _ in there.got)
        bodies = list(dict.fromkeys(there.bodies))
    if bodies != [f"<note>{number}</note>" for number in range(messages)] or len(ids) != messages:
        raise Failed("what arrived first of each is not what was sent, in its order")
    again = sum(ids.values()) - messages
    tell(f"plain HTTP: {messages:,} at least once, {again:,} again, in {seconds:.1f} s; {shown(way.happened)}")


def _known(there: Service) -> set[str]:
    return {headers["idempotency-key"] for _, headers, _ in list(there.got)}


def shown(happened: Counter[str]) -> str:
    return ", ".join(f"{what} {number:,}" for what, number in sorted(happened.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--version", choices=list(POLICIES), action="append")
    given = parser.parse_args()
    for version in given.version or list(POLICIES):
        with TemporaryDirectory() as folder:
            in_sequences(Path(folder), given.messages, version, Weather(), given.seed, _tell)
    with TemporaryDirectory() as folder:
        without(Path(folder), min(given.messages, _PLAIN), Weather(), given.seed, _tell)


def _tell(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


if __name__ == "__main__":
    main()
