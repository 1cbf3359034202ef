"""XML: elements that are called like a relation are facts of it; children and attributes are their parameters."""

import re
from collections.abc import Iterator, Mapping

from lxml import etree

from demaq.pipelines.documents.conversion import NoValue
from demaq.pipelines.documents.shapes import Collector, Found, Shape
from demaq.pipelines.values import Value

_DOCTYPE = re.compile(rb"\s*(?:<\?.*?\?>|<!--.*?-->|\s)*<!DOCTYPE", re.DOTALL)
_DEEPEST = 100
_SEVERAL = NoValue("there are several elements")
_NESTED = NoValue("there is an element with others inside")


def read_xml(document: str | bytes, shapes: tuple[Shape, ...], _options: Mapping[str, Value]) -> Found:
    """If there is one relation, and no element is called like it, the children of the root are its facts."""
    data = document.encode("utf-8") if isinstance(document, str) else document
    if _DOCTYPE.match(data.removeprefix(b"\xef\xbb\xbf")):
        return Found.broken("document types are not allowed")
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,  # which would cut text in two
        remove_pis=True,
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        line = error.position[0] if error.position else None
        return Found.broken(f"it is no well-formed XML: {' '.join(str(error.msg).split())}", line)
    collector = Collector(shapes)
    _look(root, collector, None, 1)
    if not collector.found.facts and not collector.found.problems and collector.is_single:
        for child in _children(root):
            if len(child) or child.attrib:
                _fact(collector.first, child, collector, None, 1)
    return collector.found


def _name(element: "etree._Element") -> str:
    return str(etree.QName(element).localname)


def _children(element: "etree._Element") -> Iterator["etree._Element"]:
    return (child for child in element if isinstance(child.tag, str))


def _look(element: "etree._Element", collector: Collector, parent: int | None, depth: int) -> None:
    if depth > _DEEPEST:
        collector.problem(f"elements are nested more than {_DEEPEST} deep", element.sourceline)
        return
    shape = collector.shape(_name(element))
    if shape is not None and (len(element) or element.attrib or len(shape.names) == 1):
        _fact(shape, element, collector, parent, depth)
    else:
        for child in _children(element):
            _look(child, collector, parent, depth + 1)


def _fact(shape: Shape, element: "etree._Element", collector: Collector, parent: int | None, depth: int) -> None:
    attributes = {str(etree.QName(name).localname): value for name, value in element.attrib.items()}
    children: dict[str, str | NoValue] = {}
    inner = []
    for child in _children(element):
        name = _name(child)
        is_value = name in shape.names and not (len(child) and collector.shape(name))
        if is_value:
            children[name] = _SEVERAL if name in children else _value(child)
        if len(child) or not is_value:
            inner.append(child)
    values = {**children, **attributes}
    if not values and not inner and len(shape.names) == 1:
        values[shape.names[0]] = element.text or ""
    number = collector.add(shape, values, parent, line=element.sourceline)
    for child in inner:
        _look(child, collector, number, depth + 1)


def _value(child: "etree._Element") -> str | NoValue:
    return _NESTED if len(child) else child.text or ""
