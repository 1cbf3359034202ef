"""Programs made wrong by chance: whatever they say, they are answered with findings, never with a traceback.

10,000 mutations run with the other tests. The long form: DEMAQ_FUZZ=100000 bin/test tests/property/test_mutations.py
"""

import os
import time
from pathlib import Path
from random import Random

import pytest

from demaq.diagnostics import Diagnostic, render
from demaq.language import check
from property.mutating import mutate

ROOT = Path(__file__).parents[2]
MUTATIONS = int(os.environ.get("DEMAQ_FUZZ", "10000"))
BATCHES = 10
# A check of such a program takes some hundredths of a second: this is no measure of speed, but finds what explodes.
TOO_LONG = 30.0


def _programs() -> list[str]:
    """Programs with nothing wrong with them: the examples, and the golden cases without findings."""
    files = sorted((ROOT / "examples").rglob("*.demaq"))
    for case in sorted((ROOT / "tests" / "golden" / "language").iterdir()):
        if case.is_dir() and "no errors, no warnings" in (case / "expected.txt").read_text(encoding="utf-8"):
            files += sorted(case.glob("*.demaq"))
    return [file.read_bytes().decode("utf-8-sig") for file in files]


PROGRAMS = _programs()


def test_there_are_programs_to_mutate() -> None:
    assert len(PROGRAMS) > 50


@pytest.mark.parametrize("batch", range(BATCHES))
def test_mutations_never_give_a_traceback(batch: int, tmp_path: Path) -> None:
    size = MUTATIONS // BATCHES
    for seed in range(batch * size, (batch + 1) * size):
        random = Random(seed)
        text = mutate(random, random.choice(PROGRAMS), PROGRAMS)
        (tmp_path / "main.demaq").write_bytes(text.encode("utf-8", "surrogatepass"))
        started = time.perf_counter()
        try:
            checked = check(tmp_path)
            found = list(checked.report)
            for diagnostic in found:
                _inspect(diagnostic)
        except Exception as error:  # noqa: BLE001 (any of them is what this looks for)
            pytest.fail(f"seed {seed}: {type(error).__name__}: {error}\n{text}")
        assert (checked.program is None) == checked.report.has_errors, seed
        assert len({(d.code.name, d.message, d.span) for d in found}) == len(found), seed
        assert time.perf_counter() - started < TOO_LONG, seed


def _inspect(diagnostic: Diagnostic) -> None:
    """It can be shown, and its place is one of the text."""
    assert diagnostic.message
    assert "\x1b" not in render(diagnostic)
    diagnostic.to_json()
    span = diagnostic.span
    assert span is None or 0 <= span.start <= span.end <= len(span.source.text) + 1, diagnostic
