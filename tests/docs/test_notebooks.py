"""The notebooks among the examples are valid, and their code runs."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from docs.fences import ROOT

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))

SHOWN = {
    "log": ("|20    |", "|schema|requests|"),  # offers
    "pipeline": ("firstN", "count|", "reason|"),
}


def cells(notebook: Path, kind: str) -> list[Any]:
    return [cell for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_one(notebook: Path) -> None:
    read = json.loads(notebook.read_text(encoding="utf-8"))
    assert (read["nbformat"], read["nbformat_minor"]) == (4, 5)
    assert {"cells", "metadata", "nbformat", "nbformat_minor"} == set(read)
    assert len({cell["id"] for cell in read["cells"]}) == len(read["cells"])
    common = {"cell_type", "id", "metadata", "source"}
    assert all(set(cell) == common for cell in cells(notebook, "markdown"))
    for cell in cells(notebook, "code"):
        assert set(cell) == {*common, "execution_count", "outputs"}
        assert (cell["execution_count"], cell["outputs"]) == (None, [])


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_its_code_runs(notebook: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns(".demaq"))
    script = tmp_path / "script.py"
    script.write_text("\n\n".join("".join(cell["source"]) for cell in cells(notebook, "code")), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path / "examples" / "notebooks",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert all(shown in done.stdout for shown in SHOWN[notebook.stem])
