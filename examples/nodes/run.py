"""The procurement example on three nodes: a company, its customer and its supplier.

Starts them, lets the customer ask for offers, and tells how the company has answered. Each node is a process with a
store of its own; what they have to say to each other goes over HTTP.
"""

import argparse
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

from examples.nodes.processes import PATIENCE, PORTS, NodeFailed, Nodes, free_ports, is_free, placed, running, until
from lxml import etree

_MISUSE = 2
_LAST_PORT = 65_535
_COUNTRIES = ("DE", "FR", "JP", "XB")


def request(number: int) -> str:
    """Some are of important customers, some must not be exported, and some are for more than a plant can make."""
    return f"""<offerRequest>
      <requestID>R-{number}</requestID>
      <customerID>{"VIP" if number % 5 == 0 else "C"}-{number}</customerID>
      <country>{_COUNTRIES[number % len(_COUNTRIES)]}</country>
      <items><item><sku>acetone</sku><quantity>{10 + 70 * number % 600}</quantity></item></items>
    </offerRequest>"""


def ask(nodes: Nodes, numbers: Iterable[int]) -> None:
    """Tell the customer's node what to ask for."""
    for number in numbers:
        nodes["customer"].send("wishes", request(number), f"wish-{number}")


def is_answered(nodes: Nodes, requests: int) -> bool:
    """Does the customer have answers to so many requests?"""
    return bool(nodes["customer"].get("/api/queues/answers")["counts"]["held"] >= requests)


def until_quiet(nodes: Nodes, requests: int) -> None:
    """Until so many requests are answered, and no node has anything left to do."""
    until(lambda: is_answered(nodes, requests), PATIENCE + requests)
    until(lambda: all(node.is_quiet() for node in nodes.values()))


def main() -> None:
    options = _options()
    ports = list(range(options.port, options.port + len(PORTS))) if options.port else free_ports(len(PORTS))
    problem = _problem(ports)
    if problem is not None:
        print(f"error: {problem}; choose others with --port, or free ones with --port 0", file=sys.stderr)
        sys.exit(_MISUSE)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    nodes = placed(options.folder, ports)
    try:
        with running(nodes):
            once = _show(nodes, options.requests)
            if options.keep:
                print("\nThe nodes go on until Ctrl-C.", flush=True)
                signal.pause()
    except KeyboardInterrupt:
        print("\nstopped")
    except NodeFailed as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    else:
        sys.exit(0 if once else 1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bin/three-nodes",
        description=__doc__,
        epilog="Example: bin/three-nodes --requests 100 --port 0 --keep",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--requests", type=int, default=20, help="how many offers to ask for (default: %(default)s)")
    parser.add_argument(
        "--port",
        type=int,
        default=min(PORTS.values()),
        help="the first of three ports (default: %(default)s); 0 for free ones",
    )
    parser.add_argument(
        "--folder", type=Path, default=Path("out/nodes"), help="for applications and stores (default: %(default)s)"
    )
    parser.add_argument("--keep", action="store_true", help="let the nodes go on until Ctrl-C")
    return parser.parse_args()


def _problem(ports: list[int]) -> str | None:
    if min(ports) < 1 or max(ports) > _LAST_PORT:
        return f"ports go up to {_LAST_PORT}"
    return next((f"port {port} is taken" for port in ports if not is_free(port)), None)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _show(nodes: Nodes, requests: int) -> bool:
    """Let the customer ask, and tell what came of it. Was each request answered exactly once?"""
    for node in nodes.values():
        print(f"the {node.name:8} is at {node.address}; look at {node.address}/api/status", flush=True)
    began = time.perf_counter()
    ask(nodes, range(1, requests + 1))
    until_quiet(nodes, requests)
    seconds = time.perf_counter() - began
    answers = [etree.fromstring(body) for body in nodes["customer"].messages("customer")]
    kinds = Counter(answer.tag for answer in answers)
    times = Counter(answer.findtext("requestID") for answer in answers)
    once = len(times) == requests and set(times.values()) <= {1}
    print(f"\nrequests of the customer: {requests}; answers: {kinds['offer']} offers, {kinds['refusal']} refusals")
    print(f"each request was answered {'exactly once' if once else 'WRONGLY'}, all of them after {seconds:.1f} s")
    for node in nodes.values():
        status = node.get("/api/status")
        print(f"the {node.name} has processed {status['position']} messages: {node.folder / '.demaq' / 'log.db'}")
    return once


if __name__ == "__main__":
    main()
