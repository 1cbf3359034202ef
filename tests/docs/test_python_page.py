"""The page on Python names everything that is public, and no other thing."""

import inspect
from dataclasses import fields
from typing import Any

import pytest

import demaq
import demaq.testing
from docs.fences import DOCS, code_spans, section, table

PAGE = DOCS / "reference" / "python.md"
TEXT = PAGE.read_text(encoding="utf-8")
SPANS = {span.partition("(")[0] for span in code_spans(TEXT)}


@pytest.mark.parametrize("name", demaq.__all__)
def test_public_names(name: str) -> None:
    assert name in SPANS


@pytest.mark.parametrize("name", demaq.testing.__all__)
def test_public_names_for_tests(name: str) -> None:
    assert name in {span.partition("(")[0] for span in code_spans(section(PAGE, "Testing").text)}


def test_methods_of_a_node() -> None:
    described: dict[str, list[str]] = {}
    for title in ("Sending", "Processing", "Looking", "Changing"):
        for row in table(section(PAGE, title).text):
            name, _, arguments = code_spans(row[0])[0].rstrip(")").partition("(")
            described[name] = [argument.strip() for argument in arguments.split(",") if argument]
    methods = {
        name: [parameter for parameter in inspect.signature(method).parameters if parameter != "self"]
        for name, method in inspect.getmembers(demaq.Node, inspect.isfunction)
        if not name.startswith("_")
    }
    assert described == methods


def test_arguments_of_a_node() -> None:
    described = [code_spans(row[0])[0] for row in table(section(PAGE, "The node").text)]
    assert described == list(inspect.signature(demaq.Node).parameters)


def test_limits() -> None:
    described = {code_spans(row[0])[0]: row[1] for row in table(section(PAGE, "Limits").text)}
    limits = demaq.Limits()
    assert described == {field.name: str(getattr(limits, field.name)) for field in fields(demaq.Limits)}


@pytest.mark.parametrize(
    "record",
    [demaq.Message, demaq.Value, demaq.Slice, demaq.Trace, demaq.Status, demaq.QueueCounts, demaq.Version],
    ids=lambda record: record.__name__,
)
def test_fields_of_records(record: Any) -> None:
    (row,) = (row for row in table(section(PAGE, "Records").text) if row[0] == f"`{record.__name__}`")
    named = [span.partition("(")[0] for span in code_spans(row[1]) if not span.startswith("xs:")]
    known = list(getattr(record, "_fields", ())) or [field.name for field in fields(record)]
    assert [name for name in named if name in known] == known
    assert all(hasattr(record, name) for name in named if name not in known)


@pytest.mark.parametrize("enum", [demaq.Origin, demaq.MessageState], ids=lambda enum: enum.__name__)
def test_words(enum: Any) -> None:
    (row,) = (row for row in table(section(PAGE, "Records").text) if row[0] == f"`{enum.__name__}`")
    assert code_spans(row[1]) == [one.name for one in enum]


def test_exceptions() -> None:
    described = {code_spans(row[0])[0] for row in table(section(PAGE, "Exceptions").text)}
    errors = {
        name
        for name in demaq.__all__
        if inspect.isclass(getattr(demaq, name)) and issubclass(getattr(demaq, name), demaq.DemaqError)
    }
    assert described == errors - {"DemaqError"}
