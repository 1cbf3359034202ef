"""Golden cases of `demaq explain`: in the folder of an application, `NAME.txt` is what it prints of a name in it.

`DEMAQ_GOLDEN=write` writes the expected texts anew; read the difference before you commit it. To add one, make an empty
file.
"""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from demaq.cli import main

CASES = sorted((Path(__file__).parent / "explain").glob("*/*.txt"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name} {case.stem}")
def test_explain_prints_what_is_expected(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case.parent)
    result = CliRunner().invoke(main, ["explain", ".", *case.stem.split()])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    if os.environ.get("DEMAQ_GOLDEN") == "write":
        case.write_text(result.output, encoding="utf-8")
    assert result.output == case.read_text(encoding="utf-8")
