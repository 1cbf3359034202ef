"""Exclusive canonical XML: the bytes that are signed."""

from lxml import etree

from demaq.gateways.secure.elements import algorithm_of, local, only, unsupported
from demaq.gateways.secure.faults import Problem, SecurityFault
from demaq.gateways.secure.names import EXCLUSIVE

INCLUSIVE_NAMESPACES = f"{{{EXCLUSIVE}}}InclusiveNamespaces"
PREFIXES = 50  # that a list can have: all of them are looked for at each element
_DEFAULT = "#default"


def canonical(element: "etree._Element", prefixes: tuple[str, ...] = ()) -> bytes:
    """An element without its comments, and with those of its namespaces that its names use, or that are listed."""
    try:
        found = _read_again(element) if prefixes else element
        return bytes(
            etree.tostring(
                found,
                method="c14n",
                exclusive=True,
                with_comments=False,
                inclusive_ns_prefixes=list(prefixes) or None,
            )
        )
    except (etree.LxmlError, ValueError) as error:
        raise SecurityFault(
            Problem.INVALID, f"{local(element)} has no canonical form: are its namespaces absolute URIs?"
        ) from error


def _read_again(element: "etree._Element") -> "etree._Element":
    # lxml looks for listed prefixes among the names that this thread has read, and leaves the others out without a
    # word: those of elements that were made or were read by another thread, and `#default`, which is no name.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    etree.fromstring(f'<_ xmlns:_="{_DEFAULT}"/>', parser)
    return etree.fromstring(etree.tostring(element, with_tail=False, encoding="unicode"), parser)


def read_method(element: "etree._Element") -> tuple[str, ...]:
    """The prefixes that a method lists, which must be exclusive canonical XML without comments."""
    if algorithm_of(element) != EXCLUSIVE:
        raise unsupported(element, f"{EXCLUSIVE} alone")
    listed = only(element, INCLUSIVE_NAMESPACES)
    prefixes = () if listed is None else tuple(listed.get("PrefixList", "").split())
    if len(prefixes) > PREFIXES:
        raise SecurityFault(Problem.INVALID, f"a list of prefixes has {len(prefixes)}: there can be {PREFIXES}")
    return prefixes


def method(parent: "etree._Element", name: str, prefixes: tuple[str, ...] = ()) -> None:
    """Name exclusive canonical XML in an element of this name."""
    made = etree.SubElement(parent, name, Algorithm=EXCLUSIVE)
    if prefixes:
        listed = etree.SubElement(made, INCLUSIVE_NAMESPACES, nsmap={"ec": EXCLUSIVE})
        listed.set("PrefixList", " ".join(prefixes))
