"""A node whose files may not grow: it says so and waits, and nothing is lost when there is room again."""

import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from demaq import Node
from demaq.node import Sender, load

APP = """
create queue inbox kind basic
create queue outbox kind outgoingGateway
create rule answer for inbox if (/ping) then do enqueue <pong n="{/ping/@n}">{/ping/text()}</pong> into outbox
"""
MESSAGES = 200


def test_no_file_may_grow(tmp_path: Path) -> None:
    app = tmp_path / "app.demaq"
    app.write_text(APP, encoding="utf-8")
    url = f"sqlite:///{tmp_path / 'log.db'}"
    with Sender(load(app), url) as sender:
        sender.send_many("inbox", [f"<ping n='{number}'>{'x' * 4000}</ping>" for number in range(MESSAGES)])
    with tempfile.TemporaryFile("w+") as said:
        node = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "from demaq.cli import main; main()",
                "run",
                str(app),
                "--store",
                url,
                "--batch",
                "10",
            ],
            stdout=said,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000)),
        )
        end = time.monotonic() + 60
        text = ""
        while "trying again" not in text and time.monotonic() < end and node.poll() is None:
            time.sleep(0.1)
            said.seek(0)
            text = said.read()
        assert "trying again" in text, text
        assert node.poll() is None  # it waits
        node.send_signal(signal.SIGTERM)
        assert node.wait(60) == 0
    with Node(app, url, inline=True) as again:
        assert 0 < len(again.messages("outbox")) < MESSAGES
        again.run_until_idle()
        answers = [message.body for message in again.messages("outbox")]
        assert len(answers) == len(set(answers)) == MESSAGES
        assert again.status().alarms == []
