"""The bytes that are signed, compared with those that others sign."""

import base64
import hashlib
from random import Random
from threading import Thread
from xml.etree.ElementTree import canonicalize

import pytest
from lxml import etree

from demaq.gateways.secure.canonical import canonical
from demaq.gateways.secure.faults import Problem
from demaq.gateways.secure.names import EXCLUSIVE, ds
from gateways.secure.letters import refused
from gateways.secure.others import xmlsec
from gateways.secure.people import ada

TEXTS = [
    "",
    " ",
    "\n",
    "text",
    "a&amp;b",
    "&lt;x&gt;",
    "&#13;",
    "<!-- comment -->",
    "<?pi data?>",
    "<![CDATA[<c>]]>",
    "é",
]
VALUES = ["", "v", "a:b", "&quot;", "&#10;&#9;", "&lt;&amp;", "é"]


def document(chance: Random, prefixes: dict[str, str], depth: int = 0, *, is_wild: bool = True) -> str:
    """Any element, with declarations that are used, used elsewhere, or not used at all. If it is wild, prefixes stand
    for this here and for that there."""
    chosen = [prefix for prefix in ("", "a", "b", "c") if chance.random() < 0.35 - depth / 20]
    declared = {prefix: f"urn:{chance.choice('xyz') if is_wild else prefix}" for prefix in chosen}
    if is_wild and "" in declared and chance.random() < 0.3:
        declared[""] = ""
    known = {**prefixes, **declared}
    usable = [prefix for prefix in known if prefix]
    prefix = chance.choice(["", *usable])
    name = f"{prefix}:n" if prefix else "n"
    attributes: dict[str, str] = {}
    taken = set()
    for local in ("p", "q", "r"):
        space = chance.choice(["", *usable])
        if chance.random() < 0.5 and (key := (known.get(space) if space else "", local)) not in taken:
            taken.add(key)
            attributes[f"{space}:{local}" if space else local] = chance.choice(VALUES)
    names = {f"xmlns:{each}" if each else "xmlns": uri for each, uri in declared.items()} | attributes
    written = "".join(f' {each}="{value}"' for each, value in names.items())
    inside = "".join(
        chance.choice(TEXTS) + (document(chance, known, depth + 1, is_wild=is_wild) if depth < 4 else "")
        for _ in range(chance.randrange(3))
    )
    return f"<{name}{written}>{inside}{chance.choice(TEXTS)}</{name}>"


def digest_by_xmlsec(root: "etree._Element", target: "etree._Element", prefixes: tuple[str, ...]) -> str:
    signature = xmlsec.template.create(root, xmlsec.Transform.EXCL_C14N, xmlsec.Transform.RSA_SHA256, ns="ds")
    root.append(signature)
    target.set("Id", "target")
    reference = xmlsec.template.add_reference(signature, xmlsec.Transform.SHA256, uri="#target")
    transform = xmlsec.template.add_transform(reference, xmlsec.Transform.EXCL_C14N)
    if prefixes:
        etree.SubElement(transform, f"{{{EXCLUSIVE}}}InclusiveNamespaces").set("PrefixList", " ".join(prefixes))
    context = xmlsec.SignatureContext()
    context.key = xmlsec.Key.from_memory(ada().key_pem, xmlsec.KeyFormat.PEM)
    context.register_id(target, "Id")
    context.sign(signature)
    found = str(signature.findtext(f".//{ds('DigestValue')}"))
    root.remove(signature)
    return "".join(found.split())


@pytest.mark.parametrize("seed", range(150))
def test_any_element_in_any_document(seed: int) -> None:
    chance = Random(seed)
    root = etree.fromstring(
        f'<top xmlns:a="urn:x" xmlns:b="urn:x" xmlns="urn:y">{document(chance, {"a": "urn:x"})}</top>'
    )
    target = chance.choice(list(root.iter("*"))[1:])
    every = ["a", "b", "c", "#default", "unknown"]
    prefixes = tuple(chance.sample(every, chance.randrange(len(every)))) if chance.random() < 0.6 else ()
    right = digest_by_xmlsec(root, target, prefixes)
    assert base64.b64encode(hashlib.sha256(canonical(target, prefixes)).digest()).decode() == right


@pytest.mark.parametrize("seed", range(150))
def test_as_the_standard_library_has_it(seed: int) -> None:
    """Which knows the second version of canonical XML: without two prefixes for one namespace, they are the same."""
    text = document(Random(seed), {}, is_wild=False)
    assert canonical(etree.fromstring(text)).decode() == canonicalize(text)


def test_prefixes_of_another_thread() -> None:
    """A message may be read by one thread and checked by another."""
    found = []
    thread = Thread(target=lambda: found.append(etree.fromstring('<e xmlns:once="urn:o"><b t="once:x"/></e>')))
    thread.start()
    thread.join()
    assert canonical(found[0][0], ("once",)) == b'<b xmlns:once="urn:o" t="once:x"></b>'


def test_prefixes_of_elements_that_were_made() -> None:
    root = etree.Element("e", nsmap={"made": "urn:m"})
    assert canonical(etree.SubElement(root, "b"), ("made",)) == b'<b xmlns:made="urn:m"></b>'


def test_the_namespace_without_a_prefix() -> None:
    root = etree.fromstring('<e xmlns="urn:d"><p:b xmlns:p="urn:p"><c/></p:b></e>')
    assert canonical(root[0]) == b'<p:b xmlns:p="urn:p"><c xmlns="urn:d"></c></p:b>'
    assert canonical(root[0], ("#default",)) == b'<p:b xmlns="urn:d" xmlns:p="urn:p"><c></c></p:b>'


def test_what_has_no_canonical_form() -> None:
    root = etree.fromstring('<e xmlns="relative"/>')
    for prefixes in ((), ("#default",)):
        with refused(Problem.INVALID, "absolute URIs"):
            canonical(root, prefixes)


def test_what_is_after_an_element_is_not_in_it() -> None:
    root = etree.fromstring("<e><b/>after</e>")
    assert canonical(root[0]) == canonical(root[0], ("p",)) == b"<b></b>"
