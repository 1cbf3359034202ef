"""The graph of an application, as it is drawn."""

import re
from pathlib import Path

import pytest

from applications import compile_text
from demaq.drawing import Edge, Graph, Line, Node, Rank, Shape, to_mermaid, to_svg
from demaq.language import check
from demaq.language.explain import program_graph

ROOT = Path(__file__).parents[3]


def drawn(folder: Path, text: str, *, queues: bool = True) -> Graph:
    return program_graph(compile_text(folder, text, queues=queues))


def node(graph: Graph, id: str) -> Node:
    return next(each for each in graph.nodes if each.id == id)


def errors(graph: Graph) -> list[tuple[str, str]]:
    return [(edge.source, edge.target) for edge in graph.edges if edge.line is Line.DANGER]


@pytest.fixture(scope="module")
def procurement() -> Graph:
    program = check(ROOT / "examples" / "procurement").program
    assert program is not None
    return program_graph(program)


def places(graph: Graph) -> dict[str, float]:
    """Where the label of each node stands, from left to right."""
    figures = re.findall(r'data-id="([^"]+)">.*?class="label" x="([\d.]+)"', to_svg(graph))
    return {id: float(x) for id, x in figures}


class TestRanks:
    def test_gateways_say_where_they_want_to_stand(self, tmp_path: Path) -> None:
        graph = drawn(tmp_path, "")
        ranks = {each.label: each.rank for each in graph.nodes if each.id.startswith("queue ")}
        assert ranks["inbox"] is Rank.FIRST
        assert ranks["outbox"] is Rank.LAST
        assert ranks["work"] is ranks["other"] is Rank.ANY

    def test_a_queue_that_no_rule_feeds_is_fed_from_outside(self, tmp_path: Path) -> None:
        queues = "create queue a kind basic create queue b kind basic create queue c kind outgoingGateway "
        rules = (
            "create rule r for a if (/x) then do enqueue . into b create rule s for b if (/x) then do enqueue . into c"
        )
        graph = drawn(tmp_path, queues + rules, queues=False)
        assert [node(graph, f"queue {name}").rank for name in "abc"] == [Rank.FIRST, Rank.ANY, Rank.LAST]

    def test_what_comes_in_stands_at_the_left_of_procurement(self, procurement: Graph) -> None:
        place = places(procurement)
        assert min(place, key=place.__getitem__) == "queue requests"
        assert max(place, key=place.__getitem__) == "queue postalService"
        assert place["queue requests"] < place["queue crm"] < place["queue orders"] < place["queue customer"]


class TestErrors:
    QUEUES = (
        "create queue inbox kind incomingGateway create queue work kind basic create queue outbox kind outgoingGateway "
        "create queue failed kind outgoingGateway create queue worse kind outgoingGateway "
        "create rule one for inbox{0} if (/a) then do enqueue . into work "
        "create rule two for inbox{1} if (/b) then do enqueue . into outbox "
        "create rule three for work{2} if (/c) then do enqueue . into outbox "
    )

    def graph(self, folder: Path, *rules: str, module: str = "") -> Graph:
        heading = f"module main errorqueue {module}; " if module else ""
        texts = [f" errorqueue {queue}" if queue else "" for queue in rules]
        return drawn(folder, heading + self.QUEUES.format(*texts), queues=False)

    def test_those_of_all_rules_for_a_queue_are_one_edge(self, tmp_path: Path) -> None:
        graph = self.graph(tmp_path, "", "", "", module="failed")
        assert errors(graph) == [("queue inbox", "queue failed"), ("queue work", "queue failed")]

    def test_those_of_single_rules_come_from_them(self, tmp_path: Path) -> None:
        graph = self.graph(tmp_path, "failed", "worse", "worse")
        assert errors(graph) == [
            ("rule one", "queue failed"),
            ("rule two", "queue worse"),
            ("queue work", "queue worse"),
        ]

    def test_those_that_the_system_takes_are_not_drawn(self, tmp_path: Path) -> None:
        graph = self.graph(tmp_path, "failed", "", "")
        assert errors(graph) == [("rule one", "queue failed")]
        assert not [each for each in graph.nodes if each.label == "systemErrors"]

    def test_procurement_has_few(self, procurement: Graph) -> None:
        assert errors(procurement) == [
            ("rule admit", "queue crmErrors"),
            ("queue crm", "queue crmErrors"),
            ("queue customer", "queue crmErrors"),
        ]

    def test_no_edge_is_drawn_twice(self, procurement: Graph) -> None:
        assert len(set(procurement.edges)) == len(procurement.edges)


class TestCollections:
    def test_one_is_told_from_a_queue_of_the_same_name(self, procurement: Graph) -> None:
        queue, collection = node(procurement, "queue crm"), node(procurement, "collection crm")
        assert queue.label == collection.label == "crm"
        assert (queue.shape, collection.shape) == (Shape.CYLINDER, Shape.PAGE)
        assert collection.note == "collection\ncollections/prices.xml"
        assert collection.tooltip == "collection crm"
        assert queue.tooltip == "basic queue crm, persistent"

    def test_in_mermaid(self, procurement: Graph) -> None:
        lines = to_mermaid(procurement).splitlines()
        named = [line.strip() for line in lines if re.search(r'"crm(<br/>|")', line)]
        assert [re.sub(r"^n\d+", "", line) for line in named] == [
            '[("crm")]:::cool',
            '[/"crm<br/>collection<br/>collections/prices.xml"\\]:::muted',
        ]

    def test_in_the_picture(self, procurement: Graph) -> None:
        assert to_svg(procurement).count(">collection</text>") == 3


def test_names_have_prefixes_and_tooltips_do_not(tmp_path: Path) -> None:
    text = (
        'declare namespace p = "urn:p"; create queue p:desk kind basic '
        "create rule p:fill for inbox if (/x) then do enqueue . into p:desk "
        "create rule p:empty for p:desk if (/x) then do enqueue . into outbox"
    )
    graph = drawn(tmp_path, text)
    queue = node(graph, "queue Q{urn:p}desk")
    assert (queue.label, queue.tooltip) == ("p:desk", "basic queue Q{urn:p}desk, persistent")
    assert node(graph, "rule Q{urn:p}fill").label == "p:fill"
    assert Edge(source="rule Q{urn:p}fill", target="queue Q{urn:p}desk") in graph.edges
