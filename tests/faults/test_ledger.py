"""What does not add up is an alarm."""

import sqlite3
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from demaq import LedgerMismatch, Node
from demaq.cli import main
from demaq.engine.ledger import check_batch
from demaq.store import Processed, QueueCounts

APP = """
create queue inbox kind basic
create queue outbox kind outgoingGateway
create rule answer for inbox if (/ping) then do enqueue <pong/> into outbox
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "app.demaq").write_text(APP, encoding="utf-8")
    file = tmp_path / "log.db"
    with Node(tmp_path / "app.demaq", f"sqlite:///{file}", inline=True) as node:
        node.send_many("inbox", ["<ping/>", "<ping/>"])
        node.run_until_idle()
    return file


def change(file: Path, statement: str) -> None:
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("delete from message where id = 1", "inbox: 2 messages were processed, but 0 are retained"),
        ("update ledger set completed = completed + 1 where queue = 'outbox'", "-1 are unaccounted for"),
        ("update message set position = null where id = 2", "inbox: 2 messages came in, but 1 wait"),
        ("update ledger set outside = 7 where queue = 'inbox'", "inbox: 7 messages came in"),
    ],
)
def test_a_mismatch_is_an_alarm(store: Path, statement: str, told: str) -> None:
    change(store, statement)
    status = CliRunner().invoke(main, ["status", "--store", f"sqlite:///{store}"])
    assert status.exit_code == 1
    assert "ALARM" in status.output
    assert told in status.output
    app = str(store.parent / "app.demaq")
    with Node(app, f"sqlite:///{store}", inline=True) as node, pytest.raises(LedgerMismatch, match="add up"):
        node.run_until_idle()
    run = CliRunner().invoke(main, ["run", app, "--store", f"sqlite:///{store}", "--until-idle"])
    assert run.exit_code == 1
    assert "ALARM" in run.output


def test_a_batch_that_the_ledger_does_not_show() -> None:
    done = Processed(message=1, queue="q", position=1, at=datetime(2024, 1, 1, tzinfo=UTC), version=1)
    check_batch({}, {"q": QueueCounts(queue="q", completed=1)}, [done])
    with pytest.raises(LedgerMismatch, match="q: 1 messages were completed, but the ledger counts 0"):
        check_batch({}, {"q": QueueCounts(queue="q")}, [done])
    with pytest.raises(LedgerMismatch, match="q: 0 messages were failed, but the ledger counts 1"):
        check_batch({}, {"q": QueueCounts(queue="q", completed=1, failed=1)}, [done])


def _process_slowly(node: Node) -> None:
    while node.step() is not None:
        time.sleep(0.01)


def test_a_message_that_disappears_is_noticed_while_the_node_is_busy(store: Path, tmp_path: Path) -> None:
    with Node(tmp_path / "app.demaq", f"sqlite:///{store}", inline=True, batch=1) as node:
        node.send_many("inbox", ["<ping/>"] * 100)
        node.step()
        change(store, "delete from message where id = (select max(id) from message)")
        with pytest.raises(LedgerMismatch, match="unaccounted for"):
            _process_slowly(node)
        assert node.log.status().position < 100
