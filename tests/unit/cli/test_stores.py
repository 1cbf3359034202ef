"""Commands that write into stores and look into them, and what they say when something is wrong."""

import json
import signal
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from demaq.cli import main
from demaq.model import NewMessage, Origin
from demaq.node import Node
from demaq.store import StoreUnavailable, open_store

APP = """
create queue inbox kind basic
create queue notes kind basic mode transient
create queue outbox kind outgoingGateway
create rule answer for inbox if (/ping) then do enqueue <pong/> into outbox
create rule first for inbox if (/fail) then do enqueue <pong>{1 div 0}</pong> into outbox
create rule second for inbox if (/fail) then do enqueue <pong>{xs:integer("x")}</pong> into outbox
create rule again for inbox if (/again) then do enqueue <again/> into inbox
create rule trip for systemErrors if (contains(/error, "odd")) then do enqueue <pong>{1 div 0}</pong> into outbox
"""


@pytest.fixture
def app(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "main.demaq").write_text(APP, encoding="utf-8")
    return folder


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a store, which every command finds by itself."""
    address = f"sqlite:///{tmp_path / 'log.db'}"
    monkeypatch.setenv("DEMAQ_STORE", address)
    return address


@pytest.fixture
def node(app: Path, url: str) -> Iterator[Node]:
    with Node(app, url, inline=True) as node:
        yield node


def demaq(*args: object, status: int = 0) -> Result:
    result = CliRunner().invoke(main, [str(arg) for arg in args])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == status, result.output
    return result


def as_json(*args: object, status: int = 0) -> Any:
    return json.loads(demaq(*args, "--json", status=status).stdout)


@pytest.mark.usefixtures("url")
class TestSend:
    @pytest.fixture
    def files(self, tmp_path: Path) -> list[Path]:
        files = [tmp_path / f"{number}.xml" for number in range(3)]
        for file in files:
            file.write_text("<ping/>", encoding="utf-8")
        return files

    @pytest.mark.parametrize("bad", ["nowhere.xml", "."])
    def test_nothing_is_sent_unless_all_files_can_be_read(
        self, bad: str, app: Path, files: list[Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(import_module("demaq.cli.send"), "_AT_ONCE", 2)
        result = demaq("send", app, "inbox", *files, bad, status=2)
        assert f"`{bad}` cannot be read" in result.stderr
        assert result.stdout == ""
        demaq("send", app, "inbox", files[0])
        assert [message["id"] for message in as_json("messages", "inbox")] == [1]

    @pytest.mark.parametrize("is_json", [False, True])
    def test_what_was_sent_before_the_store_failed_is_told(
        self, is_json: bool, app: Path, files: list[Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(import_module("demaq.cli.send"), "_AT_ONCE", 2)
        monkeypatch.setattr(import_module("demaq.cli.send"), "Sender", BrokenSender)
        result = demaq("send", app, "inbox", *files, *(["--json"] if is_json else []), status=2)
        assert "the store is gone" in result.stderr
        if is_json:
            assert json.loads(result.stdout) == [{"file": str(files[0]), "id": 1}, {"file": str(files[1]), "id": 2}]
        else:
            assert result.stdout == "1\n2\n"


class BrokenSender:
    """Takes messages in once."""

    def __init__(self, *_: object) -> None:
        self._is_broken = False

    def __enter__(self) -> "BrokenSender":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def send_many(self, _queue: str, bodies: list[bytes], _properties: dict[str, str]) -> list[int]:
        if self._is_broken:
            raise StoreUnavailable("the store is gone")
        self._is_broken = True
        return list(range(1, 1 + len(bodies)))


class TestRetry:
    @pytest.fixture
    def failed(self, node: Node) -> list[int]:
        """The ids of a message that failed, and of the two errors about it."""
        number = node.send("inbox", "<fail/>")
        node.run_until_idle()
        return [number, *sorted(error.id for error in node.errors())]

    def test_each_is_told(self, failed: list[int]) -> None:
        message, one, two = failed
        result = demaq("errors", "retry", one, two, 99, status=2)
        assert result.stdout == f"{one} is processed again as message 4\n"
        assert result.stderr.splitlines() == [
            f"error: message {message} was retried before, as message 4",
            "error: there is no message 99: it was never there, or it was reclaimed",
        ]

    def test_each_is_told_in_json(self, failed: list[int]) -> None:
        message, one, two = failed
        first, second = as_json("errors", "retry", one, two, status=2)
        assert first == {"id": one, "retriedAs": 4, "refused": None}
        assert (second["id"], second["retriedAs"]) == (two, None)
        assert second["refused"] == f"message {message} was retried before, as message 4"

    def test_what_was_refused_must_be_sent_again(self, node: Node) -> None:
        node.send_many("inbox", ["<malformed>"])
        for _ in range(2):  # the error message waits, then it is processed
            result = demaq("errors", "retry", 1, status=2)
            assert "message 1 is about one that was refused, and that never got into the log: send" in result.stderr
            node.run_until_idle()

    def test_an_error_message_that_failed_itself(self, node: Node) -> None:
        node.send_many("inbox", ["<odd>"])
        node.run_until_idle()
        assert [error.state.value for error in node.errors()][-1] == "failed"
        assert "1 is processed again as message" in demaq("errors", "retry", 1).stdout


def test_only_error_messages_are_shown_as_such(node: Node) -> None:
    number = node.send("inbox", "<fail/>")
    node.run_until_idle()
    for more in ([], ["--json"]):
        result = demaq("errors", "show", number, *more, status=2)
        assert f"message {number} in inbox is no error message" in result.stderr
        assert result.stdout == ""
    assert "<fail/>" in demaq("errors", "show", node.errors()[0].id).stdout


class TestRun:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_signal_ends_it_although_it_is_not_idle(
        self, number: signal.Signals, app: Path, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        steps = 0

        def step(node: Node, step: Any = Node.step) -> Any:
            nonlocal steps
            steps += 1
            assert steps < 10, "it does not stop"
            if steps == 3:
                signal.raise_signal(number)
            return step(node)

        with Node(app, url, inline=True) as node:
            node.send("inbox", "<again/>")
        monkeypatch.setattr(Node, "step", step)
        assert "3 messages processed, 0 failed, 1 waiting" in demaq("run", app, "--until-idle").stdout


class TestDeploy:
    @pytest.fixture(autouse=True)
    def in_a_hurry(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(import_module("demaq.cli.deploy"), "_PATIENCE", 0.1)

    def test_a_node_that_takes_its_time(self, node: Node, app: Path) -> None:
        module = app / "main.demaq"
        module.write_text(module.read_text("utf-8") + "create queue more kind basic\n", encoding="utf-8")
        result = demaq("deploy", app, status=3)
        assert "version 2 of app is proposed, but not in force yet" in result.stderr
        assert result.stdout == ""
        assert as_json("deploy", app, status=3) == {"version": 2, "position": None, "application": "app"}
        node.run_until_idle()
        assert demaq("deploy", app).stdout == "version 2 of app is in force after position 0\n"

    def test_a_node_that_refuses(self, node: Node, app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        node.send("inbox", "<ping/>")
        (app / "main.demaq").write_text("create queue other kind basic\n", encoding="utf-8")
        monkeypatch.setattr("time.sleep", lambda _: node.step())
        assert "refused: the queue `inbox` is gone" in demaq("deploy", app, status=1).stderr


def caused(url: str, causes: Sequence[int | None]) -> None:
    """Put messages into a store that have these causes."""
    store = open_store(url)
    store.append(
        [NewMessage(queue="q", body="<a/>", origin=Origin.RULE, cause=cause, rule="r") for cause in causes],
        datetime(2024, 1, 1, tzinfo=UTC),
    )
    store.close()


class TestTrace:
    @pytest.fixture
    def chain(self, url: str) -> int:
        """The last of many messages, each of which caused the next one. The first one caused another, too."""
        caused(url, [None, *range(1, 3000), 1])
        return 3000

    def test_a_long_chain(self, chain: int) -> None:
        lines = demaq("trace", chain).stdout.splitlines()
        assert len(lines) == 2 * (chain + 1)
        titles = [line for line in lines if "rule r" in line]
        assert titles[1].startswith("├─ 2 q  rule r")
        assert titles[20].startswith("│  " + 18 * "   " + "└─ 21 q  rule r")
        assert titles[21].startswith("21: " + 19 * "   " + "└─ 22 q  rule r")
        assert titles[chain - 1].startswith("2999: " + 19 * "   " + "└─ 3000 q  rule r")
        assert titles[chain].startswith("└─ 3001 q  rule r")

    def test_a_long_chain_in_json(self, chain: int) -> None:
        messages = as_json("trace", chain)
        assert [message["id"] for message in messages] == list(range(1, chain + 2))
        assert [message["effects"] for message in messages[:2]] == [[2, chain + 1], [3]]
        assert messages[-2]["effects"] == []
        assert messages[-2]["cause"] == chain - 1

    @pytest.mark.parametrize(("length", "is_nested"), [(100, True), (101, False)])
    def test_a_short_chain_in_json_is_nested(self, length: int, is_nested: bool, url: str) -> None:
        caused(url, [None, *range(1, length)])
        found = as_json("trace", 1)
        assert isinstance(found, dict) is is_nested
        if is_nested:
            assert found["effects"][0]["effects"][0]["id"] == 3

    def test_what_is_too_much_is_said(self, chain: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("demaq.engine.log.MOST_TRACED", 10)
        monkeypatch.setattr(import_module("demaq.cli.trace"), "MOST_TRACED", 10)
        result = demaq("trace", chain)
        assert "what came of the first 10 messages is shown, and nothing beyond" in result.stderr
        assert "11 q" in result.stdout


@pytest.mark.usefixtures("url")
class TestMessages:
    @pytest.mark.usefixtures("node")
    def test_a_queue_without_messages(self) -> None:
        assert demaq("messages", "inbox").stdout.startswith("there are no messages in inbox that wait")
        assert demaq("messages", "inbox", "--all").stdout == "there are no messages in inbox\n"
        assert as_json("messages", "inbox") == []
        assert demaq("messages", "notes").stdout.startswith("notes is transient")

    @pytest.mark.usefixtures("node")
    def test_an_unknown_queue(self) -> None:
        for more in ([], ["--json"]):
            result = demaq("messages", "inbax", *more, status=2)
            assert "there is no queue `inbax`: did you mean `inbox`?" in result.stderr
            assert result.stdout == ""

    def test_a_queue_that_is_about_to_be(self, app: Path, tmp_path: Path) -> None:
        (tmp_path / "ping.xml").write_text("<ping/>", encoding="utf-8")
        demaq("send", app, "inbox", tmp_path / "ping.xml")
        assert demaq("messages", "outbox", "--all").stdout == "there are no messages in outbox\n"

    def test_a_queue_that_is_gone(self, node: Node, app: Path) -> None:
        node.send("inbox", "<ping/>")
        node.run_until_idle()
        (app / "main.demaq").write_text("create queue outbox kind outgoingGateway\n", encoding="utf-8")
        node.deploy(app)
        assert len(as_json("messages", "inbox", "--all")) == 1
