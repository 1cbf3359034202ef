"""Bad input for the REST API: by Schemathesis, which reads its OpenAPI document."""

import os
import subprocess
import sys
from pathlib import Path

from fuzz.node import Fuzzed
from fuzz.tally import Tally

_TESTS = Path(__file__).parents[1]
_NOT_MEANT = "positive_data_acceptance"  # a body is a string for OpenAPI, and has to be XML for us
_LATE = 60  # seconds that it may take beyond its time


def schemathesis(node: Fuzzed, tally: Tally, seed: int, seconds: float, examples: int | None = None) -> None:
    """All checks on all operations for so long, or with so many examples each."""
    answers = node.folder / f"answers-{seed}.txt"
    answers.touch()
    often = ["--max-time", str(int(seconds))] if examples is None else ["--max-examples", str(examples)]
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{node.address}/api/openapi.json", *often]
    command += [
        "--checks",
        "all",
        "--exclude-checks",
        _NOT_MEANT,
        "--continue-on-failure",
        "--no-color",
        "--request-timeout",
        "60",
    ]
    command += ["--seed", str(seed), "--suppress-health-check", "all", "--max-response-time", "30"]
    if examples is not None:
        command += ["--phases", "coverage,fuzzing", "--no-shrink"]
    path = os.pathsep.join([str(_TESTS), str(_TESTS.parent)])
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "fuzz.hooks", "FUZZ_ANSWERS": str(answers), "PYTHONPATH": path}
    done = subprocess.run(
        command, cwd=node.folder, env=environment, capture_output=True, text=True, timeout=seconds + _LATE
    )
    if done.returncode != 0:
        tally.wrong(f"Schemathesis found something:\n{done.stdout[-6000:]}{done.stderr[-2000:]}")
    for line in answers.read_text(encoding="utf-8").splitlines():
        status, took, number = line.split()
        tally.note(int(status), float(took))
        if int(number):
            tally.accept(int(number))
