"""Golden cases of the application language: a folder is an application, `expected.txt` what `demaq check` prints.

`DEMAQ_GOLDEN=write` writes the expected texts anew; read the difference before you commit it.
"""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from demaq.cli import main

CASES = sorted(path.parent for path in (Path(__file__).parent / "language").glob("*/*.demaq"))


@pytest.mark.parametrize("case", dict.fromkeys(CASES), ids=lambda case: case.name)
def test_check_prints_what_is_expected(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case)
    result = CliRunner().invoke(main, ["check", "."])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    printed = f"{result.output}exit {result.exit_code}\n"
    expected = case / "expected.txt"
    if os.environ.get("DEMAQ_GOLDEN") == "write":
        expected.write_text(printed, encoding="utf-8")
    assert printed == expected.read_text(encoding="utf-8")
