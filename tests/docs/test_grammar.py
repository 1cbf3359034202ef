"""The grammar in the language reference is that of the parser: words, sentences it makes, modules it accepts."""

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from demaq.diagnostics import Report, Source
from demaq.language.parser import GRAMMAR, STATEMENTS, parse_module
from demaq.language.parser.queues import OPTION_NAMES
from demaq.model import RELIABLE_MESSAGING, SECURITY, PropertyMode, QueueKind, QueueMode
from demaq.xquery import XQuerySyntaxError
from demaq.xquery.parser import Kind, Parser, begins_declaration, declaration
from docs.fences import DOCS, PAGES, ROOT, Block, blocks, name_of, section
from docs.grammar import (
    Choice,
    Grammar,
    Part,
    Repeat,
    Row,
    Symbol,
    Terminal,
    read_grammar,
    symbols,
    terminals,
)

PAGE = DOCS / "reference" / "language.md"
SECTION = section(PAGE, "Grammar")

# Sentences of what XQuery defines, to make sentences of the rest with.
FOREIGN: dict[str, tuple[str, ...]] = {
    "EQName": ("orders", "shop:orders", "Q{http://shop.example}orders", "value", "queue", "key"),
    "NCName": ("orders", "supplier.wsdl", "queue"),
    "StringLiteral": ('"schemas/order.xsd"', "'it''s'"),
    "Digits": ("0", "17"),
    "VarName": ("x", "local:x"),
    "Expr": ("/order", "1, 2", "qs:slice()[/offer]"),
    "ExprSingle": ("/order/orderID", "<a>{1}</a>", '"text"', "(1, 2)", "if (/a) then 1 else 2", "$x + 1"),
    "SwitchCaseOperand": ('"a"', "1"),
    "SequenceTypeUnion": ("element(a)", "xs:string? | node()*"),
    "NamespaceDecl": ('declare namespace shop = "http://shop.example"',),
    "DefaultNamespaceDecl": ('declare default element namespace "http://shop.example"',),
    "Setter": ("declare boundary-space preserve", "declare ordering ordered"),
    "AnnotatedDecl": (
        "declare variable $vat := 0.19",
        "declare %updating function local:f($x) { do enqueue $x into out }",
    ),
}


@cache
def grammar() -> Grammar:
    return read_grammar("\n".join(block.text for block in SECTION.blocks if block.language == "ebnf"))


# Words


def test_statements() -> None:
    statement = grammar()["Statement"]
    kinds = [terminals(grammar()[name]) for name in symbols(statement)]
    assert terminals(statement) == {"create"}
    assert all(len(words & set(STATEMENTS)) == 1 or "queue" in words for words in kinds)
    firsts = {_first_word(grammar()[name]) for name in symbols(statement)}
    assert firsts == set(STATEMENTS)


def _first_word(part: Part) -> str:
    assert isinstance(part, Row)
    assert isinstance(part.parts[0], Terminal)
    return part.parts[0].text


def test_options_of_queues() -> None:
    option = grammar()["QueueOption"]
    assert isinstance(option, Choice)
    assert [_first_word(each) for each in option.parts] == list(OPTION_NAMES)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Kind", {kind.value for kind in QueueKind}),
        ("Mode", {mode.value for mode in QueueMode}),
        ("PropertyMode", {mode.value for mode in PropertyMode} - {"plain"}),
        ("Extension", {RELIABLE_MESSAGING, SECURITY}),
    ],
)
def test_words(name: str, words: set[str]) -> None:
    assert terminals(grammar()[name]) == words


def test_names_are_defined_here_or_in_xquery() -> None:
    used = {name for part in grammar().values() for name in symbols(part)}
    assert used - set(grammar()) == set(FOREIGN) & used
    for name in set(FOREIGN):
        assert f"`{name}`" in SECTION.text, f"{name} is not said to be XQuery's"


# Sentences that the grammar makes


class _Speaker:
    """Makes sentences, at random."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def sentence(self, name: str, depth: int = 0) -> str:
        if name not in grammar():
            return self._random.choice(FOREIGN[name])
        return self._say(grammar()[name], depth)

    def _say(self, part: Part, depth: int) -> str:
        if isinstance(part, Terminal):
            return part.text
        if isinstance(part, Symbol):
            return self.sentence(part.name, depth + 1)
        if isinstance(part, Row):
            return " ".join(text for each in part.parts if (text := self._say(each, depth)))
        if isinstance(part, Choice):
            return self._say(self._random.choice(part.parts), depth)
        most = 1 if part.once else 3
        return " ".join(self._say(part.part, depth) for _ in range(self._random.randint(part.least, most)))


def _syntax_findings(text: str) -> list[str]:
    report = Report()
    parse_module(Source("sentence.demaq", text), "sentence", report)
    return [finding.message for finding in report]


@pytest.mark.parametrize("seed", range(150))
def test_modules_that_the_grammar_makes_can_be_read(seed: int) -> None:
    text = _Speaker(seed).sentence("DemaqModule")
    assert not _syntax_findings(text), text


@pytest.mark.parametrize("name", ["Action", "IfExpr", "SwitchExpr", "TypeswitchExpr"])
@pytest.mark.parametrize("seed", range(40))
def test_expressions_that_the_grammar_makes_can_be_read(name: str, seed: int) -> None:
    text = f"create rule r for q if (/a) then {_Speaker(seed).sentence(name)}"
    assert not _syntax_findings(text), text


@pytest.mark.parametrize("seed", range(40))
def test_returns_that_the_grammar_makes_can_be_read(seed: int) -> None:
    text = f"create rule r for q if (/a) then for $i in //i {_Speaker(seed).sentence('ReturnClause')}"
    assert not _syntax_findings(text), text


# Modules that the parser reads


class _Reader:
    """Reads a text by the grammar; expressions and declarations by the parser of XQuery."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def accepts(self, name: str) -> bool:
        return any(self._parser(end).at_end() for end in self._read(Symbol(name), 0))

    def _parser(self, position: int) -> Parser:
        parser = Parser(self._source, GRAMMAR)
        parser.seek(position)
        return parser

    def _read(self, part: Part, position: int) -> Iterator[int]:
        """The positions after the part, longest first."""
        if isinstance(part, Terminal):
            parser = self._parser(position)
            if parser.at(part.text):
                yield parser.take().end
        elif isinstance(part, Symbol):
            known = grammar().get(part.name)
            yield from self._read_foreign(part.name, position) if known is None else self._read(known, position)
        elif isinstance(part, Choice):
            yield from sorted({end for each in part.parts for end in self._read(each, position)}, reverse=True)
        elif isinstance(part, Row):
            yield from self._read_row(part.parts, position)
        else:
            yield from self._read_repeat(part, position)

    def _read_row(self, parts: tuple[Part, ...], position: int) -> Iterator[int]:
        if not parts:
            yield position
            return
        for end in self._read(parts[0], position):
            yield from self._read_row(parts[1:], end)

    def _read_repeat(self, part: Repeat, position: int) -> Iterator[int]:
        """Takes as many as there are: no sentence of ours needs to give one back."""
        ends = [position]
        while not (part.once and len(ends) == 2):
            end = next(self._read(part.part, ends[-1]), None)
            if end is None:
                break
            ends.append(end)
        yield from reversed(ends[part.least :])

    def _read_foreign(self, name: str, position: int) -> Iterator[int]:
        parser = self._parser(position)
        try:
            if name in ("EQName", "NCName"):
                parser.name()
            elif name == "Digits" and parser.peek().kind is Kind.NUMBER:
                parser.take()
            elif name == "StringLiteral":
                parser.string()
            elif name.endswith("Decl") or name == "Setter":
                if begins_declaration(parser):
                    declaration(parser)
            elif name == "Expr":
                parser.expr()
            elif name == "ExprSingle":
                parser.expr_single()
        except XQuerySyntaxError:
            return
        if parser.last_end > position:
            yield parser.last_end


MODULES = [
    *sorted(file for file in (ROOT / "examples").rglob("*.demaq") if file.is_file()),
    *sorted((ROOT / "tests" / "golden" / "language").rglob("*-is-fine/*.demaq")),
    *sorted((ROOT / "tests" / "golden" / "language").rglob("*-are-fine/*.demaq")),
    *sorted((ROOT / "tests" / "golden" / "language").rglob("paper-*/*.demaq")),
]
EXAMPLES = [
    block
    for page in PAGES
    for block in blocks(page)
    if block.language == "demaq" and "fragment" not in block.options and "DQ0401" not in block.listed("reports")
]


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_modules_that_the_parser_reads_follow_the_grammar(module: Path) -> None:
    # Where the paper leaves something out with `...`, the parser goes on, and the grammar has no place for it.
    text = module.read_bytes().decode("utf-8-sig").replace("...", "()")
    assert _Reader(Source(module.name, text)).accepts("DemaqModule") == (not _syntax_findings(text))


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: block.place)
def test_examples_that_the_parser_reads_follow_the_grammar(block: Block) -> None:
    accepted = _Reader(Source(block.place, block.text)).accepts("DemaqModule")
    assert accepted == (not _syntax_findings(block.text)) or _is_no_sense(block)


def _is_no_sense(block: Block) -> bool:
    """What the parser reads, although the grammar does not have it, to say more about it than that."""
    return bool({"DQ0201", "DQ0302", "DQ0504"} & set(block.listed("reports")))
