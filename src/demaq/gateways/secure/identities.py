"""Ids: by which a signature names what it is of."""

from collections import Counter
from uuid import uuid4

from lxml import etree

from demaq.gateways.secure.names import DS, XENC, wsu

WSU_ID = wsu("Id")
_ALL = (WSU_ID, "{http://www.w3.org/XML/1998/namespace}id", "Id", "ID")  # what anybody takes for an Id
_OWN = (DS, XENC)  # in whose elements `Id` is an Id


def count_ids(root: "etree._Element") -> Counter[str]:
    """How many elements of a document have each Id, by whichever attribute."""
    return Counter(value for element in root.iter("*") for name in _ALL if (value := element.get(name)) is not None)


def id_of(element: "etree._Element") -> str | None:
    found = element.get(WSU_ID)
    if found is None and etree.QName(element).namespace in _OWN:
        found = element.get("Id")
    return None if found is None else str(found)


def new_id(kind: str) -> str:
    return f"{kind}-{uuid4()}"


def with_id(element: "etree._Element") -> str:
    """The Id of an element, which gets one if it has none."""
    if element.get(WSU_ID) is None:
        element.set(WSU_ID, new_id("id"))
    return str(element.get(WSU_ID))
