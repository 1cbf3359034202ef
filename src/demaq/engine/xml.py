"""Messages from people we do not trust: everything in them is checked before the XQuery engine sees it."""

import codecs
import re
from dataclasses import dataclass

from lxml import etree

from demaq.diagnostics import DemaqError
from demaq.model import Limits

_DECLARATION = re.compile(r"\A\s*<\?xml\s[^>]*\?>")  # what looks like one further down is the message's own
_VERSION = re.compile(r"""<\?xml\s+version\s*=\s*["']([^"']*)["']""")
_ENCODING = re.compile(r"""<\?xml\s[^>]*?\bencoding\s*=\s*["']([^"']*)["']""")
_KNOWN_ENCODING = re.compile(  # Python knows others that are no text, or take for ever
    r"utf-?8|utf-?(16|32)([bl]e)?|(us-)?ascii|(iso-?8859|windows|cp|ibm)-?\d{1,4}|latin-?1|koi8-[ru]"
    r"|shift[-_]jis|euc-(jp|kr)|iso-2022-(jp|kr)|gb(k|2312|18030)|big5",
    re.IGNORECASE,
)
_UTF_8 = ("utf-8", "utf8")
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BEFORE_ROOT = re.compile(r"(?:[ \t\r\n]+|<!--.*?-->|<\?.*?\?>)*", re.DOTALL)


class MessageRefused(DemaqError):
    """A message was not taken in. `kind` is that of the error message about it."""

    def __init__(self, reason: str, kind: str = "malformed") -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind = kind

    def __reduce__(self) -> tuple[type["MessageRefused"], tuple[str, str]]:
        return MessageRefused, (self.reason, self.kind)


@dataclass(frozen=True, slots=True)
class ReadMessage:
    """A well-formed message: its text without a declaration, its tree, and the names in it."""

    text: str
    root: "etree._Element"
    names: frozenset[str]


def read_message(body: str | bytes, limits: Limits) -> ReadMessage:
    """Read a message, or say why it is refused."""
    text = body if isinstance(body, str) else _decoded(body)
    if len(text) > limits.message_size:
        raise MessageRefused(
            f"the message has {len(text):,} characters; at most {limits.message_size:,} are allowed", "resource"
        )
    version = _VERSION.match(text.lstrip("\ufeff \t\r\n"))
    if version is not None and version[1] != "1.0":
        raise MessageRefused(f"this is XML {version[1]}: only XML 1.0 is taken")
    text = _DECLARATION.sub("", text.lstrip("\ufeff"), count=1)
    root = _parsed(text)
    names = _check_size(root, limits)
    return ReadMessage(text.strip(), root, names)


def in_utf8(body: bytes, charset: str | None) -> bytes:
    """A document in UTF-8, if whoever brings it says how it is written, and it does not say so itself."""
    is_other = charset is not None and charset.lower() not in _UTF_8 and _KNOWN_ENCODING.fullmatch(charset)
    if not is_other or body.startswith((*_MARKS, codecs.BOM_UTF8)) or _declared(body):
        return body
    try:
        return body.decode(charset or "").encode()
    except (UnicodeDecodeError, LookupError):
        return body  # which is not as was said: what it is is seen when it is read


def _declared(body: bytes) -> re.Match[str] | None:
    return _ENCODING.match(body[:200].decode("latin-1").lstrip())


def _decoded(body: bytes) -> str:
    """Bytes as text: in the encoding that a mark or the declaration names, else in UTF-8."""
    encoding = "utf-8-sig"
    if body.startswith(_MARKS):
        encoding = "utf-16"
    else:
        declared = _declared(body)
        if declared is not None:
            if not _KNOWN_ENCODING.fullmatch(declared[1]):
                raise MessageRefused(f"the encoding {declared[1]!r} is not known")
            encoding = "utf-8-sig" if declared[1].lower() in _UTF_8 else declared[1]
    try:
        return body.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise MessageRefused(f"the message is not text in {encoding}: {error}") from error


def admitted(text: str) -> "etree._Element":
    """A message that was read before, in the same way: whatever its limits let in can be read again."""
    return etree.fromstring(text.encode("utf-8"), _parser())


def _parser() -> "etree.XMLParser":
    return etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True, remove_blank_text=False, recover=False
    )


def _parsed(text: str) -> "etree._Element":
    before = _BEFORE_ROOT.match(text)
    if before is not None and text.startswith("<!DOCTYPE", before.end()):
        # Entities, and with them bombs and files of this machine, come by document types alone.
        raise MessageRefused("document types are not allowed in messages")
    try:
        root: etree._Element | None = etree.fromstring(text.encode("utf-8"), _parser())
    except (etree.XMLSyntaxError, UnicodeEncodeError) as error:
        raise MessageRefused(f"the message is not well-formed XML: {_reason(error)}") from error
    if root is None:
        raise MessageRefused("the message is empty")
    return root


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())


def _check_size(root: "etree._Element", limits: Limits) -> frozenset[str]:
    names: set[str] = {one.target for one in root.getroottree().iter(etree.ProcessingInstruction)}
    depth = 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "end":
            depth -= 1
            continue
        depth += 1
        if depth > limits.depth:
            raise MessageRefused(f"elements are nested more than {limits.depth} deep", "resource")
        names.add(element.tag)
        names.update(element.attrib)
        if len(names) > limits.names:
            raise MessageRefused(f"the message has more than {limits.names:,} different names", "resource")
    return frozenset(names)
