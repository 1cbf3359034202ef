"""The program that back ends read: relations, steps in order, nodes in order, channels."""

from datetime import timedelta

import pytest

from demaq.diagnostics import Source
from demaq.pipelines import Program, compile_pipeline
from demaq.pipelines.program import Bind, Compare, CompareText, Join, Origin, Step, Summarise, Without
from demaq.pipelines.values import ValueType
from demaq.pipelines.vocabulary import Format, Function, Strategy

SOCCER = """
@from(file:gameEvents.json, json) { gE(period, time, eventCode, pId). }
@from(file:playerPosition.json, json) { pPos(period, time, playerId, posX, posY). }
g(period, time, pId) :- gE(period, time, "Goal", pId).
p(period, time, pId) :- gE(period, time, "BallReception", pId).
gByP(period, time, pId, firstN, lastN) :- g(period, time, pId), pInfo(pId, firstN, lastN).
pAtB(period, time, pId, firstN, lastN) :- p(period, time, pId), pInfo(pId, firstN, lastN).
posAtShotOnGoal(period, time, firstN, lastN, posX, posY) :-
  gByP(period, time, pId, firstN, lastN), pPos(period, time, pId, posX, posY).
pPosPerMinute(period, time, playerId, posX, posY) :-
  pPos(period, millitime, playerId, posX, posY), time := 1, time = millitime / 600.
pPosPerMinute(period, time, playerId, posX, posY) :-
  pPos(period, millitime, playerId, posX, posY), pPosPerMinute(_, previousTime, _, _, _),
  time := previousTime + 1, time = millitime / 600.
@enrich(playerInfo.json, json) { pInfo(pId, firstN, last). }
@to(twitter:$config, json) { gByP }
@to(file:playersAtBall.json) { pAtB }
@to(file:positionAtShotOnGoal) { posAtShotOnGoal }
@to(jdbc:soccerDatabase) { pPosPerMinute }
"""


def program(text: str) -> Program:
    return compile_pipeline(Source("test.lila", text))


def steps(body: str, head: str = "r(x)") -> list[Step]:
    text = f"""
    @from(file:in) {{ p(x). q(x, y). n(x: integer, y: double). t(x: text). }}
    {head} :- {body}.
    @to(file:out) {{ r }}
    """
    (processor,) = program(text).processors
    return list(processor.rules[0].steps)


def kinds(found: list[Step]) -> list[type[Step]]:
    return [type(step) for step in found]


def test_nodes_are_in_an_order_of_evaluation() -> None:
    found = program(SOCCER)
    ids = [node.id for node in found.nodes]
    assert ids[:3] == ["from(file:gameEvents.json)", "from(file:playerPosition.json)", "enrich(playerInfo.json)"]
    assert ids.index("g") < ids.index("gByP") < ids.index("posAtShotOnGoal")
    assert ids.index("gByP") < ids.index("to(twitter:$config)")
    assert [processor.is_recursive for processor in found.processors if processor.id == "pPosPerMinute"] == [True]


def test_relations_know_their_channels() -> None:
    relations = program(SOCCER).relations
    events, positions = "from(file:gameEvents.json)", "from(file:playerPosition.json)"
    assert relations["gByP"].channels == (events,)
    assert relations["pInfo"].channels == ()
    assert relations["posAtShotOnGoal"].channels == (events, positions)
    assert relations["pPosPerMinute"].channels == (positions,)


def test_parameters_have_names_and_types() -> None:
    relations = program(SOCCER).relations
    assert relations["posAtShotOnGoal"].names == ("period", "time", "firstN", "lastN", "posX", "posY")
    assert [parameter.type for parameter in relations["gE"].parameters] == [
        ValueType.ANY,
        ValueType.NUMBER,
        ValueType.TEXT,
        ValueType.ANY,
    ]
    assert relations["pPosPerMinute"].parameters[1].type is ValueType.INTEGER


def test_an_equation_does_not_bind_what_an_assignment_binds() -> None:
    """Else 1.5 could be bound to the integer that the assignment makes."""
    rules = next(node for node in program(SOCCER).processors if node.is_recursive).rules
    assert kinds(list(rules[1].steps)) == [Join, Join, Bind, Compare]
    bind = rules[1].steps[2]
    assert isinstance(bind, Bind)
    assert bind.variable.type is ValueType.INTEGER


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("p(x)", [Join]),
        ("x = y, q(_, y)", [Join, Bind]),
        ("y > 1, q(x, y)", [Join, Compare]),
        ("not p(x), q(x, _)", [Join, Without]),
        ("x := z + 1, p(z), not q(x, _)", [Join, Bind, Without]),
        ("p(x), t(y), q(x, y)", [Join, Join, Join]),
        ("p(x), x := 3", [Join, Compare]),
        ("x = 3", [Bind]),
        ("x := max(n(_, y))", [Summarise]),
        ("p(x), x := max(n(_, y))", [Join, Summarise, Compare]),
        ("x := max(n(_, y)) + count(p(_)) * 2", [Summarise, Summarise, Bind]),
        ("x = n(_, y)", None),
        ("x = p(y) + 1", [Join, Bind]),
        ("x = p(_) + 1", [Join, Bind]),
        ('t(x), not contains(x, "a")', [Join, CompareText]),
        ("x == 3, p(x)", [Join, Compare]),
    ],
)
def test_steps(body: str, expected: list[type[Step]] | None) -> None:
    if expected is None:
        with pytest.raises(Exception, match="DQ1307"):
            steps(body)
    else:
        assert kinds(steps(body)) == expected


def test_relations_that_share_a_variable_are_joined_first() -> None:
    found = steps("p(x), t(z), q(x, y), n(y, _)", head="r(z)")
    assert [step.atom.relation for step in found if isinstance(step, Join)] == ["p", "q", "n", "t"]


def test_aggregates_group_by_what_is_bound_elsewhere() -> None:
    (join, summarise) = steps("p(x), m := avg(n(x, y))", head="r(x, m)")
    assert isinstance(join, Join)
    assert isinstance(summarise, Summarise)
    assert (summarise.function, summarise.over, summarise.variable.type) == (Function.AVG, 1, ValueType.DOUBLE)
    assert [variable.name for variable in summarise.atom.variables] == ["x"]
    assert summarise.atom.terms[1] is None


def test_named_arguments_stand_by_position() -> None:
    (join,) = steps("q(y: x)")
    assert isinstance(join, Join)
    assert join.atom.terms[0] is None
    assert join.atom.variables[0].name == "x"


def test_a_head_variable_takes_the_constant_of_its_parameter() -> None:
    text = '@from(file:in) {match(matching).} match-filtered(matching):-match("true"). @to(file:out)'
    found = program(text)
    assert kinds(list(found.processors[0].rules[0].steps)) == [Join, Bind]
    assert found.relations["match-filtered"].parameters[0].type is ValueType.TEXT
    assert found.sinks[0].relations == ("match-filtered",)


def test_numbers_get_as_wide_as_they_must() -> None:
    text = """
    p(1). p(2.5).
    q(x) :- p(y), x := y * 2. q(x) :- q(y), y < 3, x := y / 2.
    half(x) :- n := count(p(_)), x := n / 2. whole(x) :- n := count(p(_)), x := n div 2.
    @to(file:out) { q half whole }
    """
    types = {name: relation.parameters[0].type for name, relation in program(text).relations.items()}
    assert types == {
        "p": ValueType.DECIMAL,
        "q": ValueType.DECIMAL,
        "half": ValueType.DOUBLE,
        "whole": ValueType.INTEGER,
    }


def test_strata() -> None:
    text = """
    e(1, 2).
    path(x, y) :- e(x, y). path(x, y) :- path(x, z), e(z, y).
    unreachable(x, y) :- e(x, _), e(_, y), not path(x, y).
    most(n) :- n := count(unreachable(_, _)).
    @to(file:out) { most }
    """
    assert [(node.id, node.stratum) for node in program(text).processors] == [
        ("path", 0),
        ("unreachable", 1),
        ("most", 2),
    ]


def test_relations_that_depend_on_each_other_are_one_processor() -> None:
    text = """
    next(0, 1). next(1, 2). even(0).
    even(y) :- odd(x), next(x, y). odd(y) :- even(x), next(x, y).
    @to(file:out) { even }
    """
    found = program(text)
    (processor,) = found.processors
    assert (processor.id, processor.relations, processor.is_recursive) == ("even+odd", ("even", "odd"), True)
    assert found.relations["even"].origins == (Origin.FACTS, Origin.RULES)
    assert [facts.relation for facts in found.facts] == ["next", "even"]
    assert found.facts[0].rows[1][0].value == 1


def test_annotations() -> None:
    text = """
    @from("jdbc:postgresql://host/db?user=$user&password=$password", rows, table="events") { e(a, b). }
    @aggregate(last, completionTime=1.5, completionSize=3, completion=done) { ?-e(a, 1). }
    @split() { ?-e-aggregate(x, _). }
    done(a) :- e(a, 2).
    @to(file:out.csv, delimiter=";", header=false) { e-aggregate-split }
    ?-done(a).
    """
    found = program(text)
    (source,), (aggregation,), (split,), (sink,) = found.sources, found.aggregations, found.splits, found.sinks
    assert source.endpoint.configured == ("user", "password")
    assert (source.endpoint.scheme, source.endpoint.format) == ("jdbc", Format.ROWS)
    assert source.endpoint.options == {"table": "events"}
    assert (aggregation.strategy, aggregation.time, aggregation.size, aggregation.when) == (
        Strategy.LAST,
        timedelta(seconds=1.5),
        3,
        "done",
    )
    assert [selection.result for selection in aggregation.selections] == ["e-aggregate"]
    assert [variable.name for variable in split.selections[0].atom.variables] == ["x"]
    assert found.relations["e-aggregate-split"].names == ("a", "b")
    assert found.relations["e-aggregate-split"].channels == ("split(e-aggregate)",)
    assert (sink.endpoint.format, sink.endpoint.options) == (Format.CSV, {"delimiter": ";", "header": False})
    assert [query.text for query in found.queries] == ["?-done(a)."]
    ids = [node.id for node in found.nodes]
    assert ids.index("done") < ids.index("aggregate(e)") < ids.index("split(e-aggregate)")


@pytest.mark.parametrize(
    ("uri", "format_", "lines"),
    [
        ("file:a.json", Format.JSON, False),
        ("a.csv.gz", Format.CSV, False),
        ("file:a.XML?delay=5", Format.XML, False),
        ("file:a.jsonl", Format.JSON, True),
        ("file:folder", Format.JSON, False),
        ("http://host/facts.dl", Format.DATALOG, False),
        ("queue:orders", Format.XML, False),
    ],
)
def test_the_format_follows_from_the_uri(uri: str, format_: Format, lines: bool) -> None:
    (source,) = program(f"@from({uri}) {{ a(x). }} @to(file:out) {{ a }}").sources
    assert (source.endpoint.format, source.endpoint.options.get("lines", False)) == (format_, lines)


def test_names_of_parameters() -> None:
    text = """
    a(1, 2). meta("a", "first", 1).
    b(x, 1, x) :- a(x, _). b(y, z, z) :- a(y, z).
    c(u: x, v: 3) :- a(x, _).
    @to(file:out) { b c }
    """
    relations = program(text).relations
    assert relations["a"].names == ("first", "column2")
    assert relations["b"].names == ("x", "z", "column3")
    assert relations["c"].names == ("u", "v")
