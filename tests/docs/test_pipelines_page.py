"""The page on pipelines has every word of the language, and its grammar is that of the parser."""

import random
from functools import cache

import pytest

from demaq.diagnostics import Report, Source
from demaq.pipelines.analysis.patterns import PatternKind
from demaq.pipelines.parser import parse_pipeline
from demaq.pipelines.vocabulary import (
    ANNOTATIONS,
    COMPARISONS,
    COMPLETIONS,
    ENDPOINT_OPTIONS,
    FUNCTIONS,
    TESTS,
    TYPES,
    Format,
    Strategy,
)
from docs.fences import DOCS, code_spans, section, sections, table
from docs.grammar import Choice, Grammar, Part, Row, Symbol, Terminal, read_grammar, symbols, terminals

PAGE = DOCS / "reference" / "pipelines.md"
SECTION = section(PAGE, "Grammar")

# What the grammar leaves to the prose.
WORDS: dict[str, tuple[str, ...]] = {
    "Name": ("gE", "match-filtered", "x", "count", "größe", "lines"),
    "Relation": ("gE", "match-filtered", "p", "json"),
    "Number": ("0", "17", "2.50", "1.5e3"),
    "Date": ("2024-05-01", "2024-05-01T18:30:00Z"),
    "String": ('"Goal"', '"a \\"b\\" \\u00e4"'),
    "Uri": ("file:a.json", "a.csv", "https://h/p?a=b&c=%20", "twitter:$config", '"file:with blanks"'),
}
DEEP = 14


@cache
def grammar() -> Grammar:
    (block,) = (block for block in SECTION.blocks if block.language == "ebnf")
    return read_grammar(block.text)


# Words


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("Formats", {format_.value for format_ in Format}),
        ("Options", set(ENDPOINT_OPTIONS)),
        ("Types", set(TYPES)),
        ("@aggregate", {strategy.value for strategy in Strategy}),
    ],
)
def test_tables_have_the_words_that_there_are(title: str, words: set[str]) -> None:
    assert {span for row in table(section(PAGE, title).text) for span in code_spans(row[0])} == words


def test_completions() -> None:
    *_, tail = section(PAGE, "@aggregate").text.split("| completion |")
    assert {span for row in table(f"| completion |{tail}") for span in code_spans(row[0])} == set(COMPLETIONS)


def test_patterns() -> None:
    assert {row[0] for row in table(section(PAGE, "Patterns").text)} == {kind.value for kind in PatternKind}


def test_annotations_have_sections() -> None:
    assert {found.title for found in sections(PAGE) if found.title.startswith("@")} == {
        f"@{name}" for name in ANNOTATIONS
    }


@pytest.mark.parametrize(
    ("production", "words"),
    [
        ("Test", set(TESTS) | {"(", ",", ")"}),
        ("Aggregate", set(FUNCTIONS) | {"(", ")"}),
        ("Comparison", set(COMPARISONS)),
    ],
)
def test_words_of_the_grammar(production: str, words: set[str]) -> None:
    assert terminals(grammar()[production]) == words


def test_names_are_defined_here_or_in_the_prose() -> None:
    used = {name for part in grammar().values() for name in symbols(part)}
    assert used - set(grammar()) == set(WORDS)
    assert set(grammar()) - used == {"Pipeline"}


# Sentences that the grammar makes


class _Speaker:
    """Makes sentences, at random; what gets too deep becomes a variable."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def sentence(self, name: str, depth: int = 0) -> str:
        if name not in grammar():
            return self._random.choice(WORDS[name])
        if depth > DEEP and name in ("Expression", "Value"):
            return "x"
        return self._say(grammar()[name], depth + 1)

    def _say(self, part: Part, depth: int) -> str:
        if isinstance(part, Terminal):
            return part.text
        if isinstance(part, Symbol):
            return self.sentence(part.name, depth)
        if isinstance(part, Row):
            return " ".join(text for each in part.parts if (text := self._say(each, depth)))
        if isinstance(part, Choice):
            return self._say(self._random.choice(part.parts), depth)
        most = 1 if part.once else 2
        return " ".join(self._say(part.part, depth) for _ in range(self._random.randint(part.least, most)))


@pytest.mark.parametrize("seed", range(150))
def test_pipelines_that_the_grammar_makes_can_be_read(seed: int) -> None:
    text = _Speaker(seed).sentence("Pipeline")
    report = Report()
    parse_pipeline(Source("sentence.lila", text), report)
    assert not [finding.message for finding in report], text


@pytest.mark.parametrize("name", ["Rule", "From", "To", "Aggregation"])
@pytest.mark.parametrize("seed", range(40))
def test_statements_that_the_grammar_makes_can_be_read(name: str, seed: int) -> None:
    sentence = _Speaker(seed).sentence(name)
    text = sentence if name == "Rule" else f"@{sentence}"
    report = Report()
    parse_pipeline(Source("sentence.lila", text), report)
    assert not [finding.message for finding in report], text
