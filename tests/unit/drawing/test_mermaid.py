import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from demaq.drawing import Edge, Graph, Line, Node, Shape, Tone, to_mermaid

# One line of each kind that may occur. Quoted text holds harmless characters, entity codes and line breaks only.
TEXT = r"""(?:[\w ,()/\-+=!?'.→…–—⏱⇥▽▷⋈◁↗⇶⇒⊞⊟]|#\d+;|<br/>)+"""
NODE = re.compile(rf'    n\d+(?:\[|\(|\[\(|>|\[/|\(\[|\[\[|\{{\{{)"{TEXT}"[\])/\\}}]{{1,2}}:::[a-z]+')
EDGE = re.compile(rf'    n\d+ (?:-->|-\.->)(?:\|"{TEXT}"\|)? n\d+')
STYLE = re.compile(
    r"    classDef [a-z]+ fill:#[\da-f]{6},stroke:#[\da-f]{6},color:#[\da-f]{6}"
    r"|    linkStyle \d+(?:,\d+)* [a-z\-]+:[#\w ]+(?:,[a-z\-]+:[#\w ]+)*"
)

HOSTILE = [
    '"]; <script>alert(1)</script>',
    "a\nb\r\nc\u2028d",
    "😀 漢字 ß",
    '%%{init: {"theme": "dark"}}%%',
    "#quot; #35; &lt; \ufb02°°35¶ß",
    "style x:y#35;z;",
    "end",
    "",
    " \t ",
    "\x00\ud800",
    "a|b --> c",
    "`**md**`",
    "1. list",
    "http://example.org/_x_",
]


def flat(text: str) -> Graph:
    nodes = tuple(Node(id=f"{text}{at}", label=text, note=text, shape=shape) for at, shape in enumerate(Shape))
    edges = tuple(Edge(source=f"{text}0", target=f"{text}1", line=line, label=text) for line in Line)
    return Graph(title=text, nodes=nodes, edges=edges)


def body(mermaid: str) -> list[str]:
    return mermaid[mermaid.index("flowchart LR\n") :].splitlines()[1:]


def test_a_small_graph_reads_like_this() -> None:
    graph = Graph(
        title="Orders",
        nodes=(
            Node(id="in", label="orders", shape=Shape.CYLINDER, tone=Tone.ACCENT, note="persistent"),
            Node(id="r", label="check", shape=Shape.ROUNDED),
        ),
        edges=(
            Edge(source="in", target="r"),
            Edge(source="r", target="in", line=Line.DANGER, label="on error"),
            Edge(source="r", target="r", line=Line.DASHED),
        ),
    )
    assert to_mermaid(graph) == (
        "---\n"
        'title: "Orders"\n'
        "---\n"
        "flowchart LR\n"
        '    n0[("orders<br/>persistent")]:::accent\n'
        '    n1("check"):::neutral\n'
        "    n0 --> n1\n"
        '    n1 -.->|"on error"| n0\n'
        "    n1 -.-> n1\n"
        "    classDef neutral fill:#f6f7f9,stroke:#b4bdc9,color:#1d2530\n"
        "    classDef accent fill:#edf1fc,stroke:#7d95db,color:#24386f\n"
        "    linkStyle 1 stroke:#c8524c,stroke-width:1px,stroke-dasharray:5 4\n"
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_cannot_leave_its_quotes(text: str) -> None:
    lines = body(to_mermaid(flat(text)))
    assert all(NODE.fullmatch(line) for line in lines[: len(Shape)])
    assert all(EDGE.fullmatch(line) for line in lines[len(Shape) : len(Shape) + len(Line)])
    assert all(STYLE.fullmatch(line) for line in lines[len(Shape) + len(Line) :])


@settings(deadline=None)
@given(st.text(max_size=30))
def test_neither_can_any_other_text(text: str) -> None:
    lines = body(to_mermaid(flat(text)))
    assert len([line for line in lines if NODE.fullmatch(line)]) == len(Shape)
    assert len([line for line in lines if EDGE.fullmatch(line)]) == len(Line)
    assert all(NODE.fullmatch(line) or EDGE.fullmatch(line) or STYLE.fullmatch(line) for line in lines)


@settings(deadline=None)
@given(st.text(max_size=30))
def test_the_title_is_one_quoted_line(title: str) -> None:
    mermaid = to_mermaid(Graph(title=title, nodes=(), edges=()))
    harmless = r"(?:[\w ,()/\-+=!?'.→…–—]|\\U[\da-f]{8})+"
    assert re.fullmatch(rf'(?:---\ntitle: "{harmless}"\n---\n)?flowchart LR\n', mermaid)


@settings(deadline=None)
@given(st.text(max_size=30))
def test_what_mermaid_decodes_is_what_was_meant(label: str) -> None:
    """Up to blanks, unprintable characters, and the three marks that have to be replaced by their like."""
    first = body(to_mermaid(Graph(title="", nodes=(Node(id="n", label=label),), edges=())))[0]
    quoted = first[first.index('"') + 1 : first.rindex('"')]
    decoded = re.sub(r"#(\d+);", lambda match: chr(int(match.group(1))), quoted.replace("<br/>", " "))
    blank = str.maketrans({"\N{WORD JOINER}": None, "`": "ˋ", "~": "∼", "*": "∗"})
    printable = re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", label)
    meant = " ".join(" ".join(line.split()) for line in printable.splitlines())
    assert decoded.translate(blank).split() == meant.translate(blank).split()


@pytest.mark.parametrize("text", ["1. list", "- item", "+ item", "# head", "> quote", "-- x"])
def test_no_line_begins_like_markdown(text: str) -> None:
    graph = Graph(title="", nodes=(Node(id="n", label=text, note=text),), edges=())
    assert body(to_mermaid(graph))[0].count("#8288;") == 2


def test_the_marks_that_mermaid_uses_itself_never_reach_it() -> None:
    assert not set("\ufb02°¶%`;").intersection(re.sub(r"#\d+;", "", to_mermaid(flat("\ufb02°°35¶ß%%{}`;"))))


def test_shapes_and_lines_are_told_apart_as_far_as_mermaid_can() -> None:
    lines = body(to_mermaid(flat("x")))
    brackets = {re.sub(r"n\d+|x|<br/>", "", line) for line in lines[: len(Shape)]}
    assert len(brackets) == len(Shape)
    arrows = [line.split("|")[0].split()[1] for line in lines[len(Shape) : len(Shape) + len(Line)]]
    assert arrows == ["-->", "-.->", "-.->", "-.->", "-->"]
    assert [line.split()[1] for line in lines if "linkStyle" in line] == ["2", "3", "4"]


def test_an_empty_graph_is_an_empty_flowchart() -> None:
    assert to_mermaid(Graph(title="", nodes=(), edges=())) == "flowchart LR\n"
