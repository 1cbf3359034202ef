"""XML: elements that are called like a relation are facts of it; children and attributes are their parameters."""

import codecs
import re
from collections.abc import Iterator, Mapping

from lxml import etree

from demaq.pipelines.documents.conversion import NoValue
from demaq.pipelines.documents.shapes import Collector, Found, Shape
from demaq.pipelines.values import Value

_BEFORE_ROOT = re.compile(rb"(?:[ \t\r\n]+|<!--.*?-->|<\?.*?\?>)*", re.DOTALL)  # nothing behind it, to try again for
_DOCTYPE, _REFUSED = b"<!DOCTYPE", "document types are not allowed"
_DEEPEST = 100
_SEVERAL = NoValue("there are several elements")
_NESTED = NoValue("there is an element with others inside")


def read_xml(document: str | bytes, shapes: tuple[Shape, ...], _options: Mapping[str, Value]) -> Found:
    """If there is one relation, and no element is called like it, the children of the root are its facts."""
    data = document.encode("utf-8") if isinstance(document, str) else document
    if _has_type(data.removeprefix(codecs.BOM_UTF8)):
        return Found.broken(_REFUSED)
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
    if root.getroottree().docinfo.internalDTD is not None:  # of a document that is not in an encoding like ASCII
        return Found.broken(_REFUSED)
    collector = Collector(shapes)
    _look(root, collector, None, 1)
    if not collector.found.facts and not collector.found.problems and collector.is_single:
        for child in _children(root):
            if len(child) or child.attrib:
                _fact(collector.first, child, collector, None, 1)
    return collector.found


def _has_type(data: bytes) -> bool:
    """Is there a document type? It is looked for before the parser sees it, and what it may declare."""
    before = _BEFORE_ROOT.match(data)
    return before is not None and data.startswith(_DOCTYPE, before.end())


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
