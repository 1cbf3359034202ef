"""The files that an application names: schemas, interfaces, policies, collections. Read once, and never trusted."""

import glob
import posixpath
import re
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path, PurePath

from lxml import etree

_WSDL, _WSDL_20 = "http://schemas.xmlsoap.org/wsdl/", "http://www.w3.org/ns/wsdl"
_XSD = "{http://www.w3.org/2001/XMLSchema}"
_REFERENCES = ("include", "import", "redefine", "override")
_DECLARATION = re.compile(r"\A\s*<\?xml\s[^>]*\?>")
_ENCODING = re.compile(rb"""\A\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']([\w.:-]+)["']""")
_MAX_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a file is of no use."""

    kind: str  # "missing", "outside", "malformed", "invalid" or "interface"
    message: str


@dataclass(frozen=True, slots=True)
class Schema:
    """A valid schema, and the elements that a document may begin with."""

    validator: etree.XMLSchema
    roots: frozenset[str]


@dataclass(slots=True)
class Files:
    """Reads each file once, relative to the application's folder."""

    root: Path
    _documents: dict[str, "etree._ElementTree | Problem"] = field(default_factory=dict)
    _schemas: dict[str, Schema | Problem] = field(default_factory=dict)

    def document(self, name: str) -> "etree._ElementTree | Problem":
        if name not in self._documents:
            outside = Problem("outside", f"`{name}` lies outside the folder of the application")
            self._documents[name] = outside if self.is_outside(name) else read_xml(self.root / name, name)
        return self._documents[name]

    def is_outside(self, name: str) -> bool:
        """Does a file name, or a pattern, lead out of the application's folder?"""
        return PurePath(name).is_absolute() or ".." in PurePath(name).parts

    def schema(self, name: str) -> Schema | Problem:
        if name not in self._schemas:
            self._schemas[name] = self._read_schema(name)
        return self._schemas[name]

    def _read_schema(self, name: str) -> Schema | Problem:
        roots: set[str] = set()
        problem = self._read_parts(name, roots, set())
        if problem is not None:
            return problem
        try:
            validator = etree.XMLSchema(self.document(name))
        except etree.XMLSchemaParseError as error:
            return Problem("invalid", _first_line(error))
        return Schema(validator, frozenset(roots))

    def _read_parts(self, name: str, roots: set[str], seen: set[str]) -> Problem | None:
        """A schema and those that it includes or imports, all in the folder; their global elements go to `roots`."""
        if name in seen:
            return None
        seen.add(name)
        document = self.document(name)
        if isinstance(document, Problem):
            return document
        if not name.endswith(".xsd"):
            return Problem("invalid", f"`{name}` must have a name that ends in `.xsd`")
        schema = document.getroot()
        namespace = schema.get("targetNamespace", "")
        for element in schema.findall(f"{_XSD}element"):
            roots.add(f"Q{{{namespace}}}{element.get('name')}" if namespace else str(element.get("name")))
        for reference in schema.iterchildren(*(f"{_XSD}{tag}" for tag in _REFERENCES)):
            location = reference.get("schemaLocation")
            if location is None:
                continue
            if ":" in location:
                return Problem("outside", f"`{name}` refers to `{location}`, which lies outside the application")
            part = posixpath.normpath(posixpath.join(posixpath.dirname(name), location))
            problem = self._read_parts(part, roots, seen)
            if problem is not None:
                return problem
        return None

    def ports(self, name: str) -> list[str] | Problem:
        """The ports of an interface, which is in WSDL 1.1: of others, no gateway would know what they say."""
        document = self.document(name)
        if isinstance(document, Problem):
            return document
        root = etree.QName(document.getroot())
        if root.namespace == _WSDL_20:
            return Problem("interface", f"the interface `{name}` is in WSDL 2.0, which is not read")
        if root.namespace != _WSDL or root.localname != "definitions":
            space = f"`{root.namespace}`" if root.namespace else "no namespace"
            text = f"`{name}` is no interface in WSDL: its root element is `{root.localname}` of {space}"
            return Problem("interface", text)
        ports = document.iterfind(f"{{{_WSDL}}}service/{{{_WSDL}}}port")
        return [str(port.get("name")) for port in ports if port.get("name")]

    def matching(self, pattern: str) -> list[str]:
        """The files that a pattern matches, by their names relative to the application's folder, in order."""
        return sorted(
            found for found in glob.glob(pattern, root_dir=self.root, recursive=True) if (self.root / found).is_file()
        )

    def beside(self, ending: str) -> list[str]:
        """All files of the application that end so."""
        return sorted(str(found.relative_to(self.root)) for found in self.root.rglob(f"*{ending}") if found.is_file())


def hardened_parser() -> etree.XMLParser:
    """A parser that neither leaves the node nor expands anything."""
    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)


def read_xml(file: Path, name: str) -> "etree._ElementTree | Problem":
    try:
        if file.stat().st_size > _MAX_BYTES:
            return Problem("malformed", f"`{name}` is larger than {_MAX_BYTES // 1024 // 1024} MiB")
        document = etree.parse(BytesIO(file.read_bytes()), hardened_parser(), base_url=str(file))
    except FileNotFoundError:
        return Problem("missing", f"there is no file `{name}`")
    except etree.XMLSyntaxError as error:
        return Problem("malformed", f"`{name}` is not well-formed: {error.msg}")
    except (OSError, ValueError) as error:
        return Problem("missing", f"`{name}` cannot be read: {error}")
    if document.docinfo.doctype:
        return Problem("malformed", f"`{name}` has a document type declaration, which is refused")
    try:
        read_text(file)
    except (UnicodeDecodeError, LookupError) as error:
        return Problem("malformed", f"`{name}` is not text in the encoding that it names: {error}")
    return document


def read_text(file: Path) -> str:
    """An XML file as text: in the encoding that it names, which is then no longer named."""
    data = file.read_bytes()
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _DECLARATION.sub("", data.decode("utf-16"))
    named = _ENCODING.match(data)
    if named is None or named[1].lower() in (b"utf-8", b"utf8"):
        return data.decode("utf-8-sig")
    return _DECLARATION.sub("", data.decode(named[1].decode("ascii")))


def _first_line(error: Exception) -> str:
    text = str(error).splitlines()
    return text[0].replace(_XSD, "xs:").replace("., line", ", line").rstrip(".") if text else "no reason given"
