"""By what two messages that come with the same key are told apart."""

import pytest
from lxml import etree

from demaq.gateways.fingerprints import fingerprint, fingerprint_of_element, fingerprint_of_text


def test_parts_are_not_confused() -> None:
    assert fingerprint("ab", "c") != fingerprint("a", "bc")
    assert fingerprint("é") == fingerprint("é".encode())
    assert fingerprint("\udc80") != fingerprint("")


def test_lines_end_as_they_like() -> None:
    assert fingerprint_of_text(b"<a>\r\n</a>\r\n") == fingerprint_of_text("<a>\n</a>")
    assert fingerprint_of_text("<a/>") != fingerprint_of_text("<b/>")


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        ('<f xmlns:new="urn:n"><b:x xmlns:b="urn:b" c="1"><y></y></b:x></f>', True),
        ('<f><b:x xmlns:b="urn:b" c="1"><y/></b:x> tail</f>', True),
        ('<f><b:x xmlns:b="urn:b" c="2"><y/></b:x></f>', False),
        ('<f><b:x xmlns:b="urn:other" c="1"><y/></b:x></f>', False),
    ],
)
def test_an_element_is_the_same_in_whatever_is_around_it(other: str, is_same: bool) -> None:
    one = etree.fromstring("<e xmlns:b=\"urn:b\"><b:x c='1'><y/></b:x></e>")[0]
    assert (fingerprint_of_element(one) == fingerprint_of_element(etree.fromstring(other)[0])) is is_same


def test_namespaces_that_are_no_whole_uris() -> None:
    one, other = (etree.fromstring(f'<e xmlns:u="unused"><x xmlns="part">{n}</x></e>')[0] for n in (1, 2))
    assert fingerprint_of_element(one) == fingerprint_of_element(one)
    assert fingerprint_of_element(one) != fingerprint_of_element(other)
