"""Pipelines by chance: what is printed reads as it was, and whatever a file holds, the answer is a report, soon.

Every mutation has a number, which alone decides it: a failure names it, and `mutation(number)` makes it again.
"""

import time
import unicodedata
from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import given

from demaq.diagnostics import Diagnostic, Report, Source, Span, render
from demaq.drawing import to_svg
from demaq.pipelines import CheckedPipeline, check_pipeline
from demaq.pipelines import tree as t
from demaq.pipelines.explain import dependencies_drawing, overview, pipeline_data, routes_drawing
from demaq.pipelines.parser import parse_pipeline
from demaq.pipelines.printer import print_tree
from property.effort import MUTATIONS, examples
from property.mutating import mutate
from property.pipeline_strategies import pipelines

CORPUS = Path(__file__).parents[1] / "golden" / "pipelines"
SECONDS = 2.0  # more than this for one file is a blowup
CHUNKS = 10
DRAWN = 50  # every so many of those that are right are drawn
HIDDEN = ("Cc", "Cf", "Cs")  # what must not reach a terminal
TOKENS = (
    ":- ?- := . , ( ) { } : @ @from @to @enrich @aggregate @split not _ max( count( contains( meta( % + - * / div mod"
    ' < > <= >= = == != "a" 1 -1 2.5 1e3 2024-05-01 true x -aggregate -split $config file:x.json json lines'
    " completionSize=2"
).split()


@examples(700)
@given(pipelines)
def test_printed_pipeline_reads_as_it_was(tree: t.Pipeline) -> None:
    text = print_tree(tree)
    report = Report()
    read = parse_pipeline(Source("printed.lila", text), report)
    assert not list(report), text
    assert read.syntax == tree, text
    assert print_tree(read.syntax) == text


@examples(500)
@given(pipelines)
def test_any_pipeline_gets_a_report(tree: t.Pipeline) -> None:
    _check(check_pipeline(Source("printed.lila", print_tree(tree))))


@cache
def programs() -> tuple[str, ...]:
    """The pipelines of the golden cases that can be read."""
    files = (file for file in sorted(CORPUS.glob("*/*.lila")) if file.parent.name != "not-utf-8")
    return tuple(file.read_text(encoding="utf-8") for file in files)


def mutation(number: int) -> str:
    random = Random(number)
    text = random.choice(programs())
    for _ in range(random.randrange(3)):
        at = random.randrange(len(text) + 1)
        text = f"{text[:at]}{random.choice(['', ' '])}{random.choice(TOKENS)}{random.choice(['', ' '])}{text[at:]}"
    return mutate(random, text, programs()) if random.random() < 0.7 else text


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_any_text_gets_a_report(chunk: int) -> None:
    for number in range(chunk, MUTATIONS, CHUNKS):
        text = mutation(number)
        started = time.process_time()
        try:
            checked = check_pipeline(Source("mutated.lila", text))
            _check(checked, is_drawn=number % DRAWN == 0)
        except Exception as error:
            error.add_note(f"mutation {number}:\n{text[:3000]!r}")
            raise
        taken = time.process_time() - started
        assert taken < SECONDS, f"{taken:.1f} s for mutation {number}:\n{text[:3000]!r}"


def _check(checked: CheckedPipeline, *, is_drawn: bool = False) -> None:
    assert (checked.program is None) == checked.report.has_errors
    for diagnostic in checked.report:
        _check_diagnostic(diagnostic)
    if checked.program is not None:
        assert overview(checked.program)
        assert pipeline_data(checked.program)
        for drawing in (routes_drawing(checked.program), dependencies_drawing(checked.program)):
            assert not is_drawn or to_svg(drawing)


def _check_diagnostic(diagnostic: Diagnostic) -> None:
    for span in (diagnostic.span, *(note.span for note in diagnostic.notes)):
        if span is not None:
            _check_place(span)
    shown = render(diagnostic).replace("\n", "")
    assert not any(unicodedata.category(character) in HIDDEN for character in shown), shown
    assert diagnostic.to_json()["message"] == diagnostic.message != ""


def _check_place(span: Span) -> None:
    assert 0 <= span.start <= span.end <= len(span.source.text), span
