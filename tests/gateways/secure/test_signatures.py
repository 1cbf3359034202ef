"""Signatures by others, signatures for others, and algorithms that are not taken."""

import base64
import hmac
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding
from lxml import etree

from demaq.gateways.secure.canonical import canonical
from demaq.gateways.secure.elements import base64_text
from demaq.gateways.secure.faults import Problem
from demaq.gateways.secure.names import EXCLUSIVE, SHA1, WSSE, ds, wsse, wsu
from demaq.gateways.secure.nonces import Nonces
from demaq.gateways.secure.policy import SecurityPolicy, SignedParts
from demaq.gateways.secure.timestamps import timestamp
from demaq.gateways.soap.envelope import Version
from gateways.secure.forging import holds_for_others, sign_again
from gateways.secure.letters import PAYLOAD, SIGNED, SPACES, find, parsed, plain, received, refused, sent, written
from gateways.secure.others import signxml, xmlsec, zeep_signature
from gateways.secure.people import NOW, Person, ada, curved, receiver, sender

BODY_ALONE = SecurityPolicy(signed=SignedParts(body=True), has_timestamp=True)
HMAC = "http://www.w3.org/2000/09/xmldsig#hmac-sha1"
MORE = "http://www.w3.org/2001/04/xmldsig-more#"


def files(who: Person, folder: Path) -> tuple[str, str]:
    (folder / "key.pem").write_bytes(who.key_pem)
    (folder / "certificate.pem").write_bytes(who.certificate_pem)
    return str(folder / "key.pem"), str(folder / "certificate.pem")


def by_zeep(kind: str, folder: Path, version: Version = Version.SOAP_11) -> "etree._Element":
    root = plain(version=version)
    security = etree.SubElement(root[0], wsse("Security"))
    security.append(timestamp(NOW, receiver().skew))
    made = getattr(zeep_signature, kind)(
        *files(ada(), folder), None, xmlsec.Transform.RSA_SHA256, xmlsec.Transform.SHA256
    )
    made.apply(root, {})
    return root


# Others


@pytest.mark.parametrize("version", Version)
@pytest.mark.parametrize("kind", ["Signature", "BinarySignature"])
def test_what_zeep_signs(kind: str, version: Version, tmp_path: Path) -> None:
    root = by_zeep(kind, tmp_path, version)
    found = received(root, BODY_ALONE)
    assert found.subject == "CN=ada"
    assert found.envelope.payload is not None
    assert written(found.envelope.payload) == written(etree.fromstring(PAYLOAD))
    with refused(Problem.FAILED_CHECK, "Body is not as it was signed"):
        received(etree.tostring(root).replace(b"twenty", b"thirty"), BODY_ALONE)
    with refused(Problem.INVALID, "MessageID is not signed"):
        received(root, SIGNED)


def test_what_zeep_signs_if_nobody_tells_it_how(tmp_path: Path) -> None:
    root = plain()
    zeep_signature.Signature(*files(ada(), tmp_path)).apply(root, {})
    with refused(Problem.UNSUPPORTED_ALGORITHM, "rsa-sha1"):
        received(root, SecurityPolicy(signed=SignedParts(body=True)))


@pytest.mark.parametrize("version", Version)
def test_zeep_takes_what_we_sign(version: Version, tmp_path: Path) -> None:
    zeep_signature.BinarySignature(*files(ada(), tmp_path)).verify(parsed(sent(SIGNED, version=version)))


@pytest.mark.parametrize("who", [ada, curved])
def test_xmlsec_takes_what_we_sign(who: Callable[[], Person]) -> None:
    data = sent(SIGNED, sender(who()))
    assert holds_for_others(parsed(data), who())
    assert not holds_for_others(parsed(data.replace(b"twenty", b"thirty")), who())
    assert not holds_for_others(parsed(data.replace(b"urn:types", b"urn:forged")), who()), (
        "prefixes in texts are listed"
    )


@pytest.mark.parametrize("who", [ada, curved])
def test_signxml_takes_what_we_sign(who: Callable[[], Person]) -> None:
    root = parsed(sent(SIGNED, sender(who())))
    count = len(list(root.iter(ds("Reference"))))
    found = signxml.XMLVerifier().verify(
        root,
        x509_cert=who().certificate,
        expect_config=signxml.SignatureConfiguration(
            require_x509=False, expect_references=count, location=".//", verification_time=NOW
        ),
        validate_schema=False,
    )
    signed = [etree.QName(each.signed_xml).localname for each in found]
    assert sorted(signed) == sorted(["Body", "MessageID", "To", "Action", "From", "ReplyTo", "Timestamp"])


@pytest.mark.parametrize(
    ("method", "digest"),
    [
        (xmlsec.Transform.RSA_SHA256, xmlsec.Transform.SHA256),
        (xmlsec.Transform.RSA_SHA384, xmlsec.Transform.SHA384),
        (xmlsec.Transform.RSA_SHA512, xmlsec.Transform.SHA512),
    ],
)
def test_algorithms_that_are_taken(method: object, digest: object, tmp_path: Path) -> None:
    root = plain()
    security = etree.SubElement(root[0], wsse("Security"))
    security.append(timestamp(NOW, receiver().skew))
    zeep_signature.BinarySignature(*files(ada(), tmp_path), None, method, digest).apply(root, {})
    assert received(root, BODY_ALONE).subject == "CN=ada"


@pytest.mark.parametrize("prefixes", ["", "soap", "soap wsa x", "#default", "#default soap nowhere"])
@pytest.mark.parametrize("default", ["", "urn:default"])
def test_lists_of_prefixes(prefixes: str, default: str) -> None:
    """As Java writes them, for the references and for what is signed itself."""
    root = plain(spaces={"wsse": WSSE, "y": "urn:y"})
    if default:
        text = etree.tostring(root, encoding="unicode").replace("<soap:Envelope ", f'<soap:Envelope xmlns="{default}" ')
        root = parsed(text.encode())
    security = etree.SubElement(root[0], wsse("Security"))
    signature = xmlsec.template.create(root, xmlsec.Transform.EXCL_C14N, xmlsec.Transform.RSA_SHA256, ns="ds")
    security.append(signature)
    time = timestamp(NOW, receiver().skew)
    security.append(time)
    places = [signature.find(f".//{ds('CanonicalizationMethod')}")]
    for name, element in {"the-body": find(root, "//soap:Body"), "the-time": time}.items():
        element.set(wsu("Id"), name)
        reference = xmlsec.template.add_reference(signature, xmlsec.Transform.SHA256, uri=f"#{name}")
        places.append(xmlsec.template.add_transform(reference, xmlsec.Transform.EXCL_C14N))
    for place in places:
        etree.SubElement(place, f"{{{EXCLUSIVE}}}InclusiveNamespaces").set("PrefixList", prefixes)
    info = xmlsec.template.ensure_key_info(signature)
    xmlsec.template.x509_data_add_certificate(xmlsec.template.add_x509_data(info))
    context = xmlsec.SignatureContext()
    context.key = xmlsec.Key.from_memory(ada().key_pem, xmlsec.KeyFormat.PEM)
    context.key.load_cert_from_memory(ada().certificate_pem, xmlsec.KeyFormat.PEM)
    for element in (find(root, "//soap:Body"), time):
        context.register_id(element, "Id", SPACES["wsu"])
    context.sign(signature)
    assert received(root, SecurityPolicy(signed=SignedParts(body=True))).subject == "CN=ada"


def test_a_list_of_very_many_prefixes() -> None:
    root = parsed(sent(SIGNED))
    listed = next(root.iter(f"{{{EXCLUSIVE}}}InclusiveNamespaces"))
    assert listed.get("PrefixList") == "x"
    listed.set("PrefixList", " ".join(f"p{number}" for number in range(51)))
    with refused(Problem.INVALID, "list of prefixes"):
        received(sign_again(root), SIGNED)


# Algorithms that are not taken


def replaced(root: "etree._Element", name: str, algorithm: str | None) -> "etree._Element":
    for each in root.iter(ds(name)):
        if algorithm is None:
            del each.attrib["Algorithm"]
        else:
            each.set("Algorithm", algorithm)
    return root


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [
        ("SignatureMethod", "http://www.w3.org/2000/09/xmldsig#rsa-sha1"),
        ("SignatureMethod", "http://www.w3.org/2000/09/xmldsig#dsa-sha1"),
        ("SignatureMethod", f"{MORE}rsa-md5"),
        ("SignatureMethod", HMAC),
        ("SignatureMethod", f"{MORE}hmac-sha256"),
        ("SignatureMethod", f"{MORE}ecdsa-sha256"),  # with a key of RSA
        ("SignatureMethod", "http://www.w3.org/2000/09/xmldsig#none"),
        ("SignatureMethod", ""),
        ("SignatureMethod", None),
        ("DigestMethod", SHA1),
        ("DigestMethod", f"{MORE}md5"),
        ("DigestMethod", None),
        ("CanonicalizationMethod", "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"),
        ("CanonicalizationMethod", f"{EXCLUSIVE}WithComments"),
        ("CanonicalizationMethod", None),
        ("Transform", f"{EXCLUSIVE}WithComments"),
        ("Transform", "http://www.w3.org/2000/09/xmldsig#enveloped-signature"),
        ("Transform", "http://www.w3.org/TR/1999/REC-xslt-19991116"),
        ("Transform", "http://www.w3.org/TR/1999/REC-xpath-19991116"),
        ("Transform", None),
    ],
)
def test_algorithms_that_are_not_taken(name: str, algorithm: str | None) -> None:
    """Though the signer has signed that it is this one."""
    root = replaced(parsed(sent(SIGNED)), name, algorithm)
    with refused(Problem.UNSUPPORTED_ALGORITHM, name):
        received(sign_again(root), SIGNED)


def test_a_secret_that_everybody_knows() -> None:
    """A certificate is no secret: whoever took it for one would take a code by anybody for a signature."""
    root = replaced(parsed(sent(SIGNED)), "SignatureMethod", f"{MORE}hmac-sha256")
    secret = ada().certificate.public_bytes(Encoding.DER)
    value = hmac.digest(secret, written(find(root, "//ds:SignedInfo")), "sha256")
    find(root, "//ds:SignatureValue").text = base64_text(value)
    with refused(Problem.UNSUPPORTED_ALGORITHM):
        received(root, SIGNED)


def test_a_signature_by_sha1_that_holds() -> None:
    root = replaced(parsed(sent(SIGNED)), "SignatureMethod", "http://www.w3.org/2000/09/xmldsig#rsa-sha1")
    key = ada().key
    assert isinstance(key, rsa.RSAPrivateKey)
    value = key.sign(written(find(root, "//ds:SignedInfo")), padding.PKCS1v15(), hashes.SHA1())
    find(root, "//ds:SignatureValue").text = base64_text(value)
    assert holds_for_others(root)
    with refused(Problem.UNSUPPORTED_ALGORITHM, "rsa-sha1"):
        received(root, SIGNED)


@pytest.mark.parametrize("uri", ["", "#", "the-body", "http://example.org/", "#xpointer(/)", "cid:attachment"])
def test_what_is_signed_is_named_by_its_id(uri: str) -> None:
    root = parsed(sent(SIGNED))
    next(root.iter(ds("Reference"))).set("URI", uri)
    with refused(Problem.FAILED_CHECK if uri.startswith("#x") else Problem.INVALID):
        received(sign_again(root), SIGNED)


def test_transforms_after_one_another() -> None:
    root = parsed(sent(SIGNED))
    transforms = next(root.iter(ds("Transforms")))
    etree.SubElement(transforms, ds("Transform")).set("Algorithm", EXCLUSIVE)
    with refused(Problem.UNSUPPORTED_ALGORITHM, "made canonical, and nothing else"):
        received(sign_again(root), SIGNED)


def test_no_transform_at_all() -> None:
    root = parsed(sent(SIGNED))
    transforms = next(root.iter(ds("Transforms")))
    transforms.getparent().remove(transforms)
    with refused(Problem.INVALID, "no element Transforms"):
        received(sign_again(root), SIGNED)


def test_one_reference_twice() -> None:
    root = parsed(sent(SIGNED))
    reference = next(root.iter(ds("Reference")))
    reference.addnext(etree.fromstring(etree.tostring(reference)))
    with refused(Problem.INVALID, "twice"):
        received(sign_again(root), SIGNED)


def test_very_many_references() -> None:
    root = parsed(sent(SIGNED))
    reference = next(root.iter(ds("Reference")))
    for number in range(60):
        copied = etree.fromstring(etree.tostring(reference))
        copied.set("URI", f"#id-{number}")
        reference.addnext(copied)
    with refused(Problem.INVALID, "there can be 50"):
        received(sign_again(root), SIGNED)


@pytest.mark.parametrize("value", ["", "AAAA", "not base 64!", "é"])
def test_signatures_that_are_none(value: str) -> None:
    root = parsed(sent(SIGNED))
    find(root, "//ds:SignatureValue").text = value
    with refused(Problem.FAILED_CHECK if value in ("", "AAAA") else Problem.INVALID):
        received(root, SIGNED)


# Curves


def test_a_second_signature_of_a_curve_is_no_second_message() -> None:
    """From one signature of a curve, anybody makes another that holds, too."""
    seen = Nonces()
    root = parsed(sent(SIGNED, sender(curved())))
    assert received(root, SIGNED, seen=seen).subject == "CN=curved"
    value = base64.b64decode(find(root, "//ds:SignatureValue").text)
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    other = value[:32] + (order - int.from_bytes(value[32:], "big")).to_bytes(32, "big")
    find(root, "//ds:SignatureValue").text = base64_text(other)
    assert holds_for_others(root, curved())
    with refused(Problem.INVALID, "came before"):
        received(root, SIGNED, seen=seen)


@pytest.mark.parametrize("value", [bytes(64), bytes(63), bytes(65), b"\xff" * 64, b""])
def test_signatures_of_curves_that_are_none(value: bytes) -> None:
    root = parsed(sent(SIGNED, sender(curved())))
    find(root, "//ds:SignatureValue").text = base64_text(value)
    with refused(Problem.FAILED_CHECK, "not by the key"):
        received(root, SIGNED)


def test_a_signature_of_a_curve_has_its_length() -> None:
    root = parsed(sent(SIGNED, sender(curved())))
    value = base64.b64decode(find(root, "//ds:SignatureValue").text)
    find(root, "//ds:SignatureValue").text = base64_text(value[:32] + b"\0" + value[32:])
    with refused(Problem.FAILED_CHECK, "not by the key"):
        received(root, SIGNED)


def test_a_signature_of_a_curve_as_others_write_it() -> None:
    """In DER, as certificates have it, and XML does not."""
    root = parsed(sent(SIGNED, sender(curved())))
    key = curved().key
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    value = key.sign(canonical(find(root, "//ds:SignedInfo")), ec.ECDSA(hashes.SHA256()))
    assert decode_dss_signature(value)
    find(root, "//ds:SignatureValue").text = base64_text(value)
    with refused(Problem.FAILED_CHECK):
        received(root, SIGNED)
