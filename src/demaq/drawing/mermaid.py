"""A graph as a Mermaid flowchart.

No name reaches Mermaid's grammar: nodes are numbered, and every character of a label that is not harmless
in all of Mermaid's passes (directives, comments, entities) is written as an entity code. What is left is
Markdown: Mermaid 11 looks for it even in plain labels, after decoding them, and draws an error in place of
a list or a link. Marks that would be taken for it are kept apart by an invisible character or replaced by
their like.
"""

import re
from collections.abc import Iterator

from demaq.drawing.graph import Graph, Line, Node, Shape, Tone
from demaq.drawing.palette import LIGHT
from demaq.drawing.shapes import ICONS
from demaq.drawing.text import clean

# Shapes that every version of Mermaid knows, as near to ours as they come.
_BRACKETS = {
    Shape.BOX: ("[", "]"),
    Shape.ROUNDED: ("(", ")"),
    Shape.CYLINDER: ("[(", ")]"),
    Shape.INLET: (">", "]"),
    Shape.OUTLET: ("[/", "/]"),
    Shape.CLOCK: ("([", "])"),
    Shape.STACK: ("[[", "]]"),
    Shape.HEXAGON: ("{{", "}}"),
    Shape.PAGE: ("[/", "\\]"),
    **dict.fromkeys(ICONS, ("[", "]")),
}

# What shapes that Mermaid does not have begin their labels with.
_MARKS = {
    Shape.CLOCK: "⏱ ",
    Shape.ENDPOINT: "⇥ ",
    Shape.MESSAGE_FILTER: "▽ ",
    Shape.CONTENT_FILTER: "▷ ",
    Shape.TRANSLATOR: "⋈ ",
    Shape.ENRICHER: "◁ ",
    Shape.ROUTER: "↗ ",
    Shape.MULTICAST: "⇶ ",
    Shape.JOIN_ROUTER: "⇒ ",
    Shape.AGGREGATOR: "⊞ ",
    Shape.SPLITTER: "⊟ ",
}

_ARROWS = {
    Line.SOLID: "-->",
    Line.DASHED: "-.->",
    Line.DOTTED: "-.->",
    Line.DANGER: "-.->",
    Line.MUTED: "-->",
}

_LINK_STYLES = {
    Line.DOTTED: "stroke-dasharray:2 5",
    Line.DANGER: f"stroke:{LIGHT.lines[Line.DANGER]},stroke-width:1px,stroke-dasharray:5 4",
    Line.MUTED: f"stroke:{LIGHT.lines[Line.MUTED]}",
}

# Letters and digits of any script, spaces and a few marks are left as they are. The last three are what Mermaid
# itself puts in place of entities before it parses.
_HOSTILE = re.compile(r"[^\w ,()/\-+=!?'.→…–—]|[\ufb02°¶]")

_WORD_JOINER = "\N{WORD JOINER}"
_LIKES = str.maketrans(
    {"`": "\N{MODIFIER LETTER GRAVE ACCENT}", "~": "\N{TILDE OPERATOR}", "*": "\N{ASTERISK OPERATOR}"}
)
_MARKDOWN = re.compile(
    r"^(?=[\d\-+#>=])"  # lists, headings, quotations
    r"|(?<=:)(?=//)|(?<=www)(?=\.)|(?<=@)|(?<=\])(?=\()"  # links
    r"|(?<!\w)(?=_)|(?<=_)(?!\w)"  # emphasis
    r"|(?<=\$)(?=\$)|(?<=\\)"  # formulas, escapes
)


def to_mermaid(graph: Graph) -> str:
    """The graph as a flowchart from left to right."""
    return "\n".join([*_front_matter(graph.title), "flowchart LR", *(f"    {line}" for line in _body(graph))]) + "\n"


def _front_matter(title: str) -> Iterator[str]:
    """The title, as a YAML string in which only harmless characters are not escaped."""
    words = " ".join(clean(title).split())
    if words:
        yield "---"
        yield f'title: "{_HOSTILE.sub(_yaml_escape, words)}"'
        yield "---"


def _yaml_escape(match: re.Match[str]) -> str:
    return f"\\U{ord(match.group()):08x}"


def _body(graph: Graph) -> Iterator[str]:
    names = {node.id: f"n{at}" for at, node in enumerate(graph.nodes)}
    for node in graph.nodes:
        yield f"{names[node.id]}{_shape(node)}:::{node.tone.value}"
    for edge in graph.edges:
        label = _text(edge.label)
        caption = f'|"{label}"|' if label else ""
        yield f"{names[edge.source]} {_ARROWS[edge.line]}{caption} {names[edge.target]}"
    yield from _class_definitions(graph)
    yield from _link_styles(graph)


def _shape(node: Node) -> str:
    opening, closing = _BRACKETS[node.shape]
    label = "<br/>".join(text for text in (_text(node.label), _text(node.note)) if text)
    return f'{opening}"{_MARKS.get(node.shape, "")}{label or " "}"{closing}'


def _text(text: str) -> str:
    lines = (" ".join(line.split()) for line in clean(text).splitlines())
    return "<br/>".join(_HOSTILE.sub(_entity, _unmarked(line)) for line in lines if line)


def _unmarked(line: str) -> str:
    return _MARKDOWN.sub(_WORD_JOINER, line.translate(_LIKES))


def _entity(match: re.Match[str]) -> str:
    return f"#{ord(match.group())};"


def _class_definitions(graph: Graph) -> Iterator[str]:
    used = {node.tone for node in graph.nodes}
    for tone in Tone:
        if tone in used:
            paint = LIGHT.tones[tone]
            yield f"classDef {tone.value} fill:{paint.fill},stroke:{paint.stroke},color:{paint.ink}"


def _link_styles(graph: Graph) -> Iterator[str]:
    for line, style in _LINK_STYLES.items():
        numbers = [str(at) for at, edge in enumerate(graph.edges) if edge.line is line]
        if numbers:
            yield f"linkStyle {','.join(numbers)} {style}"
