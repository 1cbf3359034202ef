"""The dependency graph, patterns and routes: what the paper says of its figures."""

from itertools import pairwise
from pathlib import Path

import pytest

from demaq.diagnostics import Source
from demaq.pipelines import Program, check_pipeline, compile_pipeline
from demaq.pipelines.analysis.ldg import DependencyGraph, dependency_graph
from demaq.pipelines.analysis.patterns import Pattern, PatternKind, patterns
from demaq.pipelines.program import Enricher, Sink
from demaq.pipelines.program import Source as From
from demaq.pipelines.routes import Component, RouteGraph, route_graph

GOLDEN = Path(__file__).parents[2] / "golden" / "pipelines"
SPECIAL = (Component.FROM, Component.FROM_DIRECT)


def paper(case: str) -> Program:
    return compile_pipeline(GOLDEN / f"paper-{case}" / "pipeline.lila")


def graph(text: str) -> DependencyGraph:
    return dependency_graph(compile_pipeline(Source("test.lila", text)).nodes)


def routes(found: DependencyGraph) -> list[str]:
    return [" ".join(node.label for node in route.nodes) for route in route_graph(found).routes]


def edges(found: DependencyGraph) -> set[tuple[str, str]]:
    return {(edge.source, edge.target) for edge in found.edges}


def nodes_of(found: tuple[Pattern, ...], kind: PatternKind) -> set[tuple[str, ...]]:
    return {pattern.nodes for pattern in found if pattern.kind is kind}


def test_figure_3_the_dependency_graph_of_the_motivating_example() -> None:
    found = dependency_graph(paper("listing-01").nodes)
    events, info = "from(file:gameEvents.json)", "enrich(playerInfo.json)"
    assert edges(found) == {
        (events, "g"),
        (events, "br"),
        ("g", "gByP"),
        ("br", "pAtB"),
        (info, "gByP"),
        (info, "pAtB"),
        ("gByP", "to(twitter:$config)"),
        ("pAtB", "to(file:playersAtBall.json)"),
    }
    without_entering = [node for node in found.nodes if not found.preceding(node.id)]
    assert all(isinstance(node, From | Enricher) for node in without_entering)
    without_leaving = [node for node in found.nodes if not found.following(node.id)]
    assert all(isinstance(node, Sink) for node in without_leaving)


def test_the_motivating_example_has_two_content_filters() -> None:
    found = patterns(dependency_graph(paper("listing-01").nodes))
    assert nodes_of(found, PatternKind.CONTENT_FILTER) == {("gByP",), ("pAtB",)}


def test_figure_5_four_distinct_routes() -> None:
    """With a multicast to two `direct` channels, and an enricher that begins with one."""
    found = route_graph(dependency_graph(paper("listing-01").nodes))
    assert len(found.routes) == 4
    labels = [node.label for route in found.routes for node in route.nodes]
    assert "multicast(direct:g, direct:br)" in labels
    assert [node.label for node in found.routes[3].nodes] == ["from(direct:enrich-pInfo)", "file(playerInfo.json)"]


def test_figure_6_join_router() -> None:
    found = route_graph(dependency_graph(paper("fig-06-join-router").nodes))
    last = {route.nodes[-1].label for route in found.routes[:2]}
    joined = found.routes[2].nodes
    assert last == {"to(direct:n)"}  # t_jr2
    assert (joined[0].label, joined[0].gathers, joined[1].label) == ("from(direct:n)", 2, "n")  # t_jr1


def test_figure_7_multicast() -> None:
    found = route_graph(dependency_graph(paper("fig-07-multicast").nodes))
    (source, left, right) = found.routes
    assert [node.label for node in source.nodes[-2:]] == ["n", "multicast(direct:left, direct:right)"]  # t_mu1
    assert [route.nodes[0].label for route in (left, right)] == ["from(direct:left)", "from(direct:right)"]  # t_mu2


def test_figure_8_remote_enricher() -> None:
    """Its path is followed up to the node where other channels enter."""
    found = route_graph(dependency_graph(paper("fig-08-remote-enricher").nodes))
    (main, enricher) = found.routes
    assert [node.label for node in enricher.nodes] == ["from(direct:enrich-extra)", "file(extra.json)", "adults"]
    assert [node.component for node in main.nodes][1] is Component.ENRICH
    assert main.nodes[2].label == "n"


def test_figures_12_and_13_the_motivating_example_revisited() -> None:
    """A join router at `posAtShotOnGoal`, multicasts after the positions and after `gByP`."""
    graph_ = dependency_graph(paper("listing-16").nodes)
    found = patterns(graph_)
    joins = {nodes[0] for nodes in nodes_of(found, PatternKind.JOIN_ROUTER)}
    multicasts = {nodes[0] for nodes in nodes_of(found, PatternKind.MULTICAST)}
    assert joins == {"posAtShotOnGoal"}
    assert multicasts == {"from(file:gameEvents.json)", "from(file:playerPosition.json)", "gByP"}
    assert ("gByP", "posAtShotOnGoal") in edges(graph_)
    gathering = [node.channel for route in route_graph(graph_).routes for node in route.nodes if node.gathers > 1]
    assert gathering == ["posAtShotOnGoal"]


CASES = sorted(case.parent for case in GOLDEN.glob("*/explained.txt"))


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def any_graph(request: pytest.FixtureRequest) -> DependencyGraph:
    program = check_pipeline(request.param / "pipeline.lila").program
    assert program is not None
    return dependency_graph(program.nodes)


def test_every_node_is_in_a_route_and_every_link_leads_to_one(any_graph: DependencyGraph) -> None:
    found = route_graph(any_graph)
    stood_for = {node.node for route in found.routes for node in route.nodes}
    used = {node.id for node in any_graph.nodes if any_graph.following(node.id) or any_graph.preceding(node.id)}
    assert used <= stood_for
    takers = [node.channel for route in found.routes for node in route.nodes if node.channel is not None]
    assert len(takers) == len(set(takers))
    assert all(taker.component is Component.FROM_DIRECT for _, taker in found.links)


def test_routes_are_rows(any_graph: DependencyGraph) -> None:
    """Each begins where messages come in, and sends to other routes only at its end."""
    found: RouteGraph = route_graph(any_graph)
    for route in found.routes:
        assert route.nodes[0].component in SPECIAL
        assert all(node.component not in SPECIAL for node in route.nodes[1:])
        ends = [node for node in route.nodes if node.component in (Component.MULTICAST, Component.TO_DIRECT)]
        assert ends in ([], [route.nodes[-1]])


def test_as_many_messages_are_gathered_as_are_sent(any_graph: DependencyGraph) -> None:
    found = route_graph(any_graph)
    sent = [taker.id for sender, taker in found.links if sender.component is not Component.ENRICH]
    for route in found.routes:
        first = route.nodes[0]
        if first.component is Component.FROM_DIRECT and first.id in sent:
            assert sent.count(first.id) == first.joins
            assert first.gathers in (1, first.joins)


def test_an_aggregator_takes_the_messages_of_its_channels_one_by_one() -> None:
    found = graph("""
    @from(file:a) { a(x). } @from(file:b) { b(x). }
    @aggregate(union, completionSize=2) { ?-a(x). ?-b(x). }
    @to(file:c) { a-aggregate, b-aggregate }
    """)
    (join,) = (node for route in route_graph(found).routes for node in route.nodes if node.joins > 1)
    assert (join.joins, join.gathers) == (2, 1)
    assert PatternKind.JOIN_ROUTER in {pattern.kind for pattern in patterns(found)}


def test_facts_and_enrichers_stand_after_what_they_add_to() -> None:
    found = graph('@from(file:a) { p(x). } p("a"). @enrich(b) { p(x). } @to(file:c) { p }')
    chain = ["from(file:a)", "facts(p)", "enrich(b)", "to(file:c)"]
    assert edges(found) == set(pairwise(chain))
    assert routes(found) == [
        "from(file:a) facts(p) enrich(direct:enrich-p) to(file:c)",
        "from(direct:enrich-p) file(b)",
    ]


def test_processors_behind_facts_only_are_called() -> None:
    found = graph("@from(file:a) { p(x). } q(1). r(x) :- q(x). s(x) :- p(x), r(x). @to(file:c) { s }")
    assert routes(found) == [
        "from(file:a) enrich(direct:r) s to(file:c)",
        "from(direct:r) facts(q) r",
    ]


def test_an_unused_processor_ends_its_route() -> None:
    found = graph("@from(file:a) { p(x). } q(x) :- p(x). @to(file:c) { p }")
    assert routes(found) == [
        "from(file:a) multicast(direct:q, direct:to-p)",
        "from(direct:q) q",
        "from(direct:to-p) to(file:c)",
    ]
