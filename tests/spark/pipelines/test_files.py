"""Pipelines from files to files: the listings of the paper, and what people do with files."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from demaq.files import InputInvalid
from demaq.pipelines.errors import InputWrong, PipelineFailed
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.goals import GoalRefused
from demaq.pipelines.running.memory import run_here
from demaq.pipelines.running.report import Ran, Shown, Unmet
from demaq.spark.pipelines.pipeline import Pipeline

SOCCER = """
@from(file:gameEvents.json,json)
{gE(period,time,eventCode,pId).}
g(period,time,pId):-
   gE(period,time,"Goal",pId).
br(period,time,pId):-
   gE(period,time,"BallReception",pId).
gByP(period,time,firstN,lastN):-
   g(period,time,pId),pInfo(pId,firstN,lastN).
pAtB(period, time, firstN, lastN):-
   br(period,time,pId),pInfo(pId,firstN,lastN).
@enrich(playerInfo.json,json)
{pInfo(pId,firstN,lastN).}
@to(file:goals.json,json)
{gByP}
@to(file:playersAtBall.json)
{pAtB}
"""
EVENTS = [
    {"period": 1, "time": 12, "eventCode": "Goal", "pId": 7},
    {"period": 1, "time": 13, "eventCode": "Foul", "pId": 7},
    {"period": 2, "time": 60, "eventCode": "BallReception", "pId": 9},
    {"period": 2, "time": 61, "eventCode": "BallReception", "pId": 1},
]
PLAYERS = [{"pId": 7, "firstN": "Ada", "lastN": "Lovelace"}, {"pId": 9, "firstN": "Alan", "lastN": "Turing"}]


class Here(Pipeline):
    """The same in memory."""

    def execute(self, _spark: Any, **options: Any) -> Ran:  # type: ignore[override]
        return run_here(Endpoints(self.program, self.path.parent), **options)


@pytest.fixture(params=[Pipeline, Here], ids=["spark", "memory"])
def pipeline(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    def make(text: str, **documents: Any) -> Pipeline:
        for name, document in documents.items():
            written(tmp_path / name.replace("_", "."), document)
        (tmp_path / "test.lila").write_text(text, encoding="utf-8")
        made: Pipeline = request.param(tmp_path / "test.lila")
        return made

    return make


def written(path: Path, document: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(document, bytes):
        path.write_bytes(document)
    else:
        path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_listing_1(spark: Any, pipeline: Any, tmp_path: Path) -> None:
    ran = pipeline(SOCCER, gameEvents_json=EVENTS, playerInfo_json=PLAYERS).execute(spark)
    assert read(tmp_path / "goals.json") == [{"period": 1, "time": 12, "firstN": "Ada", "lastN": "Lovelace"}]
    assert read(tmp_path / "playersAtBall.json") == [{"period": 2, "time": 60, "firstN": "Alan", "lastN": "Turing"}]
    between = {"g": 1, "br": 2} if ran.where == "memory" else {}  # on Spark, they are no relations any more
    assert ran.facts == {"gE": 4, "gByP": 1, "pAtB": 1, "pInfo": 2, **between}
    assert ran.taken == {"to(file:goals.json)": {"gByP": 1}, "to(file:playersAtBall.json)": {"pAtB": 1}}
    assert ran.messages == {"from(file:gameEvents.json)": 1}
    assert ran.wrong_number == 0


def test_listing_12(spark: Any, pipeline: Any, tmp_path: Path) -> None:
    """A message filter: half of the messages go on."""
    text = """
    @from(file:data/testMessageFilter)
    {match(matching).}
    match-filtered(matching):-match("true").
    @to(file:data/filtered)
    """
    for number in range(6):
        written(tmp_path / f"data/testMessageFilter/{number}.json", [{"matching": str(number % 2 == 0).lower()}])
    for _ in range(2):  # the second run takes the place of the first
        ran = pipeline(text).execute(spark)
        assert [path.name for path in sorted((tmp_path / "data/filtered").iterdir())] == [
            "000000.json",
            "000002.json",
            "000004.json",
        ]
    assert read(tmp_path / "data/filtered/000002.json") == [{"matching": "true"}]
    assert ran.sent == {"to(file:data/filtered)": 3}


def test_listing_14(spark: Any, pipeline: Any, tmp_path: Path) -> None:
    """A content filter: one message, of which half of the facts go on."""
    text = """
    @from(file:data/testContentFilter)
    { match(matching,count). }
    match-filtered(matching,count) :- match(matching,count), matching = "true".
    @to(file:data/contentFilter)
    { match-filtered }
    """
    written(
        tmp_path / "data/testContentFilter/in.json",
        [{"matching": "true", "count": 1}, {"matching": "false", "count": 2}],
    )
    pipeline(text).execute(spark)
    assert read(tmp_path / "data/contentFilter/000000.json") == [{"matching": "true", "count": 1}]


def test_what_cannot_be_read_is_told_and_the_rest_goes_on(spark: Any, pipeline: Any, tmp_path: Path) -> None:
    text = "@from(file:in.jsonl) { p(x: integer). } r(x) :- p(x), x > 1. @to(file:out.jsonl) { r }"
    lines = '{"x": 1}\n{"x": 2}\n\n{"x": \n{"x": "three"}\n{"x": 4}\n'
    found = pipeline(text, in_jsonl=lines)
    ran = found.execute(spark)
    assert [(wrong.source, wrong.line) for wrong in ran.wrong] == [
        ("from(file:in.jsonl)", 4),
        ("from(file:in.jsonl)", 5),
    ]
    assert "in.jsonl, line 4: it is no JSON" in str(ran.wrong[0])
    assert (tmp_path / "out.jsonl").read_text() == '[{"x": 2}]\n[{"x": 4}]\n'
    (tmp_path / "out.jsonl").unlink()
    with pytest.raises(PipelineFailed, match=r"line 4: it is no JSON.*; nothing was written"):
        found.execute(spark, is_strict=True)
    assert not (tmp_path / "out.jsonl").exists()


def test_lines_that_cannot_be_read_are_counted_from_the_beginning_of_their_file(
    spark: Any, pipeline: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("demaq.pipelines.running.parts._PART", 50)
    written(tmp_path / "in/a.jsonl", '{"x": 1}\n' * 20 + "no\n")
    written(tmp_path / "in/b.jsonl", '\n{"x": 1}\n' * 15 + "no\n")
    ran = pipeline('@from("file:in/*", json, lines) { p(x). } @to(file:out.jsonl) { p }').execute(spark)
    assert [(Path(str(wrong.file)).name, wrong.line) for wrong in ran.wrong] == [("a.jsonl", 21), ("b.jsonl", 31)]


def test_lines_of_many_files_are_numbered_in_their_order(
    spark: Any, pipeline: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("demaq.pipelines.running.parts._PART", 50)
    text = """
    @from("file:in/*", json, lines) { p(x: integer). }
    @aggregate(union, completionSize=2) { ?-p(x). }
    @to(file:out.jsonl) { p-aggregate }
    """
    lines = [f'{{"x": {number}}}\n{" " * (number % 3)}\n' for number in range(20)]
    written(tmp_path / "in/a.jsonl", "".join(lines[:9]))
    written(tmp_path / "in/b.jsonl.gz", gzip.compress("".join(lines[9:15]).encode()))
    written(tmp_path / "in/c.jsonl", "".join(lines[15:]))
    pipeline(text).execute(spark)
    numbers = [[fact["x"] for fact in json.loads(line)] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert numbers == [[number, number + 1] for number in range(0, 20, 2)]


def test_formats(spark: Any, pipeline: Any, tmp_path: Path) -> None:
    text = """
    @from(file:in.csv, delimiter=";") { p(name, price: decimal). }
    @enrich(file:more.xml) { q(name, kind). }
    r(name, kind, double) :- p(name, price), q(name, kind), double := price * 2.
    @to(file:out.csv) { r }
    @to(file:out.xml) { r }
    @to(file:out.datalog) { r p }
    """
    pipeline(
        text, in_csv="name;price\nball;1.5\nnet;20\n", more_xml="<all><q name='ball'><kind>toy</kind></q></all>"
    ).execute(spark)
    assert (tmp_path / "out.csv").read_text() == "name,kind,double\nball,toy,3\n"
    assert "<r><name>ball</name><kind>toy</kind><double>3</double></r>" in (tmp_path / "out.xml").read_text()
    assert 'r("ball", "toy", 3' in (tmp_path / "out.datalog").read_text()


def test_decimals_are_values(spark: Any, pipeline: Any, tmp_path: Path) -> None:
    """They leave in their canonical form, with all of their digits, wherever it runs; text leaves as it came."""
    text = """
    @from(file:in.csv) { p(k: integer, price: decimal, written: text). }
    value(price) :- p(_, price, _).
    @to(file:out.csv) { p }
    @to(file:out.json) { p }
    @to(file:out.xml) { value }
    @to(file:out.datalog) { value }
    """
    long = "12345678901234567890.123456789012345678"
    given = ["1.50", "1.5", "2.00", "-0.0", "0100", "1e2", "0.1234567890123456785", long]
    expected = ["1.5", "1.5", "2", "0", "100", "100", "0.123456789012345679", long]
    lines = [f"{number},{price},{price}\n" for number, price in enumerate(given)]
    ran = pipeline(text, in_csv="k,price,written\n" + "".join(lines)).execute(spark, show=["value"])
    rows = [f"{number},{price},{given[number]}\n" for number, price in enumerate(expected)]
    assert (tmp_path / "out.csv").read_text() == "k,price,written\n" + "".join(rows)
    objects = [
        f'  {{"k": {number}, "price": {price}, "written": "{given[number]}"}}' for number, price in enumerate(expected)
    ]
    assert (tmp_path / "out.json").read_text() == "[\n" + ",\n".join(objects) + "\n]\n"
    values = ["0", "0.123456789012345679", "1.5", "2", "100", long]
    elements = "".join(f"  <value><price>{price}</price></value>\n" for price in values)
    assert (tmp_path / "out.xml").read_text() == f"<facts>\n{elements}</facts>\n"
    facts = "".join(f"value({price if '.' in price else f'{price}.0'}).\n" for price in values)
    assert (tmp_path / "out.datalog").read_text() == f'meta("value", "price", 1).\n{facts}'
    assert sorted(row[0] or "" for row in ran.shown[0].rows) == sorted(values)


COMPUTED = """
@from(file:in.json) { p(d: decimal, e: decimal, i: integer, f: double, n: number, a). }
decimals(x, sum, less, product, quotient, whole, rest, many, part) :- p(d, e, i, _, _, _), x := -d, sum := d + e,
  less := d - e, product := d * e, quotient := d / e, whole := d div e, rest := d mod e, many := d * i, part := d / i.
doubles(x, third, product, rest) :- p(_, _, i, f, _, _), x := -f, third := i / 3, product := f * -1, rest := f mod -1.
numbers(n, a, more) :- p(_, _, _, _, n, a), more := n + 1.
averages(d, i) :- d := avg(p(x, _, _, _, _, _)), i := avg(p(_, _, y, _, _, _)).
@to(file:decimals.csv) { decimals }
@to(file:doubles.csv) { doubles }
@to(file:numbers.json) { numbers }
@to(file:averages.csv) { averages }
"""
GIVEN = """[
  {"d": 0.000000000000000001, "e": 3, "i": 9007199254740993, "f": 0.0, "n": 1, "a": 1},
  {"d": 0.0001, "e": -0.0001, "i": 3, "f": -0.0, "n": 2.0, "a": 2.0},
  {"d": 12345678901234567890.123456789012345678, "e": 0.7, "i": -3, "f": 5.5, "n": 0.5, "a": 0.5},
  {"d": -99999999999999999999.5, "e": 1, "i": 2, "f": 1e300, "n": -0.0, "a": -0.0}
]"""


def test_what_is_computed_is_the_same_wherever_it_is(spark: Any, pipeline: Any, tmp_path: Path) -> None:
    """Decimals are rounded to 18 digits after the point, and those of more than 20 before it are none. Zero has no
    sign, and whole numbers of no certain type have no point."""
    pipeline(COMPUTED, in_json=GIVEN).execute(spark)
    assert (tmp_path / "decimals.csv").read_text().splitlines()[1:] == [
        "-0.0001,0,0.0002,-0.00000001,-1,-1,0,0.0003,0.000033333333333333",
        "-0.000000000000000001,3.000000000000000001,-2.999999999999999999,0.000000000000000003,0,0,"
        "0.000000000000000001,0.009007199254740993,0",
    ]
    assert (tmp_path / "doubles.csv").read_text().splitlines()[1:] == [
        "-1e+300,0.6666666666666666,-1e+300,0.0",
        "-5.5,-1.0,-5.5,0.5",
        "0.0,1.0,0.0,0.0",
        "0.0,3002399751580330.5,0.0,0.0",
    ]
    assert (tmp_path / "numbers.json").read_text().splitlines()[1:-1] == [
        '  {"n": 0, "a": 0, "more": 1},',
        '  {"n": 0.5, "a": 0.5, "more": 1.5},',
        '  {"n": 1, "a": 1, "more": 2},',
        '  {"n": 2, "a": 2, "more": 3}',
    ]
    assert (
        tmp_path / "averages.csv"
    ).read_text() == "d,i\n-21913580274691358027.34411080274691358,2251799813685249.0\n"


def test_facts_are_counted_in_all_messages_whatever_goals_take(spark: Any, pipeline: Any) -> None:
    text = """
    @from(file:in.jsonl) { p(x: integer). }
    @aggregate(union, completionSize=3) { ?-p(x). }
    next(0, 1). next(1, 2). next(1, 2).
    reach(x) :- p(x).
    reach(y) :- reach(x), next(x, y).
    @to(file:out.jsonl) { p, p-aggregate }
    @to(file:reach.jsonl) { reach }
    """
    ran = pipeline(text, in_jsonl='{"x": 0}\n{"x": 1}\n{"x": 0}\n{"x": 2}\n').execute(spark, show=["p-aggregate"])
    assert ran.facts == {"p": 4, "p-aggregate": 3, "next": 2, "reach": 9}
    assert ran.taken == {
        "to(file:out.jsonl)": {"p": 2, "p-aggregate": 3},
        "to(file:reach.jsonl)": {"reach": 9},
    }
    assert ran.sent == {"to(file:out.jsonl)": 2, "to(file:reach.jsonl)": 4}
    assert ran.unmet == [Unmet("from(file:in.jsonl)", ("aggregate(p)",), 2)]


ORDERS = """
@from(file:in.csv) { o(n: integer, q: integer, c: text). }
all(n) :- o(n, _, _).
coloured(n) :- o(n, _, _c).
@to(file:out.json) { all, coloured }
"""


def test_a_column_that_is_missing_is_told_and_its_value_is_none(spark: Any, pipeline: Any, tmp_path: Path) -> None:
    found = pipeline(ORDERS, in_csv="n,q\n1,2\n3,4\n")
    with pytest.raises(InputWrong, match=r"in\.csv, line 1: there is no column `c` for `o`: there are n, q; nothing"):
        found.execute(spark, is_strict=True)
    assert not (tmp_path / "out.json").exists()
    ran = found.execute(spark)
    assert [(wrong.line, wrong.reason) for wrong in ran.wrong] == [
        (1, "there is no column `c` for `o`: there are n, q")
    ]
    assert read(tmp_path / "out.json") == {"all": [{"n": 1}, {"n": 3}]}


def test_a_fact_without_a_value_is_dropped_by_a_variable_and_kept_otherwise(
    spark: Any, pipeline: Any, tmp_path: Path
) -> None:
    pipeline(ORDERS, in_csv="n,q,c\n1,2,\n3,4,red\n5,much,red\n").execute(spark)
    assert read(tmp_path / "out.json") == {"all": [{"n": 1}, {"n": 3}], "coloured": [{"n": 3}]}


def test_files_of_others_are_not_touched(spark: Any, pipeline: Any, tmp_path: Path) -> None:
    text = "@from(file:in.json) { p(x). } @to(file:mine) { p }"
    written(tmp_path / "mine/letter.txt", "dear")
    with pytest.raises(GoalRefused, match="has other files, such as `letter"):
        pipeline(text, in_json=[{"x": 1}]).execute(spark)
    assert (tmp_path / "mine/letter.txt").read_text() == "dear"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "@from(amqp:x) { p(x). } @to(file:out.json) { p }",
            "`amqp:x` cannot be read: this version knows `errors:`, `file:`, `http:`, `https:`, `jdbc:`, `kafka:`, ",
        ),
        (
            "@from(file:in.json) { p(x). } @to(smtp:ann) { p }",
            "cannot be written: this version knows `console:`, `file:`, `http:`, `https:`, `jdbc:`, `kafka:`, ",
        ),
    ],
)
def test_what_cannot_be_run_is_told_before_anything_runs(spark: Any, pipeline: Any, text: str, reason: str) -> None:
    with pytest.raises(PipelineFailed, match=reason):
        pipeline(text, in_json=[]).execute(spark)


def test_queries_are_answered(spark: Any, pipeline: Any) -> None:
    text = "@from(file:in.json) { p(x). } ?-p(y). @to(file:out.json) { p }"
    ran = pipeline(text, in_json=[{"x": "b"}, {"x": 1}]).execute(spark)
    assert ran.shown == [Shown("?-p(y).", ("y",), [("1",), ("b",)], 2)]


def test_queries_without_variables_hold_or_not(spark: Any, pipeline: Any) -> None:
    asked = '?-p(1, "a"). ?-p(7, _). ?-k(1). ?-k(2).'
    text = f"@from(file:in.json) {{ p(x: integer, y). }} k(1). {asked} @to(file:out.json) {{ p }}"
    ran = pipeline(text, in_json=[{"x": 1, "y": "a"}, {"x": 1, "y": "b"}]).execute(spark)
    assert [(shown.title, shown.holds, shown.number) for shown in ran.shown] == [
        ('?-p(1, "a").', True, 1),
        ("?-p(7, _).", False, 0),
        ("?-k(1).", True, 1),
        ("?-k(2).", False, 0),
    ]


VALUES = "i: integer, m: decimal, d: double, n: number, b: boolean, on: date, at: datetime, a"


def test_what_is_shown_is_the_same_wherever_it_is(spark: Any, pipeline: Any) -> None:
    """Numbers are in the order of numbers, and values are written as goals have them."""
    texts = ["2024-05-01", "2024-05-01T18:30:00Z"]
    facts = [
        {"i": 10, "m": 1.5, "d": 1e20, "n": 2.0, "b": True, "on": texts[0], "at": texts[1], "a": 10},
        {"i": 9, "m": 20, "d": 0.5, "n": 0.5, "b": False, "on": texts[0], "at": texts[0], "a": True},
        {"i": 9, "m": 3, "d": 1, "n": 1, "b": False, "on": texts[0], "at": texts[0], "a": 9.0},
        {"i": 9, "m": 3, "d": 1, "n": 1, "b": False, "on": texts[0], "at": texts[0], "a": "9"},
        {},
    ]
    text = f"@from(file:in.jsonl) {{ p({VALUES}). }} ?-p(a: x, i: y). @to(file:out.json) {{ p }}"
    ran = pipeline(text, in_jsonl="".join(f"{json.dumps(fact)}\n" for fact in facts[:-1])).execute(spark, show=["p"])
    assert ran.shown[0].rows == [("9", "true"), ("9", "9"), ("9", "9"), ("10", "10")]
    assert ran.shown[1].rows == [
        ("9", "3", "1.0", "1", "false", texts[0], f"{texts[0]}T00:00:00Z", "9"),
        ("9", "3", "1.0", "1", "false", texts[0], f"{texts[0]}T00:00:00Z", "9"),
        ("9", "20", "0.5", "0.5", "false", texts[0], f"{texts[0]}T00:00:00Z", "true"),
        ("10", "1.5", "1e+20", "2", "true", texts[0], texts[1], "10"),
    ]


def test_the_same_fact_in_several_messages_is_counted_in_each_and_shown_once(spark: Any, pipeline: Any) -> None:
    text = "@from(file:in.jsonl) { p(x: integer). } ?-p(y). @to(file:out.json) { p }"
    lines = [f'{{"x": {number % 25}}}\n' for number in range(30)]
    ran = pipeline(text, in_jsonl="".join(lines)).execute(spark, show=["p"])
    for shown in ran.shown:
        assert shown.rows == [(str(number),) for number in range(20)]
        assert (shown.number, shown.more) == (30, 5)


def test_relations_can_be_looked_at(spark: Any, pipeline: Any) -> None:
    found = pipeline(SOCCER, gameEvents_json=[*EVENTS, {"eventCode": "Goal"}], playerInfo_json=PLAYERS)
    ran = found.execute(spark, show=["g", "gE"])
    assert ran.shown[0] == Shown("g", ("period", "time", "pId"), [("1", "12", "7")], 1)
    assert (ran.shown[1].number, ran.shown[1].rows[0]) == (5, (None, None, "Goal", None))
    with pytest.raises(PipelineFailed, match="there is no relation `gByB`: did you mean `gByP`"):
        found.execute(spark, show=["gByB"])


@pytest.mark.parametrize("pipeline", [Pipeline], indirect=True)
def test_data_frames_in_and_out(spark: Any, pipeline: Any) -> None:
    found = pipeline(SOCCER, playerInfo_json=PLAYERS)
    events = spark.createDataFrame(
        [(1, 12, "Goal", 7), (2, 60, "BallReception", 9)], "period int, time int, eventCode string, pid int"
    )
    for name in ("gE", "gameEvents"):
        results = found.run(spark, **{name: events})
        assert set(results) == {"gByP", "pAtB"}
        assert results["gByP"].columns == ["period", "time", "firstN", "lastN"]
        assert [tuple(row) for row in results["gByP"].collect()] == [(1, 12, "Ada", "Lovelace")]
        assert results["gByP"].schema["period"].dataType.simpleString() == "bigint"
        assert results.wrong.count() == 0


@pytest.mark.parametrize("pipeline", [Pipeline], indirect=True)
def test_data_frames_that_do_not_fit(spark: Any, pipeline: Any) -> None:
    found = pipeline(SOCCER, playerInfo_json=PLAYERS)
    with pytest.raises(Exception, match="there is no source or enricher `events`: there are `gE`"):
        found.run(spark, events=spark.range(1))
    with pytest.raises(Exception, match="`eventCode` is of the type array<int>: facts have single values"):
        found.run(spark, gE=spark.sql("select array(1) as eventCode"))
    with pytest.raises(Exception, match="`gE` is given twice, as `gameEvents` and as `gE`"):
        found.run(spark, gameEvents=spark.range(1), gE=spark.range(1))


@pytest.mark.parametrize("pipeline", [Pipeline], indirect=True)
def test_what_is_wrong_with_data_frames_is_told(spark: Any, pipeline: Any) -> None:
    found = pipeline(SOCCER.replace("{gE(period,", "{gE(period: integer,"), playerInfo_json=PLAYERS)
    events = [("1", 12, "Goal", 7), ("first", 13, "Goal", 7)]
    given = spark.createDataFrame(events, "period string, time int, eventCode string, pId int")
    results = found.run(spark, gE=given)
    assert [tuple(row) for row in results["gByP"].collect()] == [(1, 12, "Ada", "Lovelace")]
    source = "from(file:gameEvents.json)"
    assert [tuple(row) for row in results.wrong.collect()] == [
        (source, None, None, "`period` of `gE`: 'first' is no integer")
    ]
    results = found.run(spark, gE=given.drop("pId"))
    assert results["gByP"].collect() == []
    assert [row.reason for row in results.wrong.orderBy("reason").collect()] == [
        "`period` of `gE`: 'first' is no integer",
        "there is no column `pId` for `gE`: there are period, time, eventCode",
    ]


def test_broken_documents_leave_no_gap_where_sources_meet(spark: Any, pipeline: Any, tmp_path: Path) -> None:
    text = """
    @from(file:left.jsonl) { l(x: integer). }
    @from(file:right.jsonl) { r(y: integer). }
    both(x, y) :- l(x), r(y).
    @to(file:out.jsonl) { both }
    """
    ran = pipeline(
        text, left_jsonl='{"x": 1}\nno\n{"x": 2}\n{"x": 3}\n', right_jsonl='{"y": 1}\n{"y": 2}\n{"y": 3}\nno\n'
    ).execute(spark)
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [[{"x": n, "y": n}] for n in (1, 2, 3)]
    assert (ran.wrong_number, ran.unmet) == (2, [])


def test_messages_without_a_partner_are_told(spark: Any, pipeline: Any) -> None:
    text = """
    @from(file:left.jsonl) { l(x: integer). }
    @from(file:right.jsonl) { r(y: integer). }
    both(x, y) :- l(x), r(y).
    @to(file:out.jsonl) { both }
    @to(file:left-out.jsonl) { l }
    """
    ran = pipeline(text, left_jsonl='{"x": 1}\n{"x": 2}\nno\n{"x": 3}\n', right_jsonl='{"y": 1}\n').execute(spark)
    assert ran.unmet == [Unmet("from(file:left.jsonl)", ("from(file:right.jsonl)",), 2)]
    assert ran.taken == {"to(file:out.jsonl)": {"both": 1}, "to(file:left-out.jsonl)": {"l": 3}}


def test_a_file_that_is_not_there(spark: Any, pipeline: Any, tmp_path: Path) -> None:
    found = pipeline("@from(file:in.json) { p(x). } @to(file:out.json) { p }")
    with pytest.raises(InputInvalid, match=r"there is no file `.*in\.json`"):
        found.execute(spark)
    assert not (tmp_path / "out.json").exists()


def test_files_that_cannot_be_unpacked(spark: Any, pipeline: Any, tmp_path: Path) -> None:
    """What was read of them before counts; the rest of the files goes on."""
    packed = gzip.compress(b"".join(b'{"x": %d}\n' % number for number in range(50_000)))
    written(tmp_path / "lines/a.jsonl.gz", packed[: len(packed) // 2])
    written(tmp_path / "lines/b.jsonl", '{"x": -1}\n')
    written(tmp_path / "whole/a.json.gz", b"no")
    written(tmp_path / "whole/b.json", '{"y": 1}')
    text = """
    @from("file:lines/*", json, lines) { p(x: integer). }
    @from("file:whole/*", json) { q(y: integer). }
    @to(file:p.jsonl) { p }
    @to(file:q.jsonl) { q }
    """
    ran = pipeline(text).execute(spark)
    reasons = [(Path(str(wrong.file)).name, wrong.reason) for wrong in ran.wrong]
    assert [name for name, _ in reasons] == ["a.jsonl.gz", "a.json.gz"]
    assert all("it cannot be read: " in reason for _, reason in reasons)
    lines = (tmp_path / "p.jsonl").read_text().splitlines()
    assert lines[0] == '[{"x": 0}]'
    assert lines[-1] == '[{"x": -1}]'
    assert len(lines) - 1 == (ran.wrong[0].line or 0) - 1
    assert (tmp_path / "q.jsonl").read_text() == '[{"y": 1}]\n'


@pytest.mark.parametrize("pipeline", [Pipeline], indirect=True)
def test_settings_are_beside_the_pipeline_whatever_names_are_relative_to(
    spark: Any, pipeline: Any, tmp_path: Path
) -> None:
    found = pipeline("@from(file:$name.json) { p(x). } @to(file:out.json) { p }")
    written(tmp_path / "demaq.toml", '[config]\nname = "in"\n')
    written(tmp_path / "other/in.json", [{"x": 1}])
    Pipeline(found.path, tmp_path / "other").execute(spark)
    assert read(tmp_path / "other/out.json") == [{"x": 1}]
