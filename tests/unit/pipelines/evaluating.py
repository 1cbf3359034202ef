"""Pipelines that are evaluated in tests."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from demaq.diagnostics import Source
from demaq.pipelines import compile_pipeline
from demaq.pipelines.evaluate import Input, Messages, Output, Row, evaluate
from demaq.pipelines.optimise import optimise
from demaq.pipelines.plan import Plan
from demaq.pipelines.planner import plan_program

Documents = Sequence[Mapping[str, Iterable[Row]]]


def planned(text: str) -> Plan:
    """The plan as the program says."""
    return plan_program(compile_pipeline(Source("test.lila", text)))


def output(
    text: str,
    sources: Mapping[str, Documents] | None = None,
    enrichers: Mapping[str, Mapping[str, Iterable[Row]]] | None = None,
    arrivals: Mapping[str, Sequence[datetime]] | None = None,
) -> Output:
    """What leaves; sources and enrichers by the names of their files. The plan that is optimised gives the same."""
    given = Input(
        sources={
            f"from(file:{name})": Messages.of(documents, (arrivals or {}).get(name))
            for name, documents in (sources or {}).items()
        },
        enrichers={
            f"enrich(file:{name})": {relation: list(rows) for relation, rows in facts.items()}
            for name, facts in (enrichers or {}).items()
        },
    )
    plan = planned(text)
    found = evaluate(plan, given)
    assert comparable(evaluate(optimise(plan), given)) == comparable(found)
    return found


def comparable(found: Output) -> object:
    """What leaves, without an order."""
    sent = {sink: {name: set(rows) for name, rows in facts.items()} for sink, facts in found.sent.items()}
    return sent, [(answer.text, set(answer.rows)) for answer in found.answers]


def messages(found: Output, sink: str) -> list[dict[str, set[Row]]]:
    """What is sent to a file, message by message."""
    sent = found.messages(f"to(file:{sink})")
    return [{name: set(rows) for name, rows in message.items()} for message in sent]


def sent(text: str, *documents: Mapping[str, Iterable[Row]]) -> list[set[Row]]:
    """The facts of one relation that each message has that goes to `file:out`, given those that come from `file:in`."""
    found = output(text, {"in": documents})
    return [rows for message in messages(found, "out") for rows in message.values()]


def derived(body: str, facts: Mapping[str, Iterable[Row]], head: str = "r(x)") -> set[Row]:
    """What one rule makes of one message, which may have `p(x, y)` of any values, `n(x, y)` of integers, `d(x, y)`
    of doubles, `m(x, y)` of decimals, `t(x, y)` of text, and `w(x, y)` of times."""
    text = f"""
    @from(file:in) {{
      p(x, y). n(x: integer, y: integer). d(x: double, y: double). m(x: decimal, y: decimal). t(x: text, y: text).
      w(x: datetime, y: datetime).
    }}
    {head} :- {body}.
    @to(file:out) {{ r }}
    """
    found = sent(text, facts)
    return found[0] if found else set()
