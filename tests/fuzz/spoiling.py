"""Documents that are made wrong: as text, as XML, and as bytes."""

import copy
from collections.abc import Callable, Sequence
from random import Random

from lxml import etree

from property.mutating import mutate

_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_ENCODINGS = ("utf-8", "utf-8", "utf-8", "utf-16", "utf-16-be", "utf-32", "latin-1", "utf-7", "cp037")
_BEFORE = (
    '<?xml version="1.0"?>',
    '<?xml version="1.1"?>',
    '<?xml version="1.0" encoding="utf-16"?>',
    '<?xml version="1.0" encoding="rot13"?>',
    '<?xml version="1.0" encoding="idna"?>',
    '<?xml version="1.0" encoding=""?>',
    "<!DOCTYPE a>",
    '<!DOCTYPE a [<!ENTITY x "y">]>',
    '<!DOCTYPE a SYSTEM "file:///etc/passwd">',
    '<!DOCTYPE l [<!ENTITY a "aa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>',
    "<?p?>",
    "<!-- -- -->",
    "\ufeff",
    "\n \t",
    "]]>",
)
_TEXTS = (
    "",
    " ",
    "0",
    "-1",
    "9" * 30,
    "NaN",
    "true",
    "\u0085",
    "é",
    "\U0001f600",
    "]]",
    "w:ask",
    "x" * 70_000,
    "urn:a b",
)
_NAMES = ("a", "order", "Envelope", "Header", "Body", "Fault", "Sequence", "é", "x" * 300, "xml-stylesheet")
_SPACES = (None, "", "urn:other", "http://www.w3.org/XML/1998/namespace", _XSI, "urn:a b")


def spoiled(chance: Random, text: str, others: Sequence[str]) -> bytes:
    """A document that is wrong in some way, or in none."""
    way = chance.random()
    if way < 0.1:
        return text.encode()
    if way < 0.5:
        text = _spoiled_tree(chance, text, others)
    elif way < 0.9:
        text = mutate(chance, text, others)
    else:
        text = chance.choice(_BEFORE) + text
    data = text.encode(chance.choice(_ENCODINGS) if chance.random() < 0.1 else "utf-8", "replace")
    return spoiled_bytes(chance, data) if chance.random() < 0.15 else data


def spoiled_bytes(chance: Random, data: bytes) -> bytes:
    """Bits are turned, bytes go missing or come in, or two pieces change places."""
    found = bytearray(data or b"\0")
    for _ in range(chance.choice((1, 1, 2, 8))):
        place = chance.randrange(len(found))
        way = chance.randrange(5)
        if way == 0:
            found[place] ^= 1 << chance.randrange(8)
        elif way == 1:
            found[place : place + 1] = chance.randbytes(chance.choice((1, 2, 30)))
        elif way == 2:
            del found[place : place + chance.choice((1, 1, 40))]
        elif way == 3:
            found = found[place:] + found[:place]
        else:
            found[place:place] = found[place : place + 60] * chance.choice((1, 1, 50))
        found = found or bytearray(b"\0")
    return bytes(found)


Change = Callable[[Random, "etree._Element", "etree._Element"], None]


def _spoiled_tree(chance: Random, text: str, others: Sequence[str]) -> str:
    """Well-formed, but for namespaces perhaps, and not what it was."""
    root = etree.fromstring(text.encode())
    for _ in range(chance.choice((1, 1, 2, 4))):
        place = chance.choice(list(root.iter("*")))
        given = chance.choice(list(etree.fromstring(chance.choice(others).encode()).iter("*")))
        chance.choice(_CHANGES)(chance, place, given)
    return str(etree.tostring(root, encoding="unicode"))


def _removed(_chance: Random, place: "etree._Element", _given: "etree._Element") -> None:
    parent = place.getparent()
    if parent is not None:
        parent.remove(place)


def _doubled(chance: Random, place: "etree._Element", _given: "etree._Element") -> None:
    parent = place.getparent()
    if parent is not None:
        for _ in range(chance.choice((1, 1, 1, 300))):
            parent.append(copy.deepcopy(place))


def _renamed(chance: Random, place: "etree._Element", _given: "etree._Element") -> None:
    space = chance.choice((etree.QName(place).namespace, *_SPACES))
    place.tag = f"{{{space}}}{chance.choice(_NAMES)}" if space and " " not in space else chance.choice(_NAMES)


def _filled(chance: Random, place: "etree._Element", _given: "etree._Element") -> None:
    place.text = chance.choice(_TEXTS)


def _attributed(chance: Random, place: "etree._Element", _given: "etree._Element") -> None:
    names = (
        *place.attrib,
        "id",
        f"{{{_XSI}}}type",
        f"{{{_XSI}}}nil",
        f"{{{place.nsmap.get('s', 'urn:x')}}}mustUnderstand",
    )
    place.set(chance.choice(names), chance.choice((*_TEXTS[:-2], "1")))


def _bare(_chance: Random, place: "etree._Element", _given: "etree._Element") -> None:
    place.attrib.clear()


def _joined(_chance: Random, place: "etree._Element", given: "etree._Element") -> None:
    place.append(given)


def _nested(chance: Random, place: "etree._Element", _given: "etree._Element") -> None:
    for _ in range(chance.choice((2, 80, 95, 400))):
        place = etree.SubElement(place, place.tag)


def _commented(chance: Random, place: "etree._Element", _given: "etree._Element") -> None:
    place.insert(0, chance.choice((etree.Comment("c"), etree.ProcessingInstruction("p", "q"))))


_CHANGES: tuple[Change, ...] = (
    *(_removed, _doubled, _renamed, _filled, _filled, _attributed, _bare, _joined, _nested, _commented),
)
