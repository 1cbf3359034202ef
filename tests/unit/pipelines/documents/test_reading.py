"""Documents become facts; what is none is told, with its place, and the rest is read."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from demaq.pipelines.documents import Found, Problem, Shape, read_document, written
from demaq.pipelines.values import ValueType
from demaq.pipelines.vocabulary import Format

ANY, TEXT, INTEGER, DOUBLE = ValueType.ANY, ValueType.TEXT, ValueType.INTEGER, ValueType.DOUBLE
EVENT = Shape("gE", ("time", "code"), (INTEGER, TEXT))
ORDER = Shape("order", ("id", "uid"), (INTEGER, INTEGER))
ITEM = Shape("item", ("name", "price", "parentId"), (TEXT, ValueType.DECIMAL, INTEGER))


def read(document: str | bytes, format_: Format = Format.JSON, *shapes: Shape, **options: Any) -> Found:
    return read_document(document, format_, shapes or (EVENT,), options)


@pytest.mark.parametrize(
    "document",
    [
        '[{"time": 1, "code": "Goal"}, {"code": "Foul", "other": [1]}]',
        '{"gE": [{"time": 1, "code": "Goal"}, {"time": null, "code": "Foul"}]}',
        '{"match": {"name": "final", "gE": [{"time": "1", "code": "Goal"}, {"code": "Foul"}]}, "time": {}}',
    ],
)
def test_objects_are_facts(document: str) -> None:
    assert read(document) == Found({"gE": [(1, "Goal"), (None, "Foul")]})


def test_a_single_object_is_a_fact() -> None:
    assert read('{"time": 1, "code": "Goal"}').facts == {"gE": [(1, "Goal")]}


def test_objects_inside_others() -> None:
    document = """[
      {"id": 7, "item": [{"name": "ball", "price": 1.50}, {"name": "net", "price": 20}]},
      {"id": 8, "delivery": {"item": {"name": "shoe", "price": "9.99"}}}
    ]"""
    assert read(document, Format.JSON, ORDER, ITEM).facts == {
        "order": [(7, 1), (8, 4)],
        "item": [("ball", Decimal("1.50"), 1), ("net", Decimal(20), 1), ("shoe", Decimal("9.99"), 4)],
    }


def test_elements_are_facts() -> None:
    document = b"""<?xml version="1.0"?>
    <orders>
      <order id="7"><item><name>ball</name><price>1.50</price></item><item name="net" price="20"/></order>
      <order><id>8</id><delivery><item name="shoe" price="9.99"/></delivery></order>
    </orders>"""
    assert read(document, Format.XML, ORDER, ITEM).facts == {
        "order": [(7, 1), (8, 4)],
        "item": [("ball", Decimal("1.50"), 1), ("net", Decimal(20), 1), ("shoe", Decimal("9.99"), 4)],
    }


def test_comments_are_no_part_of_values() -> None:
    document = b"<gE time='1'><code>Go<!-- of the home team -->a<?tv replay?>l</code><!-- end --></gE>"
    assert read(document, Format.XML) == Found({"gE": [(1, "Goal")]})


@pytest.mark.parametrize("before", ["<!--a-->\n" * 10_000, "<?a b?>" * 10_000, " " * 1_000_000])
def test_what_stands_before_the_root_is_read_once(before: str) -> None:
    assert read(f"{before}<gE time='1'/>", Format.XML).facts == {"gE": [(1, None)]}
    assert read(f"{before}<!DOCTYPE gE><gE time='1'/>", Format.XML).problems[0].reason.startswith("document types")


def test_an_attribute_counts_before_an_element() -> None:
    assert read(b"<gE code='Goal'><code>Foul</code><code/></gE>", Format.XML) == Found({"gE": [(None, "Goal")]})


def test_an_element_with_a_fact_is_no_value_of_another() -> None:
    customer = Shape("customer", ("name", "parentId"), (TEXT, INTEGER))
    order = Shape("order", ("uid", "customer"), (INTEGER, TEXT))
    document = b"<order><customer><name>Ada</name></customer></order>"
    assert read(document, Format.XML, order, customer) == Found({"order": [(1, None)], "customer": [("Ada", 1)]})


def test_children_of_the_root_are_facts_if_no_element_is_called_like_the_relation() -> None:
    document = "<events><event><time>1</time><code>Goal</code></event><event code='Foul'/><!-- --></events>"
    assert read(document, Format.XML).facts == {"gE": [(1, "Goal"), (None, "Foul")]}


@pytest.mark.parametrize(
    ("document", "options"),
    [
        ("time,code\n1,Goal\n,Foul\n", {}),
        ("\ufeffcode,more,time\r\nGoal,x,1\r\n\r\nFoul,x,\r\n".encode(), {}),
        ("1;Goal\n;Foul\n", {"header": False, "delimiter": ";"}),
    ],
)
def test_lines_are_facts(document: str | bytes, options: dict[str, Any]) -> None:
    assert read(document, Format.CSV, **options) == Found({"gE": [(1, "Goal"), (None, "Foul")]})


@pytest.mark.parametrize(
    "document",
    [
        'gE(1, "Goal"). other(1). gE(2, "Foul").',
        'meta("gE", "code", 1). meta("gE", "time", 2). gE("Goal", 1). gE("Foul", 2).',
        'gE(code: "Goal", time: 1). gE(time: 2, code: "Foul"). % and nothing else',
    ],
)
def test_facts_are_facts(document: str) -> None:
    assert read(document, Format.DATALOG) == Found({"gE": [(1, "Goal"), (2, "Foul")]})


@pytest.mark.parametrize(
    ("document", "format_", "problem"),
    [
        ('[{"time": 1}\n, {]', Format.JSON, Problem(2, "it is no JSON: Expecting property name enclosed in")),
        (
            '{"code": "NaN\\"",\n"time": NaN,\n"x": Infinity}',
            Format.JSON,
            Problem(2, "it is no JSON that can be read: NaN is no number in JSON"),
        ),
        ("9" * 5000, Format.JSON, Problem(None, "it is no JSON that can be read: a number has thousands of digits")),
        ("[" * 100_000, Format.JSON, Problem(None, "it is no JSON that can be read: maximum recursion depth")),
        (
            '{"time": 1}\n{"time": 2}',
            Format.JSON,
            Problem(2, "it is no JSON: Extra data in column 1; if each line is a message, write `lines` behind"),
        ),
        (b"\xff{}", Format.JSON, Problem(1, "it is not UTF-8: byte 0 cannot be read")),
        (b'[{"time": 1},\n{"code": "\xe4"}]', Format.JSON, Problem(2, "it is not UTF-8: byte 24 cannot be read")),
        (b"\xef\xbb\xbftime,code\n1,Goal\n2,\xe4\n", Format.CSV, Problem(3, "it is not UTF-8: byte ")),
        ("<a>\n<b></a>", Format.XML, Problem(2, "it is no well-formed XML: Opening and ending tag mismatch")),
        (
            "<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><a>&e;</a>",
            Format.XML,
            Problem(None, "document types"),
        ),
        (
            "<?xml version='1.0' encoding='utf-16'?><!DOCTYPE a [<!ENTITY e 'Goal'>]><gE code='&e;'/>".encode("utf-16"),
            Format.XML,
            Problem(None, "document types"),
        ),
        ("when,what\n1,Goal", Format.CSV, Problem(1, "no column has the name of a parameter of `gE`: there are when,")),
    ],
)
def test_documents_that_cannot_be_read(document: str | bytes, format_: Format, problem: Problem) -> None:
    found = read(document, format_)
    assert found.is_broken
    assert found.facts == {}
    assert [each.line for each in found.problems] == [problem.line]
    assert found.problems[0].reason.startswith(problem.reason)


@pytest.mark.parametrize(
    ("document", "format_", "problems"),
    [
        (
            '[{"time": "soon"}, 5, {"time": 1, "code": ["x"]}, {"time": 2}]',
            Format.JSON,
            [
                Problem(1, "[0]: `time` of `gE`: 'soon' is no integer"),
                Problem(1, "[1] is no object, but a number"),
                Problem(1, "[2]: `code` of `gE`: there is a list where a value should be"),
            ],
        ),
        (
            "time,code\nsoon,Goal\n1\n2,\n",
            Format.CSV,
            [
                Problem(2, "`time` of `gE`: 'soon' is no integer"),
                Problem(3, "the line has 1 value instead of 2"),
            ],
        ),
        (
            'time,code\n"soon","Go\nal"\n2,\n1,"Foul\n3,Goal\n',
            Format.CSV,
            [  # a record is where it begins
                Problem(2, "`time` of `gE`: 'soon' is no integer"),
                Problem(5, "it is no CSV from here on: unexpected end of data"),
            ],
        ),
        (
            '[{"time": 2, "code": "\\ud83d\\ude00"},\n{"code": "G\\ud83dl"}]',
            Format.JSON,
            [Problem(2, "[1]: `code` of `gE`: 'G\\ud83dl' is no text, since it has half of a character")],
        ),
        ("<e>\n<gE time='x'/>\n<gE time='2'/></e>", Format.XML, [Problem(2, "`time` of `gE`: 'x' is no integer")]),
        (
            "<e>\n<gE><code>a</code><code>b</code></gE>\n<gE time='2'/></e>",
            Format.XML,
            [Problem(2, "`code` of `gE`: there are several elements where a value should be")],
        ),
        (
            "<e>\n<gE><code>own <b>goal</b></code></gE>\n<gE time='2'/></e>",
            Format.XML,
            [Problem(2, "`code` of `gE`: there is an element with others inside where a value should be")],
        ),
        (
            'gE("x", 1).\ngE(1).\ngE(2, y).\nq(x) :- gE(x, _).\ngE(2, "").',
            Format.DATALOG,
            [
                Problem(4, "only facts can stand here"),
                Problem(1, "`time` of `gE`: 'x' is no integer"),
                Problem(2, "`gE` has 2 parameters, and not 1"),
                Problem(3, "facts have values, and no variables: `y`"),
            ],
        ),
    ],
)
def test_what_is_no_fact_is_told_and_the_rest_is_read(document: str, format_: Format, problems: list[Problem]) -> None:
    found = read(document, format_)
    assert found.problems == problems
    assert [row[0] for row in found.facts["gE"]] == [2]
    assert not found.is_broken


@pytest.mark.parametrize(
    ("document", "shape", "reason"),
    [
        ("more,code\nx,Goal\nx,Foul\n", EVENT, "there is no column `time` for `gE`: there are more, code"),
        (
            "code\nGoal\nFoul\n",
            Shape("gE", ("time", "place", "code"), (INTEGER, TEXT, TEXT)),
            "there are no columns `place` and `time` for `gE`: there are code",
        ),
    ],
)
def test_columns_that_are_missing_are_told_once(document: str, shape: Shape, reason: str) -> None:
    found = read(document, Format.CSV, shape)
    assert found.problems == [Problem(1, reason)]
    assert found.facts["gE"] == [(*[None] * (len(shape.names) - 1), code) for code in ("Goal", "Foul")]
    assert not found.is_broken


def test_columns_that_are_there_twice_are_told() -> None:
    found = read("time,more,code,more,time\n1,x,Goal,y,2\n3,x,Foul,y,\n", Format.CSV)
    assert found.problems == [Problem(1, "there are several columns `time`: the last one is taken")]
    assert found.facts["gE"] == [(2, "Goal"), (None, "Foul")]
    assert not found.is_broken


def test_no_column_is_missing_for_what_no_document_has() -> None:
    item = Shape("item", ("name", "uid", "parentId"), (TEXT, INTEGER, INTEGER))
    assert read("name\nball\nnet\n", Format.CSV, item) == Found({"item": [("ball", 1, None), ("net", 2, None)]})


def test_objects_without_parameters_are_told() -> None:
    reason = "has no field with the name of a parameter of `gE`"
    assert read('[{"when": 1}, {"time": 1}, {}]').problems == [
        Problem(1, f"[0] {reason}"),
        Problem(1, f"[2] {reason}"),
    ]


NESTED = """

[
  {"time": 1, "code": "Goal", "more": [{"time": "soon"}, [[], {}], "}]"]},
  {
    "code" : "Foul \\" ] }",
    "time"
      : "soon",
    "time": "late"
  },
  17, {"time": 2
  }, {"inner": {"gE": [
        {"time": 3},
        {"time": 4, "code": {}}, {
          "time": 5.5}]}}

  , {"when": 1}
]
"""


def test_what_is_wrong_in_json_is_told_with_its_line() -> None:
    found = read(NESTED)
    assert found.problems == [
        Problem(9, "[1]: `time` of `gE`: 'late' is no integer"),  # of two fields of one name, the last one counts
        Problem(11, "[2] is no object, but a number"),
        Problem(14, "[4].inner.gE[1]: `code` of `gE`: there is an object where a value should be"),
        Problem(15, "[4].inner.gE[2]: `time` of `gE`: 5.5 is no integer"),
        Problem(17, "[5] has no field with the name of a parameter of `gE`"),
    ]
    assert [row[0] for row in found.facts["gE"]] == [1, 2, 3]


def test_lines_are_looked_for_only_if_something_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("demaq.pipelines.documents.json.with_lines", None)
    assert len(read('[{"time": 1},\n{"time": 2}]').facts["gE"]) == 2


def test_many_lines_are_found_in_one_go() -> None:
    document = "[" + ",\n".join('{"time": "soon"}' for _ in range(20_000)) + "]"
    assert [problem.line for problem in read(document).problems] == list(range(1, 20_001))


def test_deep_documents_do_no_harm() -> None:
    assert read('{"a":' * 200 + "{}" + "}" * 200).problems == [
        Problem(1, ".a" * 100 + " has more than 100 objects inside one another")
    ]
    assert read("[" * 100_000).is_broken
    assert read("<a>" * 300 + "</a>" * 300, Format.XML).problems != []


VALUES = Shape(
    "v",
    ("t", "b", "i", "m", "d", "day", "at", "any"),
    (TEXT, ValueType.BOOLEAN, INTEGER, ValueType.DECIMAL, DOUBLE, ValueType.DATE, ValueType.DATETIME, ANY),
)
ROWS = [
    ('a, "b" <c> & ä', True, -3, Decimal("2.50"), 1.5, date(2024, 5, 1), datetime(2024, 5, 1, 18, 30, tzinfo=UTC), "x"),
    (
        "",
        False,
        2**62,
        Decimal("0.000001"),
        1e300,
        date(1, 1, 1),
        datetime(1999, 12, 31, 1, 2, 3, 456, tzinfo=UTC),
        "y",
    ),
]


@pytest.mark.parametrize("format_", [Format.JSON, Format.CSV, Format.XML, Format.DATALOG])
@pytest.mark.parametrize("lines", [False, True])
def test_what_is_written_is_read(format_: Format, lines: bool) -> None:
    options = {"lines": True} if lines and format_ is Format.JSON else {}
    document = written({"v": ROWS}, format_, (VALUES,), options)
    assert not options or document.count("\n") == 1
    expected = ROWS if format_ is not Format.CSV else [ROWS[0], (None, *ROWS[1][1:])]  # CSV has no empty text
    assert read(document, format_, VALUES) == Found({"v": expected})


def test_several_relations_in_one_document() -> None:
    facts: dict[str, list[tuple[Any, ...]]] = {"gE": [(1, "Goal")], "order": [(7, 1)]}
    for format_ in (Format.JSON, Format.XML, Format.DATALOG):
        assert read(written(facts, format_, (EVENT, ORDER)), format_, EVENT, ORDER).facts == facts
    assert json.loads(written(facts, Format.JSON, (EVENT, ORDER), {"lines": True}))["order"] == [{"id": 7, "uid": 1}]


@pytest.mark.parametrize("text", ["\r", "a\rb", "a\r\nb", "\n", '"', " a\tb "])
@pytest.mark.parametrize("format_", [Format.JSON, Format.CSV, Format.XML, Format.DATALOG])
def test_text_is_written_as_it_can_be_read(format_: Format, text: str) -> None:
    facts: dict[str, list[tuple[Any, ...]]] = {"gE": [(1, text), (2, "b")]}
    assert read(written(facts, format_, (EVENT,)), format_) == Found(facts)


def test_characters_that_xml_cannot_have_are_replaced() -> None:
    facts: dict[str, list[tuple[Any, ...]]] = {"gE": [(1, "\0a\x0b\uffff\t")]}
    assert read(written(facts, Format.XML, (EVENT,)), Format.XML).facts == {"gE": [(1, "\ufffda\ufffd\ufffd\t")]}


def test_nulls_are_written_as_what_is_missing() -> None:
    facts: dict[str, list[tuple[Any, ...]]] = {"gE": [(None, "Goal")]}
    assert json.loads(written(facts, Format.JSON, (EVENT,))) == [{"time": None, "code": "Goal"}]
    assert written(facts, Format.CSV, (EVENT,)) == "time,code\n,Goal\n"
    assert written({}, Format.JSON, (EVENT,)) == "[]\n"


@pytest.mark.parametrize("number", ["1e20", "-100000000000000000000", 10**400])
def test_numbers_that_are_too_large_are_told(number: object) -> None:
    shape = Shape("p", ("x",), (ValueType.DECIMAL,))
    found = read_document(json.dumps([{"x": number}, {"x": "1.5"}]), Format.JSON, [shape])
    assert found.facts == {"p": [(Decimal("1.5"),)]}
    assert len(found.problems) == 1


@pytest.mark.parametrize("type_", [ANY, TEXT])
def test_text_that_nobody_can_write_is_told(type_: ValueType) -> None:
    assert read(r'[{"x": "\udc00"}]', Format.JSON, Shape("p", ("x",), (type_,))).facts == {}


@pytest.mark.parametrize("type_", [INTEGER, DOUBLE, ValueType.DECIMAL, ValueType.NUMBER])
@pytest.mark.parametrize("text", ["1_000", "\u0661\u0662"])
def test_numbers_of_python_alone_are_told(type_: ValueType, text: str) -> None:
    found = read(json.dumps([{"x": text}, {"x": " 12 "}]), Format.JSON, Shape("p", ("x",), (type_,)))
    assert found.facts == {"p": [(12,)]}
    assert found.problems[0].reason.startswith(f"[0]: `x` of `p`: {text!r} is no ")


def test_an_integer_of_thousands_of_digits_is_told() -> None:
    found = read("time,code\n" + "9" * 5000 + ",a\n2,b\n", Format.CSV)
    assert found.facts == {"gE": [(2, "b")]}
    assert found.problems[0].reason.endswith("... is no integer")


def test_an_integer_that_is_no_double_is_told() -> None:
    found = read_document(json.dumps([{"x": 10**400}]), Format.JSON, [Shape("p", ("x",), (ValueType.ANY,))])
    assert len(found.problems) == 1
