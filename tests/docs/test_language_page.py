"""The tables of the language reference agree with the code."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from lxml import etree

from demaq.engine.errors import KINDS, error_body
from demaq.engine.records import Failure
from demaq.language import check, qs
from demaq.language.parser.queues import OPTION_NAMES
from demaq.model import (
    COMMUNICATION_PROPERTIES,
    ECHO_PROPERTIES,
    SYSTEM_ERRORS,
    SYSTEM_PROPERTIES,
    PropertyMode,
    QueueKind,
    QueueMode,
)
from demaq.xquery.builtins import FUNCTIONS, ITEM_TYPES, NAMESPACES
from demaq.xquery.parser.core import MAX_DEPTH
from docs.fences import DOCS, code_spans, section, sections, table

PAGE = DOCS / "reference" / "language.md"
_FN = NAMESPACES["fn"]


def _first_cells(title: str, *, number: int = 0) -> list[list[str]]:
    """The code in the first cells of a section's table; of the table of that number, counted from 0."""
    text = section(PAGE, title).text
    for _ in range(number):
        *_, last = [line for line in text.splitlines() if line.startswith("|")][: len(table(text)) + 2]
        text = text[text.index(last) + len(last) :]
    return [code_spans(row[0]) for row in table(text)]


def _words(cells: list[list[str]]) -> list[str]:
    return [cell[0] for cell in cells]


def test_options_of_queues() -> None:
    assert tuple(_words(_first_cells("Queues"))) == OPTION_NAMES


def test_kinds_and_modes() -> None:
    assert _words(_first_cells("Kinds and modes")) == [kind.value for kind in QueueKind]
    assert _words(_first_cells("Kinds and modes", number=1)) == [mode.value for mode in QueueMode]


def test_properties_of_the_system() -> None:
    for title, expected in (
        ("System properties", SYSTEM_PROPERTIES),
        ("Communication properties", COMMUNICATION_PROPERTIES),
        ("Echo properties", ECHO_PROPERTIES),
    ):
        rows = table(section(PAGE, title).text)
        assert {code_spans(row[0])[0]: code_spans(row[1])[0] for row in rows} == expected


def test_modes_of_properties_are_the_columns_of_the_precedence() -> None:
    heading = next(line for line in section(PAGE, "Precedence").text.splitlines() if line.startswith("|"))
    assert set(code_spans(heading)) == {mode.value for mode in PropertyMode} - {"plain"}


def test_functions_of_the_node() -> None:
    described = {re.split(r"[(]", name)[0] for name in _words(_first_cells("Functions of the node"))}
    own = {f"qs:{name.partition('}')[2]}" for name in qs.FUNCTIONS}
    assert described == own | {"collection"}


def test_numbers_of_arguments_of_the_functions() -> None:
    described: dict[str, set[int]] = {}
    for name in _words(_first_cells("Functions of the node")):
        function, _, rest = name.partition("(")
        arguments = [argument for argument in rest.rstrip(")").split(",") if argument]
        described.setdefault(function, set()).add(len(arguments))
    assert {name: frozenset(arities) for name, arities in described.items() if name.startswith("qs:")} == {
        f"qs:{name.partition('}')[2]}": arities for name, arities in qs.FUNCTIONS.items()
    }


def test_the_system_queue_is_named() -> None:
    assert f"`{SYSTEM_ERRORS.name}`" in section(PAGE, "Error queues").text


def test_kinds_of_errors() -> None:
    assert set(_words(_first_cells("Error messages"))) == KINDS


def test_the_error_message_that_is_shown_has_all_parts() -> None:
    (shown,) = (block.text for block in section(PAGE, "Error messages").blocks if block.language == "xml")
    failure = Failure(kind="evaluation", description="", file="shop.demaq", line=14, column=6)
    real = etree.fromstring(error_body(failure, "orders", datetime.now(UTC), None))
    example = etree.fromstring(shown)
    assert [child.tag for child in example] == [child.tag for child in real]
    assert dict(example.find("location").attrib) == dict(real.find("location").attrib)


def test_limits() -> None:
    assert f"{MAX_DEPTH} levels" in section(PAGE, "Limits").text


def _found(application: str, folder: Path) -> dict[str, set[str]]:
    """The marked texts of what is found, by code."""
    (folder / "example.demaq").write_text(application, encoding="utf-8")
    found: dict[str, set[str]] = {}
    for finding in check(folder).report:
        found.setdefault(finding.code.name, set()).add("" if finding.span is None else finding.span.text)
    return found


_GATES = "create queue in kind incomingGateway create queue out kind outgoingGateway\n"


def test_forbidden_functions_are_those_that_are_refused(tmp_path: Path) -> None:
    references = [
        f"{name.partition('}')[2]}#{min(arities)}"
        for name, arities in FUNCTIONS.items()
        if name.startswith(f"Q{{{_FN}}}")
    ]
    rule = "create rule r for in if (/m) then let $all := ({}) return do enqueue <x/> into out"
    found = _found(_GATES + rule.format(", ".join(references)), tmp_path)
    described = {span for cell in _first_cells("What is forbidden") for span in cell}
    assert found["DQ0503"] == described


def test_types_that_a_property_cannot_have(tmp_path: Path) -> None:
    statements = "\n".join(f"create property p{n} as xs:{name} queue in" for n, name in enumerate(sorted(ITEM_TYPES)))
    found = _found(_GATES + statements, tmp_path)
    text = section(PAGE, "Types").text
    described = set(re.findall(r"`(xs:\w+)`", text[text.index("`xs:anyAtomicType`") :]))
    unions = {"xs:error", "xs:numeric"}  # no atomic types
    assert found["DQ0301"] - unions == described


def test_prefixes_that_cannot_be_declared(tmp_path: Path) -> None:
    text = section(PAGE, "Declarations").text
    line = next(line for line in text.splitlines() if "another meaning to the prefixes" in line)
    described = code_spans(line)
    everything = sorted({*NAMESPACES, "demaq", "qs", "sys", "xmlns", "shop"})
    refused = []
    for prefix in everything:
        found = _found(f'declare namespace {prefix} = "http://x.example";\n{_GATES}', tmp_path)
        if "DQ0504" in found:
            refused.append(prefix)
    assert sorted(described) == refused


@pytest.mark.parametrize("known", ["qs", "sys", *NAMESPACES])
def test_prefixes_that_need_no_declaration_are_named(known: str) -> None:
    text = section(PAGE, "Functions of the node").text
    assert f"`{known}`" in text[text.index("The prefixes") :]


def test_the_contents_lead_to_every_section() -> None:
    text = PAGE.read_text(encoding="utf-8")
    contents = text[: text.index("\nThe shorter examples")]
    missing = [
        found.title
        for found in sections(PAGE)
        if found.level > 1 and f"(#{re.sub(r'[^a-z -]', '', found.title.lower()).replace(' ', '-')})" not in contents
    ]
    assert not missing
