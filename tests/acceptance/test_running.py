"""Applications run, by the commands that people type."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROCUREMENT = ROOT / "examples" / "procurement"

SHOP = """
create queue orders kind basic priority 1
create queue later kind echo
create queue bills kind outgoingGateway
create property customer as xs:string queue orders value /order/customer
create slicing perCustomer on customer

create rule bill for orders
if (/order) then
  do enqueue <bill no="{count(qs:slice()[/order])}">{xs:decimal(/order/amount) * 2}</bill> into bills

create rule close for perCustomer
if (/close) then do reset
"""


def demaq(*arguments: str, status: int = 0, text: str | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-c", "from demaq.cli import main; main()", *arguments],
        capture_output=True,
        encoding="utf-8",
        input=text,
        timeout=120,
        check=False,
    )
    assert done.returncode == status, (arguments, done.stdout, done.stderr)
    return done.stdout + done.stderr


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "main.demaq").write_text(SHOP.replace("for orders\nif", "for perCustomer\nif"), encoding="utf-8")
    return folder


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def as_json(*arguments: str) -> Any:
    return json.loads(demaq(*arguments, "--json"))


def test_messages_go_in_and_come_out(shop: Path, tmp_path: Path) -> None:
    first = write(tmp_path, "a.xml", "<order><customer>Ada</customer><amount>2.5</amount></order>")
    assert demaq("send", str(shop), "orders", first, first).split() == ["1", "2"]
    out = demaq("send", str(shop), "orders", "-", text="<order><amount>4</amount></order>")
    assert out.strip() == "3"
    assert "3 waiting" not in demaq("status", "--app", str(shop))
    assert "5 messages processed, 0 failed" in demaq("run", str(shop), "--until-idle")
    (one, two) = as_json("messages", "bills", "--app", str(shop))
    assert one["body"] == '<bill no="1">5</bill>'
    assert two["body"] == '<bill no="2">5</bill>'
    assert set(one) >= {"id", "queue", "body", "properties", "position", "cause", "rule", "created"}
    assert (one["queue"], one["cause"], one["rule"]) == ("bills", 1, "bill")
    assert [m["id"] for m in as_json("messages", "orders", "--app", str(shop))] == [1, 2]
    assert [m["id"] for m in as_json("messages", "orders", "--all", "--app", str(shop))] == [1, 2, 3]
    assert as_json("slices", "--app", str(shop)) == [{"slicing": "perCustomer", "key": "Ada", "members": 2}]
    assert [m["id"] for m in as_json("slices", "perCustomer", "Ada", "--app", str(shop))] == [1, 2]
    status = as_json("status", "--app", str(shop))
    assert (status["ok"], status["position"], status["version"]) == (True, 5, 1)
    trace = as_json("trace", str(one["id"]), "--app", str(shop))
    assert (trace["id"], [effect["id"] for effect in trace["effects"]]) == (1, [4])
    assert "everything adds up" in demaq("status", "--app", str(shop))


def test_properties_from_outside(shop: Path, tmp_path: Path) -> None:
    order = write(tmp_path, "a.xml", "<order><customer>Ada</customer><amount>1</amount></order>")
    demaq("send", str(shop), "orders", order, "--property", "customer=Grace", "-p", "Sender=me")
    (message,) = as_json("messages", "orders", "--app", str(shop))
    assert message["properties"]["customer"] == {"type": "xs:string", "value": "Grace"}
    assert message["properties"]["Sender"] == {"type": "xs:string", "value": "me"}
    assert "did you mean `customer`?" in demaq("send", str(shop), "orders", order, "-p", "custommer=x", status=2)
    assert "write NAME=VALUE" in demaq("send", str(shop), "orders", order, "-p", "x", status=2)
    assert "did you mean `orders`?" in demaq("send", str(shop), "order", order, status=2)
    assert "outgoing gateway" in demaq("send", str(shop), "bills", order, status=2)


def test_what_cannot_be_read_is_refused_and_told(shop: Path, tmp_path: Path) -> None:
    good = write(tmp_path, "good.xml", "<order><amount>1</amount></order>")
    bad = write(tmp_path, "bad.xml", "<order><amount>")
    out = demaq("send", str(shop), "orders", bad, good, status=1)
    assert "bad.xml: the message is not well-formed XML" in out
    assert "1 message refused" in out
    (error,) = as_json("errors", "list", "--app", str(shop))
    assert "<malformed/>" in error["body"]
    assert "&lt;order&gt;&lt;amount&gt;" in error["body"]
    assert "nowhere.xml` cannot be read" in demaq("send", str(shop), "orders", "nowhere.xml", status=2)
    assert len(as_json("messages", "orders", "--app", str(shop))) == 1


def test_an_error_is_retried_once_after_a_fix(shop: Path, tmp_path: Path) -> None:
    order = write(tmp_path, "a.xml", "<order><customer>Ada</customer><amount>two</amount></order>")
    demaq("send", str(shop), "orders", order)
    assert "1 failed" in demaq("run", str(shop), "--until-idle")
    (error,) = as_json("errors", "list", "--app", str(shop))
    shown = demaq("errors", "show", str(error["id"]), "--app", str(shop))
    assert "<code>FORG0001</code>" in shown
    line = next(number for number, text in enumerate(SHOP.splitlines(), 1) if "xs:decimal" in text)
    place = re.search(r'<location line="(\d+)" column="(\d+)" file="main.demaq"/>', shown)
    assert place is not None
    assert int(place[1]) == line
    assert SHOP.splitlines()[line - 1].find("xs:decimal") < int(place[2]) <= SHOP.splitlines()[line - 1].find(" * 2")
    module = shop / "main.demaq"
    module.write_text(
        module.read_text("utf-8").replace("xs:decimal(/order/amount) * 2", "count(/order/amount)"), encoding="utf-8"
    )
    assert "version 2 of shop is in force" in demaq("deploy", str(shop))
    assert "is processed again as message 3" in demaq("errors", "retry", str(error["id"]), "--app", str(shop))
    assert "was retried before, as message 3" in demaq("errors", "retry", "1", "--app", str(shop), status=2)
    demaq("run", str(shop), "--until-idle")
    (bill,) = as_json("messages", "bills", "--app", str(shop))
    assert bill["body"] == '<bill no="2">1</bill>'
    assert bill["version"] == 2
    assert as_json("messages", "orders", "--all", "--app", str(shop))[0]["version"] == 1
    assert as_json("errors", "list", "--app", str(shop))[0]["retriedAs"] == 3


def test_a_queue_with_messages_cannot_be_dropped(shop: Path, tmp_path: Path) -> None:
    order = write(tmp_path, "a.xml", "<order><customer>Ada</customer><amount>1</amount></order>")
    demaq("send", str(shop), "orders", order)
    demaq("run", str(shop), "--until-idle")
    module = shop / "main.demaq"
    text = module.read_text("utf-8")
    module.write_text(text.replace("orders", "purchases"), encoding="utf-8")
    out = demaq("deploy", str(shop), status=1)
    assert "the queue `orders` is gone, but holds 0 waiting messages and 1 retained message" in out
    assert as_json("status", "--app", str(shop))["version"] == 1
    module.write_text(text, encoding="utf-8")
    demaq("send", str(shop), "orders", "-", text="<close><customer>x</customer></close>")
    demaq("run", str(shop), "--until-idle")


def test_a_program_with_errors_does_not_run(shop: Path) -> None:
    (shop / "main.demaq").write_text("create rule r for nowhere if (/a) then do reset", encoding="utf-8")
    for command in (["run"], ["deploy"], ["test"]):
        assert "error[" in demaq(*command, str(shop), status=1)
    assert "there is no store" in demaq("status", "--app", str(shop), status=2)


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.1)


def test_a_node_runs_while_others_send_and_deploy(shop: Path, tmp_path: Path) -> None:
    order = write(tmp_path, "a.xml", "<order><customer>Ada</customer><amount>1</amount></order>")
    node = subprocess.Popen(
        [sys.executable, "-c", "from demaq.cli import main; main()", "run", str(shop)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    try:
        until(lambda: (shop / ".demaq" / "log.db.lock").exists())
        demaq("send", str(shop), "orders", order)
        until(lambda: len(as_json("messages", "bills", "--app", str(shop))) == 1)
        assert "stop that one first" in demaq("run", str(shop), "--until-idle", status=2)
        module = shop / "main.demaq"
        module.write_text(module.read_text("utf-8").replace("* 2", "* 3"), encoding="utf-8")
        assert "version 2 of shop is in force after position 2" in demaq("deploy", str(shop))
        demaq("send", str(shop), "orders", order)
        until(lambda: len(as_json("messages", "bills", "--app", str(shop))) == 2)
        bodies = [message["body"] for message in as_json("messages", "bills", "--app", str(shop))]
        assert bodies == ['<bill no="1">2</bill>', '<bill no="2">3</bill>']
    finally:
        node.send_signal(signal.SIGTERM)
        out, _ = node.communicate(timeout=60)
    assert node.returncode == 0
    assert "4 messages processed, 0 failed, 0 waiting" in out


def test_compact_and_migrate(shop: Path, tmp_path: Path) -> None:
    (shop / "demaq.toml").write_text('keep = "0 seconds"\n', encoding="utf-8")
    big = write(tmp_path, "a.xml", f"<order><amount>1</amount><x>{'y' * 100_000}</x></order>")
    demaq("send", str(shop), "orders", *[big] * 10)
    demaq("run", str(shop), "--until-idle")
    done = as_json("compact", "--app", str(shop))
    assert done["deleted"] == 10
    assert done["bytesAfter"] < done["bytesBefore"] / 2
    assert as_json("status", "--app", str(shop))["ok"]
    assert "is up to date" in demaq("migrate", "--app", str(shop))


def test_timers(shop: Path) -> None:
    module = shop / "main.demaq"
    module.write_text(
        module.read_text("utf-8")
        + """
        create rule remind for orders
        if (/order) then
          do enqueue <close><customer>{/order/customer}</customer></close> into later
            with timeout value xs:dayTimeDuration("P1D") with target value "orders"
        """,
        encoding="utf-8",
    )
    demaq("send", str(shop), "orders", "-", text="<order><customer>Ada</customer><amount>1</amount></order>")
    demaq("run", str(shop), "--until-idle")
    (timer,) = as_json("timers", "--app", str(shop))
    assert timer["queue"] == "later"
    assert timer["due"] > timer["created"]
    assert "later" in demaq("timers", "--app", str(shop))


def test_the_scenarios_of_the_examples_pass() -> None:
    results = as_json("test", str(PROCUREMENT))
    assert len(results) >= 7
    assert all(result["passed"] for result in results), results
    assert "1 passed" in demaq("test", str(PROCUREMENT), "-k", "gets one offer")


def test_a_scenario_that_fails_shows_the_difference(shop: Path) -> None:
    (shop / "scenarios").mkdir()
    write(
        shop / "scenarios",
        "a.xml",
        """<scenario name="a bill">
  <send queue="orders"><order><customer>Ada</customer><amount>1</amount></order></send>
  <expect queue="bills"><bill no="1">3</bill></expect>
</scenario>""",
    )
    out = demaq("test", str(shop), status=1)
    assert "✗ a bill" in out
    assert "a.xml:3: in bills (1 expected, 1 came):" in out
    assert '-<bill no="1">3</bill>' in out
    assert '+<bill no="1">2</bill>' in out
    assert "1 scenario: 0 passed, 1 failed" in out


def test_there_is_nothing_to_test(shop: Path) -> None:
    assert "there are no files scenarios/*.xml" in demaq("test", str(shop), status=2)
