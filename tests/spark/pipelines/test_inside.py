"""Messages that are read, evaluated and written by one worker: the same files as in memory, and the same numbers."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import Phase, given, settings

from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.evaluate import Input, evaluate
from demaq.pipelines.optimise import optimise
from demaq.pipelines.plan import Plan
from demaq.pipelines.plan.nodes import Distinct, Load, Node, Pair, Scan, Version
from demaq.pipelines.plan.steps import Define, Fixpoint, Part, Send
from demaq.pipelines.plan.walk import below, each_node, nodes, reads, rewritten
from demaq.pipelines.planner import plan_program
from demaq.pipelines.running.endpoints import Endpoints
from demaq.pipelines.running.memory import run_here
from demaq.spark.pipelines import inside, whole
from demaq.spark.pipelines.columnar import Evaluation, arrow_type, can_evaluate
from demaq.spark.pipelines.pipeline import Pipeline
from demaq.spark.pipelines.values import MESSAGE, decoder, encoder, place
from property.effort import scaled
from property.pipelines.programs import Case, cases
from property.pipelines.test_plans_agree import compiled, given_input

SOURCE = "@from(file:in.jsonl) { p(k: integer, name: text, any, day: date, x: double, yes: boolean). }"
ENRICHER = "@enrich(file:more.json) { e(name: text, more: text). }"
FACTS = 'known(1, "a"). known(2, "b").'
PROGRAMS = {
    "filter": 'r(k, name) :- p(k, name, _, _, _, _), k > 3, name != "b".',
    "text": 'r(name, k) :- p(k, name, _, _, _, _), contains(name, "a"), not startswith(name, "ab").',
    "any": "r(any, k) :- p(k, _, any, _, _, _), known(k, _).",
    "number": "r(any, k) :- p(k, _, any, _, _, _), any != 2.",
    "types": "r(day, x, yes, k) :- p(k, _, _, day, x, yes), yes = true, x >= 1.5, day < 2024-06-01.",
    "constants": 'r("c", 7, k) :- p(k, "a", _, _, _, _).',
    "union": "r(name, k) :- p(k, name, _, _, _, _), k > 5. r(name, k) :- p(k, name, _, _, _, _), k < 7.",
    "twice": "r(a, b) :- p(k, a, _, _, _, _), p(k, b, _, _, _, _).",
    "enriched": "r(name, more, k) :- p(k, name, _, _, _, _), e(name, more).",
    "without": "r(name, k) :- p(k, name, _, _, _, _), not e(name, _).",
    "facts": "r(k, name) :- p(k, _, _, _, _, _), known(k, name).",
    "steps": """
        s(k, name) :- p(k, name, _, _, _, _), k > 1. t(k) :- s(k, _).
        u(k) :- t(k), k > 6. r(k, name) :- s(k, name), not u(k).
    """,
    "computed": "r(k, y) :- p(k, _, _, _, _, _), y := k * 2 - 1, y > k + 1.",
    "too large": "r(k, y) :- p(k, _, _, _, _, _), y := k * 4611686018427387904.",
    "closure": "r(a, b) :- p(a, _, _, _, _, _), p(b, _, _, _, _, _). r(a, c) :- r(a, b), r(b, c).",
    "counting": "r(k, n) :- p(k, _, _, _, _, _), n := 0. r(k, n) :- r(k, m), n := m + 1, n < k * k.",
    "each other": """
        even(k, n) :- p(k, _, _, _, _, _), n := 0. odd(k, n) :- even(k, m), n := m + 1, n < k. r(k, n) :- odd(k, n).
        even(k, n) :- odd(k, m), n := m + 1, n < k.
    """,
}
GOALS = {"json": "out.json", "lines": "out.jsonl", "csv": "out.csv"}


@pytest.fixture(autouse=True)
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("demaq.pipelines.running.parts._PART", 1500)  # there are several


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many parts each run had that was done so by Spark."""
    found: list[int] = []
    run = inside.run_inside

    def noted(*given: Any) -> Any:
        if given[0] is not None:
            found.append(given[2][0].parts)
        return run(*given)

    monkeypatch.setattr(whole, "run_inside", noted)
    return found


@contextmanager
def elsewhere(*_: Any) -> Iterator[None]:
    """Workers are on other machines."""
    yield None


def fact(n: int) -> dict[str, Any]:
    names, anything = ("a", "b", "ab", "ça", 'q"x'), (1, 2, "2", True, 2.5, None)
    return {
        "k": n % 9,
        "name": names[n % 5],
        "any": anything[n % 6],
        "day": f"2024-0{n % 9 + 1}-1{n % 10}",
        "x": n / 4 + 0.1,
        "yes": n % 2 == 0,
    }


def lines(*, broken: bool) -> str:
    """Of one fact or of several, of which some are the same; and some that are none."""
    texts = [json.dumps(fact(n)) for n in range(30)]
    texts += [json.dumps([fact(n % 7 + m) for m in range(n % 5)], ensure_ascii=False) for n in range(30)]
    texts += ["", "  ", '{"k": 3, "name": null}'] + (["{", '{"k": "no"}', "[1]"] if broken else [])
    return "\n".join(texts * 3)


def run_everywhere(spark: Any, folder: Path, text: str, *, as_tables: bool = True) -> dict[str, bytes]:
    """On Spark, in memory, and in memory as tables, if that can be done: the same files, and the same numbers."""
    (folder / "p.lila").write_text(text, encoding="utf-8")
    (folder / "more.json").write_text('[{"name": "a", "more": "A"}, {"name": "b", "more": "B"}, {"more": "C"}]')
    pipeline = Pipeline(folder / "p.lila")
    ran = pipeline.execute(spark)
    found = {path.name: path.read_bytes() for path in folder.glob("out*")}
    here = run_here(Endpoints(pipeline.program, folder))
    assert {path.name: path.read_bytes() for path in folder.glob("out*")} == found
    assert (ran.sent, ran.messages, ran.wrong_number) == (here.sent, here.messages, here.wrong_number)
    assert {name: here.facts[name] for name in ran.facts} == ran.facts
    assert [(each.line, each.reason) for each in ran.wrong] == [(each.line, each.reason) for each in here.wrong]
    for path in folder.glob("out*"):
        path.unlink()
    tables = whole.run_as_tables(Endpoints(pipeline.program, folder))
    assert (tables is not None) == as_tables
    assert {path.name: path.read_bytes() for path in folder.glob("out*")} == (found if as_tables else {})
    if tables is not None:
        assert asdict(tables) == asdict(here)
    return found


@pytest.mark.parametrize("goal", GOALS.values(), ids=GOALS)
@pytest.mark.parametrize("rules", PROGRAMS.values(), ids=PROGRAMS)
def test_the_same_files_as_in_memory(spark: Any, tmp_path: Path, seen: list[int], rules: str, goal: str) -> None:
    (tmp_path / "in.jsonl").write_text(lines(broken=True), encoding="utf-8")
    found = run_everywhere(spark, tmp_path, f"{SOURCE} {ENRICHER} {FACTS} {rules} @to(file:{goal}) {{ r }}")
    assert seen[0] > 3
    assert len(found[goal].splitlines()) > 5


@pytest.mark.parametrize("goal", GOALS.values(), ids=GOALS)
def test_several_goals_on_other_machines(
    spark: Any, tmp_path: Path, seen: list[int], monkeypatch: pytest.MonkeyPatch, goal: str
) -> None:
    monkeypatch.setattr(inside, "_aside", elsewhere)
    monkeypatch.setattr(inside, "_AT_ONCE", 7)
    (tmp_path / "in.jsonl").write_text(lines(broken=True), encoding="utf-8")
    rules = "small(k, name) :- p(k, name, _, _, _, _), k < 4. large(k, name) :- p(k, name, _, _, _, _), k >= 4."
    goals = f"@to(file:{goal}) {{ small }} @to(file:out-{goal}) {{ large }}"
    run_everywhere(spark, tmp_path, f"{SOURCE} {rules} {goals}")
    assert seen
    assert (tmp_path / f"out-{goal}").stat().st_size > 100


def test_whole_files_and_relations_inside_of_others(spark: Any, tmp_path: Path, seen: list[int]) -> None:
    (tmp_path / "in").mkdir()
    for n in range(5):
        document = {"order": [{"id": m, "item": [{"what": "x"}, {"what": f"y{n}"}]} for m in range(n)]}
        (tmp_path / "in" / f"{n}.json").write_text(json.dumps(document))
    text = """
    @from(file:in, json) { order(uid, id: integer). item(parentId, what: text). }
    r(id, what) :- order(o, id), item(o, what), what != "x".
    @to(file:out.json) { r }
    """
    found = run_everywhere(spark, tmp_path, text)
    assert seen == [1]
    assert b'"y4"' in found["out.json"]


def test_enrichers_of_several_parts_with_something_wrong(spark: Any, tmp_path: Path, seen: list[int]) -> None:
    """It is told in which line of the file that is."""
    more = [json.dumps({"name": "ab"[n % 2], "more": f"{n}" * 20}) for n in range(120)]
    (tmp_path / "more.jsonl").write_text("\n".join([*more[:70], "{", *more[70:], "[1]", ""]))
    (tmp_path / "in.jsonl").write_text(lines(broken=True), encoding="utf-8")
    enricher = ENRICHER.replace("more.json", "more.jsonl")
    text = f"{SOURCE} {enricher} {PROGRAMS['enriched']} @to(file:out.json) {{ r }}"
    found = run_everywhere(spark, tmp_path, text)
    assert seen
    assert b'"' + b"119" * 20 + b'"' in found["out.json"]
    wrong = Pipeline(tmp_path / "p.lila").execute(spark).wrong
    assert [each.line for each in wrong if each.file and each.file.endswith("more.jsonl")] == [71, 122]


@pytest.mark.parametrize("content", ["", "\n\n", "{\n"])
def test_nothing_is_there(spark: Any, tmp_path: Path, seen: list[int], content: str) -> None:
    (tmp_path / "in.jsonl").write_text(content)
    rule = "r(k) :- p(k, _, _, _, _, _)."
    text = f"{SOURCE} {rule} @to(file:out.json) {{ r }}"
    assert run_everywhere(spark, tmp_path, text, as_tables=bool(content)) == {"out.json": b"[]\n"}
    assert seen


def test_strictly(spark: Any, tmp_path: Path, seen: list[int]) -> None:
    """Neither goal appears, and nothing is left beside them."""
    (tmp_path / "in.jsonl").write_text(lines(broken=True), encoding="utf-8")
    rules = "r(k) :- p(k, _, _, _, _, _). s(k) :- r(k)."
    (tmp_path / "p.lila").write_text(f"{SOURCE} {rules} @to(file:out.json) {{ r }} @to(file:out.csv) {{ s }}")
    with pytest.raises(PipelineFailed, match=r"in\.jsonl, line"):
        Pipeline(tmp_path / "p.lila").execute(spark, is_strict=True)
    assert seen
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "p.lila"}


@pytest.mark.parametrize(
    "rules",
    [
        "r(k, y) :- p(k, _, _, _, _, _), y := k / 2.",
        "r(k, n) :- p(k, _, _, _, _, _), n := count(p(k, _, _, _, _, _)).",
        "r(k, y) :- p(k, _, _, _, x, _), y := x * 2.",
        "@split() { ?-p(k, _, _, _, _, _). } r(k) :- p-split(k, _, _, _, _, _).",
    ],
)
def test_spark_does_what_cannot_be_done_so(spark: Any, tmp_path: Path, seen: list[int], rules: str) -> None:
    (tmp_path / "in.jsonl").write_text(lines(broken=False), encoding="utf-8")
    run_everywhere(spark, tmp_path, f"{SOURCE} {rules} @to(file:out.json) {{ r }}", as_tables=False)
    assert not seen


def test_recursion_that_is_deep_is_left_to_others(spark: Any, tmp_path: Path, seen: list[int]) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps(fact(3)), encoding="utf-8")
    rules = "r(k, n) :- p(k, _, _, _, _, _), n := 0. r(k, n) :- r(k, m), n := m + 1, n < 400."
    text = f"{SOURCE} {rules} @to(file:out.csv) {{ r }}"
    ((name, content),) = run_everywhere(spark, tmp_path, text, as_tables=False).items()
    assert seen  # it was tried
    assert (name, len(content.splitlines())) == ("out.csv", 401)


MEETING = """
@from(file:edges.csv) { edge(a: integer, b: integer). }
@from(file:names.json) { name(a: integer, name: text). }
@from(file:costs.json) { cost(a: integer, b: integer, euros: integer). }
reach(a, b) :- edge(a, b).
reach(a, c) :- reach(a, b), edge(b, c).
named(name, b) :- name(a, name), reach(a, b).
dear(name, b, sum) :- named(name, b), name(a, name), cost(a, b, euros), sum := euros + 1, sum > 3.
first(b) :- edge(0, b).
first(c) :- first(b), edge(b, c).
unnamed(a) :- edge(a, _), not name(a, _).
@to(file:out-reach.csv) { reach }
@to(file:out-first.csv) { first }
@to(file:out-unnamed.csv) { unnamed }
@to(file:out-named.json) { named }
@to(file:out-dear.json) { dear }
"""


@pytest.mark.parametrize("names", ['[{"a": 1, "name": "one"}, {"a": 40, "name": "forty"}]', "[]", "{", '[{"a": "x"}]'])
def test_documents_of_several_sources_meet(spark: Any, tmp_path: Path, seen: list[int], names: str) -> None:
    edges = [(n, n + 1) for n in range(60)] + [(60, 1), (7, 7), (8, 8)]
    (tmp_path / "edges.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in edges))
    (tmp_path / "names.json").write_text(names)
    costs = [{"a": n % 50, "b": n % 7, "euros": n % 9} for n in range(100)]
    (tmp_path / "costs.json").write_text(json.dumps(costs))
    found = run_everywhere(spark, tmp_path, MEETING)
    assert seen == [1]
    assert len(found["out-reach.csv"].splitlines()) == 60 * 60 + 60 + 1
    assert len(found["out-first.csv"].splitlines()) == 60 + 1  # one a round, found among all edges by its number
    without = 1 if names == "{" else 61 - ("one" in names) * 2 + 1  # a document that is none meets no other
    assert len(found["out-unnamed.csv"].splitlines()) == without
    assert (len(json.loads(found["out-dear.json"])) > 1) == ("one" in names)


def test_several_documents_of_several_sources_are_left_to_spark(spark: Any, tmp_path: Path, seen: list[int]) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        for n in range(2):
            (tmp_path / folder / f"{n}.json").write_text(json.dumps([{"x": n}]))
    rules = "@from(file:a, json) { a(x: integer). } @from(file:b, json) { b(x: integer). } r(x) :- a(x), b(x)."
    found = run_everywhere(spark, tmp_path, f"{rules} @to(file:out.json) {{ r }}", as_tables=False)
    assert not seen
    assert json.loads(found["out.json"]) == [{"x": 0}, {"x": 1}]


def table(columns: Any, rows: Any, *, numbered: bool) -> pa.Table:
    """Facts as workers have them."""
    first = 1 if numbered else 0
    arrays = [pa.array([row[0] for row in rows], pa.int64())] if numbered else []
    for at, column in enumerate(columns):
        encode: Callable[[Any], Any] = encoder(column.type)
        arrays.append(pa.array([encode(row[at + first]) for row in rows], arrow_type(column.type)))
    return pa.table(arrays, names=[*[MESSAGE][:first], *(place(at) for at in range(len(columns)))])


Defined = dict[str, Define | Fixpoint]


def alone(node: Node, defined: Defined) -> Plan:
    """A plan that sends what a node gives, after the steps that define what it reads."""
    needed: list[Define | Fixpoint] = []

    def need(node: Node) -> None:
        for step in (defined[read.relation] for read in reads(node) if read.relation in defined):
            if step not in needed and step not in begun:
                begun.append(step)
                for each in nodes(step):
                    need(each)
                needed.append(step)

    begun: list[Define | Fixpoint] = []
    need(node)
    send = Send(sink="to", inputs=node.channels, parts=(Part("r", Distinct(node)),))
    return Plan(name="alone", steps=(*needed, send))


def tables(plan: Plan, given: Input) -> dict[tuple[str, str], pa.Table]:
    found = {}
    for leaf in (leaf for step in plan.steps for node in nodes(step) for leaf in below(node)):
        if isinstance(leaf, Scan):
            rows = given.sources[leaf.channel].facts.get(leaf.relation, ())
            found[leaf.channel, leaf.relation] = table(leaf.parameters, list(rows), numbered=True)
        elif isinstance(leaf, Load):
            rows = given.enrichers[leaf.enricher].get(leaf.relation, ())
            found[leaf.enricher, leaf.relation] = table(leaf.parameters, list(rows), numbered=False)
    return found


def unpaired(node: Node) -> Node:
    """As if all messages had partners."""
    return rewritten(node, lambda each: each.input if isinstance(each, Pair) else each)


def compare(node: Node, defined: Defined, given: Input, compared: Counter[str]) -> None:
    """If a node is known here, and what it reads, it gives what it gives in memory."""
    plan = alone(node, defined)
    is_of_round = any(read.version is Version.NEW for read in reads(node))
    unknown = {read.relation for step in plan.steps for each in nodes(step) for read in reads(each)} - defined.keys()
    if not node.channels or unknown or is_of_round or not can_evaluate(plan):
        return
    found = Evaluation(tables(plan, given)).run(plan)["to"]["r"]
    assert rows_of(found, node.columns) == set(evaluate(plan, given).sent["to"]["r"])
    compared.update([type(node).__name__, *(type(step).__name__ for step in plan.steps)])


def rows_of(found: pa.Table, columns: Any) -> set[tuple[Any, ...]]:
    decoders = [lambda value: value, *(decoder(column.type) for column in columns)]
    every = zip(decoders, found.columns, strict=True)
    return set(zip(*([decode(value) for value in column.to_pylist()] for decode, column in every), strict=True))


def test_random_programs() -> None:
    """All parts of their plans that are known."""
    compared: Counter[str] = Counter()

    @settings(max_examples=scaled(400), phases=(Phase.explicit, Phase.generate), deadline=None)
    @given(cases())
    def run(case: Case) -> None:
        plan = optimise(plan_program(compiled(case)))
        input_ = given_input(case, case.sources)
        steps = each_node(plan, unpaired).steps
        defined: Defined = {step.relation: step for step in steps if isinstance(step, Define)}
        defined |= {each.relation: step for step in steps if isinstance(step, Fixpoint) for each in step.relations}
        for each in (each for step in steps for node in nodes(step) for each in below(node)):
            compare(each, defined, input_, compared)

    run()
    kinds = ("Scan", "Select", "Project", "Assign", "Distinct", "Join", "AntiJoin", "Fixpoint")
    assert all(compared[kind] for kind in kinds), compared
