"""The two commands of the README, as a person runs them. The environment is there already: `bin/test` made it."""

import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]


def test_the_demo_ends_with_a_picture() -> None:
    picture = ROOT / "out" / "procurement.svg"
    picture.unlink(missing_ok=True)
    run = subprocess.run([ROOT / "bin" / "demo"], capture_output=True, text=True, check=True)
    assert "procurement (15 queues, 21 rules): no errors, no warnings" in run.stdout
    assert "skip       not evaluated unless the message has in its slice messages with root elements" in run.stdout
    assert "7 scenarios: 7 passed" in run.stdout
    assert "3000 requests for an offer came in: 2250 offers, 750 refusals" in run.stdout
    assert "each request was answered exactly once" in run.stdout
    assert "1 letter goes out by mail" in run.stdout
    assert "the grace period is over: 150 reminders" in run.stdout
    assert "everything adds up" in run.stdout
    assert "27000 of them were evaluated on Spark, local[*], in " in run.stdout
    assert re.search(r"^crm +12450 +5 +121\.0$", run.stdout, re.MULTILINE)  # by Spark SQL
    assert re.search(r"^2024-01 +acetone +300 +15480$", run.stdout, re.MULTILINE)  # by the pipeline
    assert len(run.stdout.splitlines()) < 240  # short enough to be read
    assert "\x1b" not in run.stdout  # it does not write to a terminal
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    page = (ROOT / "out" / "procurement.html").read_text(encoding="utf-8")
    assert "joinOrder" in page
    assert "each exactly once" in page


def test_the_readme_opens_with_the_two_commands_and_ci_calls_the_second() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.search(r"```sh\n(.*?)```", readme, re.DOTALL)
    assert first is not None
    assert [line.split()[0] for line in first[1].splitlines()] == ["bin/demo", "bin/test"]
    commands = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if line and not line.startswith("#")]
    assert commands[-1] == "exec bin/test"


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    """Without a Python that is new enough, the set-up says so, and how to get one."""
    for tool in ("bash", "dirname", "id", "sh"):
        (tmp_path / tool).symlink_to(
            Path("/usr/bin") / tool if (Path("/usr/bin") / tool).exists() else Path("/bin") / tool
        )
    run = subprocess.run(
        [tmp_path / "bash", ROOT / "bin" / "setup"],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": str(tmp_path)},
    )
    assert run.returncode == 1
    assert "Demaq needs Python 3.11 or newer" in run.stderr
    assert "PYTHON=" in run.stderr
