"""JSON as XML and back: as XQuery has it, by an engine that we have not written."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demaq.gateways.json import JsonInvalid, JsonTooLarge, JsonUnknown, json_to_xml, xml_to_json
from demaq.xquery.saxon import Saxon

TEXTS = st.text(st.characters(exclude_categories=["Cs"], min_codepoint=32, exclude_characters="\ufffe\uffff"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def saxon() -> Any:
    engine = Saxon()
    functions = engine.items(
        "function($t) { serialize(json-to-xml($t)) }, function($t) { xml-to-json(parse-xml($t)) },"
        " function($a, $b) { string(deep-equal(parse-xml($a), parse-xml($b))) }"
    )
    return engine, functions


@given(VALUES)
def test_it_is_what_xquery_makes_of_it(saxon: Any, value: Any) -> None:
    engine, (to_xml, to_json, equal) = saxon
    text = json.dumps(value)
    own = json_to_xml(text.encode())
    theirs = engine.call(to_xml, engine.string(text))
    assert engine.call(equal, engine.string(own), engine.string(theirs)) == "true", (own, theirs)
    assert json.loads(xml_to_json(own)) == value
    assert json.loads(engine.call(to_json, engine.string(own))) == json.loads(xml_to_json(own))


def test_numbers_stay_as_they_are_written() -> None:
    text = "[1.50,1E400,-0,12345678901234567890123]"
    assert xml_to_json(json_to_xml(text.encode())) == text


def test_names_may_come_twice() -> None:
    assert xml_to_json(json_to_xml(b'{"a": 1, "a": 2}')) == '{"a":1,"a":2}'


def test_characters_that_xml_cannot_hold() -> None:
    assert json_to_xml(b'"a\\u0000b"') == '<string xmlns="http://www.w3.org/2005/xpath-functions">a\ufffdb</string>'


def test_characters_that_are_written_otherwise() -> None:
    assert json_to_xml(b'{"<&>\\"\\n\\r\\t\'": "<&>\\"\\n\\r\\t\'", "": ""}')[4:] == (
        ' xmlns="http://www.w3.org/2005/xpath-functions">'
        '<string key="&lt;&amp;&gt;&quot;&#10;&#13;&#9;\'">&lt;&amp;&gt;"\n&#13;\t\'</string>'
        '<string key=""></string></map>'
    )


def test_where_something_is_wrong_is_told() -> None:
    with pytest.raises(JsonInvalid, match="this is not JSON: Expecting ',' delimiter, line 2, column 4"):
        json_to_xml(b"[1,\n 2 3]")


def test_there_are_no_more_characters_than_are_allowed() -> None:
    text = b'{"a": [1, "x"]}'
    there = json_to_xml(text)
    assert json_to_xml(text, len(there)) == there
    with pytest.raises(JsonTooLarge):
        json_to_xml(text, len(there) - 1)


@pytest.mark.parametrize("item", [b"1", b"[]", b"{}", b'""', b"[[1]]"])
def test_what_becomes_too_large_costs_no_more_than_what_is_allowed(item: bytes) -> None:
    text = b"[" + b",".join([item] * 300_000) + b"]"
    tracemalloc.start()
    try:
        with pytest.raises(JsonTooLarge):
            json_to_xml(text, 10_000)
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"nul",
        b"[1,]",
        b"NaN",
        b"[Infinity]",
        b"\xff",
        b'{"a" 1}',
        b"1 2",
        b"[" * 300 + b"]" * 300,
        b"[" * 100_000,
    ],
)
def test_what_is_no_json(text: bytes) -> None:
    with pytest.raises(JsonInvalid):
        json_to_xml(text)


@pytest.mark.parametrize(
    "body",
    [
        "<a/>",
        '<map xmlns="http://www.w3.org/2005/xpath-functions"><a/></map>',
        '<number xmlns="http://www.w3.org/2005/xpath-functions">x</number>',
        '<number xmlns="http://www.w3.org/2005/xpath-functions">INF</number>',
        '<boolean xmlns="http://www.w3.org/2005/xpath-functions">maybe</boolean>',
        '<null xmlns="http://www.w3.org/2005/xpath-functions">x</null>',
    ],
)
def test_what_is_not_the_xml_form(body: str) -> None:
    with pytest.raises(JsonUnknown):
        xml_to_json(body)


@pytest.mark.parametrize(("text", "number"), [("+1", "1"), ("01", "1"), (".5", "0.5"), ("1.", "1"), (" 7 ", "7")])
def test_numbers_that_json_writes_otherwise(text: str, number: str) -> None:
    body = f'<number xmlns="http://www.w3.org/2005/xpath-functions">{text}</number>'
    assert json.loads(xml_to_json(body)) == json.loads(number)


def test_texts_may_be_as_long_as_in_messages() -> None:
    text = "a" * 10_000_001
    assert xml_to_json(f'<string xmlns="http://www.w3.org/2005/xpath-functions">{text}</string>') == f'"{text}"'
