import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

import demaq.drawing
from demaq.drawing import Edge, Graph, Line, Node, Shape, Tone, to_svg
from demaq.drawing.palette import DARK, LIGHT

NAMESPACE = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    '"]; <script>alert(1)</script>',
    "a\nb",
    "😀 漢字",
    "]]>",
    "<!--",
    "&amp;",
    "\x00\x0b\ud800",
    "' onload='x",
]

SMALL = Graph(
    title="Orders & more",
    nodes=(
        Node(id="in", label="orders", shape=Shape.CYLINDER, tone=Tone.ACCENT, note="persistent", tooltip="a queue"),
        Node(id="r", label="check", shape=Shape.ROUNDED),
        Node(id="out", label="mail", shape=Shape.OUTLET, tone=Tone.COOL),
    ),
    edges=(
        Edge(source="in", target="r"),
        Edge(source="r", target="out", line=Line.DANGER, label="on error", tooltip="when it fails"),
        Edge(source="r", target="r", line=Line.DOTTED),
    ),
    legend=((Line.SOLID, "message"), (Line.DANGER, "failure")),
)


def parsed(graph: Graph) -> ElementTree.Element:
    return ElementTree.fromstring(to_svg(graph).encode())


def having(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    """The elements of a class."""
    return [each for each in root.iter() if name in each.get("class", "").split()]


def texts(root: ElementTree.Element, name: str) -> list[str]:
    return ["".join(each.itertext()) for each in having(root, name)]


def test_the_root_says_what_the_picture_is() -> None:
    root = parsed(SMALL)
    assert root.tag == f"{NAMESPACE}svg"
    assert root.get("role") == "img"
    assert [child.tag for child in root][:2] == [f"{NAMESPACE}title", f"{NAMESPACE}desc"]
    assert root[0].text == "Orders & more"
    assert root[1].text == "A directed graph of 3 nodes and 3 edges, from left to right."
    left, top, wide, high = map(float, root.get("viewBox", "").split())
    assert (left, top) == (0, 0)
    assert (str(round(wide)), str(round(high))) == (root.get("width"), root.get("height"))


def test_the_picture_shrinks_with_the_window_to_half_its_size() -> None:
    root = parsed(SMALL)
    wide = float(root.get("width", ""))
    assert root.get("style") == f"max-width:max(100%,{wide / 2:g}px);height:auto"


def test_nodes_have_text_colour_shape_and_tooltip() -> None:
    root = parsed(SMALL)
    assert texts(root, "label") == ["orders", "check", "mail"]
    assert texts(root, "note") == ["persistent"]
    first, second, _ = having(root, "node")
    assert first.get("class") == "node shape-cylinder tone-accent"
    assert first.get("data-id") == "in"
    assert first[0].text == "a queue"
    assert second[0].text == "check"


def test_edges_have_a_line_an_arrowhead_and_a_tooltip() -> None:
    edges = having(parsed(SMALL), "edge")
    assert [edge.get("class") for edge in edges] == ["edge line-solid", "edge line-danger", "edge line-dotted"]
    assert [edge[0].text for edge in edges] == ["orders → check", "when it fails", "check → check"]
    assert all(len(having(edge, "arrow")) == 1 and len(having(edge, "course")) == 1 for edge in edges)


def test_an_edge_without_a_bend_is_a_line() -> None:
    course = having(having(parsed(SMALL), "edge")[0], "course")[0].get("d", "")
    assert re.fullmatch(r"M[\d.]+,[\d.]+H[\d.]+", course)


def test_captions_lie_on_a_backing_above_everything_else() -> None:
    root = parsed(SMALL)
    assert texts(root, "caption") == ["on error"]
    order = [each.get("class", "").split()[0] for each in root.iter() if each.get("class")]
    assert order.index("backing") > max(at for at, name in enumerate(order) if name in {"node", "edge"})


def test_the_legend_shows_each_line_once_and_only_if_there_is_one() -> None:
    root = parsed(SMALL)
    assert texts(root, "entry") == ["message", "failure"]
    samples = having(root, "legend")[0]
    assert [sample.get("class") for sample in samples] == ["line-solid", "line-danger"]
    bare = Graph(title="", nodes=SMALL.nodes, edges=SMALL.edges)
    assert not having(parsed(bare), "legend")
    assert not having(parsed(bare), "title")


def test_a_long_legend_and_a_long_title_stay_on_the_page() -> None:
    legend = tuple((line, "a rather long explanation of this line") for line in Line)
    root = parsed(Graph(title="A title " * 20, nodes=SMALL.nodes, edges=(), legend=legend))
    wide, high = float(root.get("width", "")), float(root.get("height", ""))
    assert len(having(root, "title")) > 1
    entries = having(root, "entry")
    places = [(float(each.get("x", "")), float(each.get("y", ""))) for each in entries]
    assert len(set(places)) == len(places)
    assert all(x + 200 < wide for x, _ in places)
    shift = float(having(root, "legend")[0].get("transform", "").split()[1].rstrip(")"))
    assert shift + max(y for _, y in places) < high


def test_title_picture_and_legend_stand_one_below_the_other() -> None:
    root = parsed(SMALL)
    title = float(having(root, "title")[0].get("y", ""))
    names = {each.text: (float(each.get("x", "")), float(each.get("y", ""))) for each in having(root, "label")}
    rule = float(having(root, "hairline")[0].get("y1", ""))
    assert all(title + 30 < y < rule - 30 for _, y in names.values())
    assert 36 < names["orders"][0] < names["check"][0] < names["mail"][0] < float(root.get("width", "")) - 36


def test_the_style_is_embedded_and_knows_the_dark() -> None:
    style = parsed(SMALL).find(f"{NAMESPACE}style")
    assert style is not None
    css = style.text or ""
    light, dark = css.split("@media (prefers-color-scheme:dark)")
    assert LIGHT.paper in light
    assert DARK.paper in dark
    assert DARK.tones[Tone.DANGER].ink in dark
    assert all(f".tone-{tone.value} path" in css for tone in Tone)
    assert all(f".line-{line.value} .course" in css for line in Line)
    selectors = re.findall(r"(?:^|[{}])([^{}@]+)\{", css)
    assert selectors
    assert all(each.strip().startswith(".demaq-drawing") for s in selectors for each in s.split(","))


def test_nothing_is_fetched_from_elsewhere() -> None:
    svg = to_svg(SMALL).replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|url\(|@import|href|<script", svg)


@pytest.mark.parametrize("shape", Shape)
def test_every_shape_has_a_figure_of_its_own(shape: Shape) -> None:
    root = parsed(Graph(title="", nodes=(Node(id="n", label="n", shape=shape),), edges=()))
    paths = [each.get("d", "") for each in having(root, "node")[0] if each.tag == f"{NAMESPACE}path"]
    assert paths
    assert not any("--" in path or "nan" in path or "e-" in path for path in paths)
    distinct = {
        to_svg(Graph(title="", nodes=(Node(id="n", label="n", shape=each),), edges=())).split('<g class="node')[1]
        for each in Shape
    }
    assert len(distinct) == len(Shape)


def test_an_empty_graph_is_a_valid_picture() -> None:
    root = parsed(Graph(title="Nothing", nodes=(), edges=()))
    assert not having(root, "node")
    assert float(root.get("width", "")) > 0


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_names_are_only_text(hostile: str) -> None:
    nodes = (Node(id=hostile, label=hostile, note=hostile, tooltip=hostile), Node(id="b", label="b"))
    edges = (Edge(source=hostile, target="b", label=hostile, tooltip=hostile),)
    svg = to_svg(Graph(title=hostile, nodes=nodes, edges=edges, legend=((Line.SOLID, hostile),)))
    root = etree.fromstring(svg.encode(), etree.XMLParser(resolve_entities=False))
    allowed = {"svg", "title", "desc", "style", "rect", "text", "g", "path", "line"}
    assert {etree.QName(each).localname for each in root.iter()} <= allowed
    assert not [name for each in root.iter() for name in each.attrib if name.startswith("on")]


@settings(deadline=None)
@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_any_text_gives_well_formed_xml(label: str, note: str, title: str) -> None:
    nodes = (Node(id="a", label=label, note=note), Node(id=label + "b", label=note))
    edges = (Edge(source="a", target=label + "b", label=title),)
    root = parsed(Graph(title=title, nodes=nodes, edges=edges))
    assert len(having(root, "node")) == 2


def test_the_same_graph_gives_the_same_picture_in_every_process() -> None:
    """Hash seeds differ between processes; an order taken from a set of strings would show."""
    program = (
        "import random\n"
        "from demaq.drawing import *\n"
        "chance = random.Random(3)\n"
        "ids = [f'node {n}' for n in range(40)]\n"
        "edges = tuple(Edge(source=chance.choice(ids), target=chance.choice(ids)) for _ in range(70))\n"
        "print(to_svg(Graph(title='', nodes=tuple(Node(id=id, label=id) for id in ids), edges=edges)))\n"
    )
    source = str(Path(demaq.drawing.__file__).parents[2])
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": source},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    ]
    assert outputs[0].startswith(b"<svg")
    assert all(one == other for one, other in pairwise(outputs))
