"""What is sent, in short: by this two messages that come with the same key are told apart."""

from hashlib import sha256

from lxml import etree


def fingerprint(*parts: str | bytes) -> str:
    """That of what was sent, byte by byte."""
    found = sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        found.update(len(data).to_bytes(8, "big") + data)
    return found.hexdigest()


def fingerprint_of_text(text: str | bytes) -> str:
    """That of a text, however its lines end."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return fingerprint(data.replace(b"\r\n", b"\n").strip())


def fingerprint_of_element(element: "etree._Element") -> str:
    """That of an element, whatever is around it and however it is written."""
    try:
        return fingerprint(etree.tostring(element, method="c14n", exclusive=True, with_tail=False))
    except etree.C14NError:  # a namespace is no whole URI
        return fingerprint(etree.tostring(element, encoding="utf-8", with_tail=False))
