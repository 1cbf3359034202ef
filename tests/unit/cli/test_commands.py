"""The commands as a person meets them."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from demaq import __version__
from demaq.cli import main

ROOT = Path(__file__).parents[3]
PROCUREMENT = str(ROOT / "examples" / "procurement")
CLEAN = "create queue a kind incomingGateway create queue b kind outgoingGateway\n"
RULE = "create rule r for a if (/x) then do enqueue <y/> into b\n"


def demaq(*args: str) -> Result:
    result = CliRunner().invoke(main, args)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def app(tmp_path: Path) -> Path:
    (tmp_path / "app.demaq").write_text(CLEAN + RULE)
    return tmp_path


def test_version() -> None:
    assert demaq("--version").output == f"demaq, version {__version__}\n"


@pytest.mark.parametrize("command", ["check", "explain", "init", "completion"])
def test_help_has_an_example(command: str) -> None:
    result = demaq(command, "--help")
    assert result.exit_code == 0
    assert "Example" in result.output


def test_misuse_ends_with_2() -> None:
    assert demaq("check").exit_code == 2
    assert demaq("nonsense").exit_code == 2
    assert demaq("explain", PROCUREMENT, "--json", "--mermaid").exit_code == 2
    assert demaq("explain", PROCUREMENT, "joinOrder", "--mermaid").exit_code == 2


class TestCheck:
    def test_clean(self, app: Path) -> None:
        result = demaq("check", str(app))
        assert result.exit_code == 0
        assert result.output == f"{app.name} (2 queues, 1 rule): no errors, no warnings\n"

    def test_a_single_file(self, app: Path) -> None:
        assert demaq("check", str(app / "app.demaq")).exit_code == 0

    def test_errors_end_with_1(self, app: Path) -> None:
        (app / "app.demaq").write_text(CLEAN + RULE.replace("into b", "into c"))
        result = demaq("check", str(app))
        assert result.exit_code == 1
        assert "error[DQ0101]: there is no queue `c`" in result.output
        assert result.output.endswith("1 error\n")

    def test_warnings_alone_end_with_0(self, app: Path) -> None:
        (app / "app.demaq").write_text(CLEAN + RULE + "create queue d kind outgoingGateway")
        result = demaq("check", str(app))
        assert result.exit_code == 0
        assert "1 warning" in result.output

    def test_json(self, app: Path) -> None:
        (app / "app.demaq").write_text(CLEAN + RULE.replace("into b", "into c"))
        result = demaq("check", str(app), "--json")
        data = json.loads(result.output)
        assert result.exit_code == 1
        assert data["ok"] is False
        assert (data["errors"], data["hints"]) == (1, 0)
        (error,) = [one for one in data["diagnostics"] if one["severity"] == "error"]
        assert (error["code"], error["line"], error["column"]) == ("DQ0101", 2, 55)
        assert Path(error["file"]) == app / "app.demaq"

    @pytest.mark.parametrize("place", ["nowhere", "empty", "file.txt"])
    def test_no_application(self, place: str, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        (tmp_path / "file.txt").write_text("")
        result = demaq("check", str(tmp_path / place))
        assert result.exit_code == 2
        assert "error:" in result.output

    def test_the_nearest_folder_is_named(self, app: Path) -> None:
        (app / "shop").mkdir()
        assert "did you mean" in demaq("check", str(app / "shpo")).output


class TestExplain:
    def test_the_flow_names_every_queue_and_rule(self) -> None:
        printed = demaq("explain", PROCUREMENT).output
        data = json.loads(demaq("explain", PROCUREMENT, "--json").output)
        for rule in data["rules"]:
            assert f" {rule['name']} " in printed
        for queue in data["queues"]:
            assert queue["name"] in printed or queue["name"] == "systemErrors"

    def test_the_plan_of_a_rule(self) -> None:
        printed = demaq("explain", PROCUREMENT, "checkCreditRating").output
        assert "not evaluated unless the message has an element `requestCustomerInfo`" in printed
        assert "the queue invoices, by index: //customerID = qs:message()//customerID" in printed
        assert "<customerInfoResult> into crm" in printed
        assert "kept until reset in requestMsgs, retainOrders" in printed
        assert 'demaq:queue($demaq:view, "invoices")' in printed

    def test_the_plan_as_json(self) -> None:
        data = json.loads(demaq("explain", PROCUREMENT, "checkPayment", "--json").output)
        assert data["skipUnless"] == {"contains": "timeoutNotification"}
        assert [read["queue"] for read in data["reads"]["queues"]] == ["finance", "invoices"]
        assert data["writes"] == [{"queue": "customer", "roots": ["reminder"], "properties": [], "target": None}]

    @pytest.mark.parametrize("name", ["crm", "requestMsgs"])
    def test_the_plan_of_a_queue_or_slicing(self, name: str) -> None:
        printed = demaq("explain", PROCUREMENT, name).output
        data = json.loads(demaq("explain", PROCUREMENT, name, "--json").output)
        for rule in data["rules"]:
            assert f" {rule['name']} " in printed
        for function in data["functions"]:
            assert function["xquery"] in printed or len(function["rules"]) == 1
        assert "once       //requestID, in newOfferRequest, joinOrder and confirmOrder\n" in printed

    @pytest.mark.parametrize(
        ("arguments", "meant"),
        [
            (["joinOrders"], "did you mean `joinOrder`?"),
            (["invoicez"], "did you mean `invoices`?"),
            (["nothing"], "there is no rule, queue or slicing `nothing`; the rules are"),
            (["joinOrder", "--queue"], "there is no queue or slicing `joinOrder`; "),
            (["--queue"], "--queue needs the name"),
        ],
    )
    def test_an_unknown_name(self, arguments: list[str], meant: str) -> None:
        result = demaq("explain", PROCUREMENT, *arguments)
        assert result.exit_code == 2
        assert meant in result.output

    def test_a_name_of_a_rule_and_of_a_queue(self, app: Path) -> None:
        (app / "app.demaq").write_text(CLEAN + RULE.replace("rule r", "rule a"))
        rule = demaq("explain", str(app), "a")
        assert rule.stdout.startswith("rule a  module")
        assert rule.stderr == "This is the rule `a`. There is a queue of that name, too: add --queue to see it.\n\n"
        queue = demaq("explain", str(app), "a", "--queue")
        assert queue.stdout.startswith("queue a  ")
        assert queue.stderr == ""
        assert json.loads(demaq("explain", str(app), "a", "--json").stdout)["name"] == "a"

    def test_a_picture(self, tmp_path: Path) -> None:
        target = tmp_path / "flow.svg"
        assert demaq("explain", PROCUREMENT, "--svg", str(target)).exit_code == 0
        drawn = ElementTree.parse(target).getroot()
        assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
        assert {"joinOrder", "requestMsgs", "customer"} <= {text.strip() for text in drawn.itertext()}

    def test_a_picture_on_standard_output(self) -> None:
        assert demaq("explain", PROCUREMENT, "--svg", "-").output.lstrip().startswith("<svg")

    def test_a_picture_that_cannot_be_written(self, tmp_path: Path) -> None:
        result = demaq("explain", PROCUREMENT, "--svg", str(tmp_path / "no" / "flow.svg"))
        assert result.exit_code == 2
        assert "cannot write" in result.output

    def test_mermaid(self) -> None:
        assert demaq("explain", PROCUREMENT, "--mermaid").output.startswith(("flowchart LR", "---"))

    def test_what_is_wrong_cannot_be_explained(self, app: Path) -> None:
        (app / "app.demaq").write_text(CLEAN + RULE.replace("into b", "into c"))
        result = demaq("explain", str(app))
        assert result.exit_code == 1
        assert "nothing to explain" in result.output


class TestInit:
    def test_what_it_makes_checks_clean(self, tmp_path: Path) -> None:
        target = tmp_path / "new" / "shop"
        assert demaq("init", str(target)).exit_code == 0
        result = demaq("check", str(target))
        assert result.exit_code == 0
        assert "no errors, no warnings" in result.output

    def test_it_overwrites_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "demaq.toml").write_text("mine")
        result = demaq("init", str(tmp_path))
        assert result.exit_code == 2
        assert (tmp_path / "demaq.toml").read_text() == "mine"
        assert not (tmp_path / "greeter.demaq").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    result = demaq("completion", shell)
    assert result.exit_code == 0
    assert "_DEMAQ_COMPLETE" in result.output


def test_completion_completes() -> None:
    environment = {**os.environ, "_DEMAQ_COMPLETE": "bash_complete", "COMP_WORDS": "demaq exp", "COMP_CWORD": "1"}
    run = subprocess.run(
        [Path(sys.executable).with_name("demaq")], env=environment, capture_output=True, text=True, check=False
    )
    assert "explain" in run.stdout


def _on_a_terminal(*args: str) -> bytes:
    """The output of the command when it writes to a terminal."""
    main_end, terminal = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "demaq", *args], stdout=terminal, stderr=terminal) as process:
        os.close(terminal)
        output = b""
        while True:
            try:
                chunk = os.read(main_end, 4096)
            except OSError:  # the terminal is closed when the process ends
                break
            if not chunk:
                break
            output += chunk
        process.wait()
    os.close(main_end)
    return output


def test_colours_only_on_a_terminal(app: Path) -> None:
    (app / "app.demaq").write_text(CLEAN + RULE.replace("into b", "into c"))
    piped = subprocess.run([sys.executable, "-m", "demaq", "check", str(app)], capture_output=True, check=False).stdout
    assert b"\x1b[" not in piped
    assert b"\x1b[31m" in _on_a_terminal("check", str(app))
