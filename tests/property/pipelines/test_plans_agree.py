"""Plans give what another engine gives; whatever is optimised, and however many messages there are at once."""

import clingo
from hypothesis import given

from demaq.diagnostics import Source
from demaq.pipelines import Program, compile_pipeline
from demaq.pipelines.evaluate import Evaluator, Input, Messages
from demaq.pipelines.optimise import PASSES, optimise
from demaq.pipelines.plan import Plan
from demaq.pipelines.planner import plan_program
from property.effort import examples
from property.pipelines.programs import Case, Fact, Facts, cases, constant

SINK = "to(file:out)"
SOURCES = {"a": "from(file:a)", "b": "from(file:b)"}
ENRICHER = "enrich(file:c)"

Found = list[dict[str, frozenset[Fact]]]


def compiled(case: Case) -> Program:
    return compile_pipeline(Source("random.lila", case.lila))


def given_input(case: Case, sources: dict[str, list[Facts]]) -> Input:
    messages = {SOURCES[name]: Messages.of(documents) for name, documents in sources.items()}
    return Input(sources=messages, enrichers={ENRICHER: case.enriched})


def evaluated(plan: Plan, case: Case, sources: dict[str, list[Facts]], count: int) -> Found:
    """The facts of each message that is sent."""
    sent = Evaluator(plan).run(given_input(case, sources)).sent[SINK]
    assert all(0 <= row[0] < count for rows in sent.values() for row in rows)
    return [
        {name: frozenset(row[1:] for row in rows if row[0] == number) for name, rows in sent.items()}
        for number in range(count)
    ]


def message_count(program: Program, case: Case) -> int:
    """What the sink gets: a message for each of its channels' messages that has partners, or one without channels."""
    lengths = {SOURCES[name]: len(documents) for name, documents in case.sources.items()}
    return min((lengths[channel] for channel in program.sinks[0].channels), default=1)


def message(case: Case, number: int) -> Facts:
    """All facts that come with the n-th message of each source."""
    return {name: rows for documents in case.sources.values() for name, rows in _nth(documents, number).items()}


def _nth(documents: list[Facts], number: int) -> Facts:
    return documents[number] if number < len(documents) else {}


def solved(case: Case, facts: Facts) -> dict[str, frozenset[Fact]]:
    """What clingo finds for one message."""
    lines = [f"{name}({', '.join(map(constant, fact))})." for name, rows in facts.items() for fact in rows]
    control = clingo.Control(["--warn=none"])
    control.add("base", [], "\n".join([case.logic, *lines]))
    control.ground([("base", [])])
    found: dict[str, set[Fact]] = {name: set() for name in case.sent}
    with control.solve(yield_=True) as handle:
        (model,) = handle
        for symbol in model.symbols(atoms=True):
            if symbol.name in found:
                found[symbol.name].add(tuple(_value(argument) for argument in symbol.arguments))
    return {name: frozenset(rows) for name, rows in found.items()}


def _value(symbol: clingo.Symbol) -> int | str:
    return symbol.number if symbol.type is clingo.SymbolType.Number else symbol.string


def whole(case: Case) -> tuple[Program, Plan, int]:
    program = compiled(case)
    return program, plan_program(program), message_count(program, case)


@examples(200)
@given(cases())
def test_plans_give_what_clingo_gives(case: Case) -> None:
    _, plan, count = whole(case)
    expected = [solved(case, message(case, number) | case.enriched) for number in range(count)]
    assert evaluated(plan, case, case.sources, count) == expected
    assert evaluated(optimise(plan), case, case.sources, count) == expected


@examples(60)
@given(cases())
def test_every_pass_keeps_what_leaves(case: Case) -> None:
    """Alone, and after those before it."""
    _, plan, count = whole(case)
    expected = evaluated(plan, case, case.sources, count)
    optimised = plan
    for each in PASSES:
        optimised = each(optimised)
        assert evaluated(each(plan), case, case.sources, count) == expected, each.__name__
        assert evaluated(optimised, case, case.sources, count) == expected, each.__name__


@examples(100)
@given(cases())
def test_messages_do_not_know_of_each_other(case: Case) -> None:
    program, plan, count = whole(case)
    plan = optimise(plan)
    alone = [
        evaluated(plan, case, {name: [_nth(documents, number)] for name, documents in case.sources.items()}, 1)
        for number in range(count if program.sinks[0].channels else 1)
    ]
    assert evaluated(plan, case, case.sources, count) == [found for (found,) in alone]
