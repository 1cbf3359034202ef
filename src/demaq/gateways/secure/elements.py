"""Reading elements of which everything may be wrong: what is not as it should be is a fault."""

import base64
import binascii

from lxml import etree

from demaq.gateways.secure.faults import Problem, SecurityFault


def local(name: "str | etree._Element") -> str:
    return str(etree.QName(name).localname)


def only(parent: "etree._Element", name: str) -> "etree._Element | None":
    """The child of a name, of which there must not be several."""
    found = list(parent.iterchildren(name))
    if len(found) > 1:
        raise SecurityFault(Problem.INVALID, f"{local(parent)} has several elements {local(name)}: there can be one")
    return found[0] if found else None


def needed(parent: "etree._Element", name: str) -> "etree._Element":
    """The child of a name, of which there must be one."""
    found = only(parent, name)
    if found is None:
        raise SecurityFault(Problem.INVALID, f"{local(parent)} has no element {local(name)}")
    return found


def text_of(element: "etree._Element") -> str:
    """What an element says. A comment in it is a fault: no signature covers it, and some read no further than it."""
    if len(element):
        raise SecurityFault(Problem.INVALID, f"{local(element)} has something else in it than text")
    return (element.text or "").strip()


def bytes_of(element: "etree._Element") -> bytes:
    """What an element has in base 64."""
    try:
        return base64.b64decode("".join(text_of(element).split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise SecurityFault(Problem.INVALID, f"what {local(element)} has is not in base 64") from error


def base64_text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def algorithm_of(element: "etree._Element") -> str:
    return str(element.get("Algorithm", ""))


def unsupported(element: "etree._Element", known: str) -> SecurityFault:
    """An algorithm is not taken; `known` says which ones are."""
    name = algorithm_of(element) or "no algorithm"
    return SecurityFault(Problem.UNSUPPORTED_ALGORITHM, f"{local(element)} names {name}: we take {known}")
