"""Whether a message is the one that was expected."""

import difflib
from collections.abc import Iterator

from lxml import etree

from demaq.testing.reading import read_xml

ANYTHING = "…"
"""Stands in an expected message for any text, and as the only content of an element for any content."""


def matches(expected: str, actual: str) -> bool:
    """Are two messages the same, but for white space between elements and the order of attributes?

    >>> matches("<a y='2' x='1'> <b>…</b> </a>", "<a x='1' y='2'><b>text</b></a>")
    True
    """
    return _matches(read_xml(expected).root, read_xml(actual).root)


def _matches(expected: "etree._Element", actual: "etree._Element") -> bool:
    if expected.tag != actual.tag or set(expected.attrib) != set(actual.attrib):
        return False
    if not all(_text_matches(value, actual.get(name)) for name, value in expected.attrib.items()):
        return False
    wanted, found = list(_content(expected)), list(_content(actual))
    if wanted == [ANYTHING]:
        return True
    return len(wanted) == len(found) and all(_part_matches(*pair) for pair in zip(wanted, found, strict=True))


def _part_matches(expected: object, actual: object) -> bool:
    if isinstance(expected, str) or isinstance(actual, str):
        return isinstance(expected, str) and isinstance(actual, str) and _text_matches(expected, actual)
    return _matches(expected, actual)


def _text_matches(expected: str, actual: str | None) -> bool:
    return actual is not None and (expected.strip() == ANYTHING or expected == actual)


def _content(element: "etree._Element") -> Iterator[object]:
    """Text and elements, without what is only white space, comments and processing instructions."""
    text = element.text or ""
    for child in element:
        if isinstance(child.tag, str):
            if text.strip():
                yield text.strip()
            text = ""
            yield child
        text += child.tail or ""
    if text.strip():
        yield text.strip()


def shown(body: str) -> list[str]:
    """A message in lines, one element each."""
    root = etree.fromstring(read_xml(body).text, etree.XMLParser(remove_blank_text=True, huge_tree=True))
    etree.indent(root)
    return str(etree.tostring(root, encoding="unicode")).splitlines()


def difference(expected: list[str], actual: list[str]) -> str:
    """What was expected and what came, as a reader of patches knows it."""
    wanted = [line for body in expected for line in (*shown(body), "")]
    came = [line for body in actual for line in (*shown(body), "")]
    lines = difflib.unified_diff(wanted, came, "expected", "came", lineterm="", n=3)
    return "\n".join(lines)
