"""Programs made wrong by chance: whatever a file holds, the answer is a report, soon, with places that exist.

Every mutation has a number, which alone decides it: a failure names it, and `mutation(number)` makes it again.
"""

import shutil
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import pytest

from demaq.diagnostics import Diagnostic, Report, Source, Span, render
from demaq.language import Checked, check
from demaq.language.parser import parse_module
from property.effort import MUTATIONS
from property.mutating import mutate

TESTS = Path(__file__).parents[1]
PLACES = (TESTS / "golden/language", TESTS.parent / "examples", Path(__file__).parent / "programs")
SECONDS = 2.0  # more than this for one file is a blowup
CHUNKS = 20
WITH_ENGINE = 10  # every so many, Saxon has its say; the others go through everything but Saxon
HIDDEN = ("Cc", "Cf", "Cs")  # what must not reach a terminal


@dataclass(frozen=True, slots=True)
class Program:
    folder: Path
    module: str  # the file to change, relative to the folder
    text: str

    def __str__(self) -> str:
        return f"{self.folder.name}/{self.module}"


@cache
def programs() -> tuple[Program, ...]:
    """The modules of all applications that are in order."""
    files = sorted(file for place in PLACES for file in place.rglob("*.demaq"))
    folders = dict.fromkeys(file.parent for file in files)
    return tuple(program for folder in folders for program in _modules(folder))


def _modules(folder: Path) -> Iterator[Program]:
    if not check(folder).report.has_errors:
        for file in sorted(folder.rglob("*.demaq")):
            yield Program(folder, str(file.relative_to(folder)), file.read_text(encoding="utf-8"))


@cache
def _large() -> tuple[Program, ...]:
    """Those with something to change, but for applications of many modules, which take long to check."""
    modules = Counter(program.folder for program in programs())
    return tuple(program for program in programs() if len(program.text) > 600 and modules[program.folder] <= 2)


def mutation(number: int) -> tuple[Program, str]:
    random = Random(number)
    program = random.choice(_large() if random.random() < 0.5 else programs())
    return program, mutate(random, program.text, [other.text for other in programs()])


class Workshop:
    """Copies of the applications, one module of which is replaced at a time."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._copies: dict[Path, Path] = {}

    def check(self, program: Program, text: str) -> Checked:
        file = self._copy(program.folder) / program.module
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            return check(self._copies[program.folder])
        finally:
            file.write_text(program.text, encoding="utf-8")

    def _copy(self, folder: Path) -> Path:
        if folder not in self._copies:
            self._copies[folder] = self._root / f"{len(self._copies)}" / folder.name
            shutil.copytree(folder, self._copies[folder])
        return self._copies[folder]


class NoEngine:
    def check(self, query: str) -> None:
        """Every query is fine."""


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("mutations"))


def test_there_are_programs_to_change() -> None:
    names = {program.folder.name for program in programs()}
    assert {"constructs", "functions", "wire", "procurement", "clean-minimal"} <= names
    assert len(names) > 40


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_any_text_gets_a_report(chunk: int, workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(chunk, MUTATIONS, CHUNKS):
        with monkeypatch.context() as patch:
            if number // CHUNKS % WITH_ENGINE:
                patch.setattr("demaq.language.compile._saxon", NoEngine)
            _check_mutation(number, workshop)


def _check_mutation(number: int, workshop: Workshop) -> None:
    program, text = mutation(number)
    started = time.process_time()
    try:
        checked = workshop.check(program, text)
        _check_report(checked)
        _check_in_memory(program, text)
    except Exception as error:
        error.add_note(_about(number, program, text))
        raise
    taken = time.process_time() - started
    assert taken < SECONDS, f"{taken:.1f} s\n{_about(number, program, text)}"


def _about(number: int, program: Program, text: str) -> str:
    shown = text if len(text) < 3000 else f"{text[:3000]}..."
    return f"mutation {number} of {program}:\n{shown!r}"


def _check_report(checked: Checked) -> None:
    assert (checked.program is None) == checked.report.has_errors
    for diagnostic in checked.report:
        _check_diagnostic(diagnostic)


def _check_diagnostic(diagnostic: Diagnostic) -> None:
    for span in (diagnostic.span, *(note.span for note in diagnostic.notes)):
        if span is not None:
            _check_place(span)
    shown = render(diagnostic).replace("\n", "")
    assert not any(unicodedata.category(character) in HIDDEN for character in shown), shown
    assert diagnostic.to_json()["message"] == diagnostic.message != ""


def _check_place(span: Span) -> None:
    assert 0 <= span.start <= span.end <= len(span.source.text), span
    of_the_user = (".demaq", ".lila", ".toml")  # and no text of ours
    assert span.source.name.endswith(of_the_user), span.source.name


def _check_in_memory(program: Program, text: str) -> None:
    """A file cannot hold half a character; what a program hands over can."""
    if any(unicodedata.category(character) == "Cs" for character in text):
        report = Report()
        parse_module(Source(program.module, text), "memory", report)
        for diagnostic in report:
            _check_diagnostic(diagnostic)
