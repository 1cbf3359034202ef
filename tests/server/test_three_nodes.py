"""The procurement example on three nodes: the same answers as on one, each once, whichever node crashes."""

import os
import re
import socket
import subprocess
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from examples.nodes.processes import PORTS, free_ports, placed, running, until
from examples.nodes.run import ask, is_answered, request, until_quiet

from demaq.engine.log import Log
from demaq.language import check
from demaq.node import Node
from demaq.store import open_store

ROOT = Path(__file__).parents[2]
PROCUREMENT = ROOT / "examples" / "procurement"
NODES = ROOT / "examples" / "nodes"


def on_one_node(numbers: Iterable[int]) -> list[str]:
    """What customers are answered if everything is on one node."""
    with Node(PROCUREMENT, "memory:") as node:
        node.send_many("requests", [request(number) for number in numbers])
        node.run_until_idle()
        return sorted(message.body for message in node.messages("customer", everything=True))


def test_the_rules_are_those_of_the_example_on_one_node() -> None:
    one = {path.name: path.read_text(encoding="utf-8") for path in PROCUREMENT.glob("*.demaq")}
    shared = {path.name: path for name in ("company", "supplier") for path in (NODES / name).glob("*.demaq")}
    assert shared.keys() == one.keys()
    own = {"site.demaq"}  # what differs
    assert all(shared[name].samefile(PROCUREMENT / name) for name in one.keys() - own)
    assert "create rule" not in one["site.demaq"]


def test_nothing_is_wrong_with_any_of_them() -> None:
    for name, port in PORTS.items():
        checked = check(NODES / name)
        assert list(checked.report) == []
        assert checked.application.configuration.edge.server.port == port


def test_three_nodes_answer_as_one_does(tmp_path: Path) -> None:
    run = subprocess.run(
        [ROOT / "bin" / "three-nodes", "--requests", "20", "--port", "0", "--folder", tmp_path],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "DEMAQ_TOKEN": "of somebody else", "DEMAQ_PORT": "1"},
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "requests of the customer: 20; answers: 12 offers, 8 refusals" in run.stdout
    assert "each request was answered exactly once" in run.stdout
    store = open_store(f"sqlite:///{tmp_path / 'customer' / '.demaq' / 'log.db'}")
    try:
        answers = [message.body for message in Log(store).messages("customer", everything=True)]
    finally:
        store.close()
    assert sorted(answers) == on_one_node(range(1, 21))
    assert (
        len({price for body in answers for price in re.findall(r'price="([\d.]+)"', body)}) == 2
    )  # one with a discount


def test_whichever_nodes_are_killed_each_request_is_answered_once(tmp_path: Path) -> None:
    nodes = placed(tmp_path, free_ports(len(PORTS)))
    asked = 0
    with running(nodes):
        for round_ in (["company", "supplier"], ["customer"]):
            killed = [nodes[name] for name in round_]
            ask(nodes, range(asked + 1, asked + 9))
            until(partial(is_answered, nodes, asked + 1))  # the others are under way
            for node in killed:
                node.kill()
                node.start()
            if "customer" not in round_:
                ask(nodes, range(asked + 9, asked + 11))  # while the others are away
            for node in killed:
                until(node.is_ready)
            ask(nodes, range(asked + 1, asked + 11))  # those that came in before do so no more
            asked += 10
        until_quiet(nodes, asked)
        answers = sorted(nodes["customer"].messages("customer"))
        assert list(nodes["company"].messages("crmErrors")) == []
    assert answers == on_one_node(range(1, asked + 1))


def test_ports_that_cannot_be_had_are_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for wrong, reason in ((port, f"port {port} is taken"), (65_534, "ports go up to 65535")):
            command = [str(ROOT / "bin" / "three-nodes"), "--port", str(wrong), "--folder", str(tmp_path)]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            assert run.returncode == 2
            assert reason in run.stderr
    assert list(tmp_path.iterdir()) == []
