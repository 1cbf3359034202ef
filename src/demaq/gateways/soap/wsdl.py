"""WSDL 1.1: what a port offers; the file as it is served; and one for a queue that has only a schema."""

import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from lxml import etree

from demaq.engine.xml import admitted
from demaq.gateways.soap.envelope import Version

WSDL = "http://schemas.xmlsoap.org/wsdl/"
XSD = "http://www.w3.org/2001/XMLSchema"
_SOAP = {
    "http://schemas.xmlsoap.org/wsdl/soap/": Version.SOAP_11,
    "http://schemas.xmlsoap.org/wsdl/soap12/": Version.SOAP_12,
}
_SOAP_11 = "http://schemas.xmlsoap.org/wsdl/soap/"
GENERATED_BINDING = "Binding"
_TRANSPORT = "http://schemas.xmlsoap.org/soap/http"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """`takes` is the name of the element in the body; None for one of RPC style with parts of types, whose element is
    called like the operation. One without `output` gives no reply."""

    name: str
    action: str
    takes: str | None
    has_output: bool
    reply_action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """A port of a service, as its binding says."""

    address: str | None
    version: Version
    operations: tuple[Operation, ...]

    def operation(self, element: str, action: str | None = None) -> Operation | None:
        """The operation that takes an element; if there are several, that with the action."""
        local = etree.QName(element).localname
        taking = [
            each for each in self.operations if each.takes == element or (each.takes is None and each.name == local)
        ]
        return next((each for each in taking if action and each.action == action), next(iter(taking), None))

    def refusal(self, element: str) -> str | None:
        """Why an element is not taken, if no operation does."""
        if not self.operations or self.operation(element) is not None:
            return None
        taken = ", ".join(sorted({each.takes or each.name for each in self.operations}))
        return f"no operation takes {element}: there are those for {taken}"


def read_port(files: Mapping[str, str], file: str, name: str) -> Port | None:
    """A port of an interface, which may be divided among files; None if nothing is known of it but its name."""
    roots = list(_definitions(files, file))
    port = next((each for each in _all(roots, "service/port") if each.get("name") == name), None)
    if port is None:
        return None
    address = next((child.get("location") for child in port.iterchildren("*") if child.get("location")), None)
    binding = _named(roots, "binding", port.get("binding", ""))
    if binding is None:
        return Port(address=address, version=Version.SOAP_11, operations=())
    version = next((_SOAP[ns] for child in binding if (ns := _namespace(child)) in _SOAP), Version.SOAP_11)
    kind = _named(roots, "portType", binding.get("type", ""))
    offered = [] if kind is None else list(kind.iterchildren(f"{{{WSDL}}}operation"))
    return Port(
        address=address,
        version=version,
        operations=tuple(_operation(each, binding, roots, _target(kind)) for each in offered),
    )


def binding_of(files: Mapping[str, str], file: str, name: str) -> str | None:
    """The name of the binding of a port, which may be in a file that the interface imports."""
    ports = _all(list(_definitions(files, file)), "service/port")
    return next((each.get("binding", "").rpartition(":")[2] for each in ports if each.get("name") == name), None)


def _operation(
    element: "etree._Element", binding: "etree._Element", roots: "list[etree._Element]", target: str
) -> Operation:
    name = element.get("name", "")
    bound = next((each for each in binding.iterchildren(f"{{{WSDL}}}operation") if each.get("name") == name), None)
    action = (
        next((child.get("soapAction") for child in bound if child.get("soapAction")), "") if bound is not None else ""
    )
    given, output = element.find(f"{{{WSDL}}}input"), element.find(f"{{{WSDL}}}output")
    kind = etree.QName(element.getparent().get("name", "")).localname
    reply = f"{target.rstrip('/')}/{kind}/{name}Response"
    return Operation(
        name=name,
        action=action or f"{target.rstrip('/')}/{kind}/{name}Request",
        takes=None if given is None else _element_of(given, roots),
        has_output=output is not None,
        reply_action=reply,
    )


def _element_of(given: "etree._Element", roots: "list[etree._Element]") -> str | None:
    message = _named(roots, "message", given.get("message", ""))
    part = None if message is None else message.find(f"{{{WSDL}}}part")
    if part is None or part.get("element") is None:
        return None
    prefix, _, local = part.get("element").rpartition(":")
    namespace = part.nsmap.get(prefix or None)
    return f"{{{namespace}}}{local}" if namespace else local


def _definitions(files: Mapping[str, str], file: str, seen: set[str] | None = None) -> "Iterator[etree._Element]":
    """A file, and those that it imports."""
    seen = set() if seen is None else seen
    if file in seen or file not in files:
        return
    seen.add(file)
    root = parsed(files[file])
    yield root
    for each in root.iterchildren(f"{{{WSDL}}}import"):
        yield from _definitions(files, _beside(file, each.get("location", "")), seen)


def parsed(text: str) -> "etree._Element":
    return admitted(text)


def _beside(file: str, location: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), location))


def _all(roots: "list[etree._Element]", path: str) -> "Iterator[etree._Element]":
    steps = "/".join(f"{{{WSDL}}}{step}" for step in path.split("/"))
    for root in roots:
        yield from root.iterfind(steps)


def _named(roots: "list[etree._Element]", kind: str, name: str) -> "etree._Element | None":
    local = name.rpartition(":")[2]
    return next((each for each in _all(roots, kind) if each.get("name") == local), None)


def _target(element: "etree._Element | None") -> str:
    return "" if element is None else element.getroottree().getroot().get("targetNamespace", "")


def _namespace(element: "etree._Element") -> str:
    return "" if not isinstance(element.tag, str) else etree.QName(element).namespace or ""


# As it is served


def served(text: str, file: str, port: str | None, address: str, place_of: Callable[[str], str]) -> bytes:
    """A WSDL file or a schema, with the address of the node at a port, and imports where the node serves them."""
    root = parsed(text)
    for each in root.iterfind(f"{{{WSDL}}}service/{{{WSDL}}}port"):
        for child in each.iterchildren("*"):
            if child.get("location") and each.get("name") == port:
                child.set("location", address)
    for each in root.iter(f"{{{WSDL}}}import"):
        if each.get("location") and ":" not in each.get("location"):
            each.set("location", place_of(_beside(file, each.get("location"))))
    for each in root.iter(f"{{{XSD}}}import", f"{{{XSD}}}include", f"{{{XSD}}}redefine"):
        if each.get("schemaLocation") and ":" not in each.get("schemaLocation"):
            each.set("schemaLocation", place_of(_beside(file, each.get("schemaLocation"))))
    return bytes(etree.tostring(root, encoding="utf-8", xml_declaration=True))


def place_at(address: str) -> Callable[[str], str]:
    """Where files are served that an interface imports."""
    return lambda file: f"{address}?file={quote(file)}"


# Generated


def generated(queue: str, schema: str | None, files: Mapping[str, str], address: str) -> bytes:
    """A WSDL for a queue that has none: an operation without a reply for each element that its schema declares.

    If the schema has no namespace, neither has the interface: names without a prefix are in that of the interface to
    those who read it, whatever the specification says.
    """
    own = f"urn:demaq:{quote(queue)}"
    namespace = f"{own}:types" if schema is None else parsed(files[schema]).get("targetNamespace")
    target = own if namespace else None
    spaces = {"wsdl": WSDL, "soap": _SOAP_11, "xs": XSD}
    if target is not None:
        spaces |= {"tns": target, "e": namespace or ""}
    root = etree.Element(f"{{{WSDL}}}definitions", _named_space(target), nsmap=spaces, name=queue)
    types = etree.SubElement(root, f"{{{WSDL}}}types")
    inside = etree.SubElement(types, f"{{{XSD}}}schema", _named_space(namespace))
    if schema is None:
        names = ["message"]
        etree.SubElement(inside, f"{{{XSD}}}element", name="message", type="xs:anyType")
    else:
        names = list(dict.fromkeys(_elements(files, schema)))
        etree.SubElement(inside, f"{{{XSD}}}include", schemaLocation=place_at(address)(schema))
    for name in names:
        message = etree.SubElement(root, f"{{{WSDL}}}message", name=f"{name}Message")
        etree.SubElement(message, f"{{{WSDL}}}part", name="body", element=f"e:{name}" if namespace else name)
    prefix = "tns:" if target else ""
    kind = etree.SubElement(root, f"{{{WSDL}}}portType", name="Port")
    for name in names:
        operation = etree.SubElement(kind, f"{{{WSDL}}}operation", name=name)
        etree.SubElement(operation, f"{{{WSDL}}}input", message=f"{prefix}{name}Message")
    _add_binding(root, names, own, f"{prefix}Port")
    service = etree.SubElement(root, f"{{{WSDL}}}service", name=queue)
    port = etree.SubElement(service, f"{{{WSDL}}}port", name="Port", binding=f"{prefix}{GENERATED_BINDING}")
    etree.SubElement(port, f"{{{_SOAP_11}}}address", location=address)
    return bytes(etree.tostring(root, encoding="utf-8", xml_declaration=True, pretty_print=True))


def _named_space(target: str | None) -> dict[str, str]:
    return {} if target is None else {"targetNamespace": target}


def _add_binding(root: "etree._Element", names: list[str], actions: str, kind: str) -> None:
    binding = etree.SubElement(root, f"{{{WSDL}}}binding", name=GENERATED_BINDING, type=kind)
    etree.SubElement(binding, f"{{{_SOAP_11}}}binding", style="document", transport=_TRANSPORT)
    for name in names:
        operation = etree.SubElement(binding, f"{{{WSDL}}}operation", name=name)
        etree.SubElement(operation, f"{{{_SOAP_11}}}operation", soapAction=f"{actions}/{name}", style="document")
        given = etree.SubElement(operation, f"{{{WSDL}}}input")
        etree.SubElement(given, f"{{{_SOAP_11}}}body", use="literal")


def _elements(files: Mapping[str, str], file: str, seen: set[str] | None = None) -> Iterator[str]:
    """The names of the elements that a schema declares, in its file or in one that it includes."""
    seen = set() if seen is None else seen
    if file in seen or file not in files:
        return
    seen.add(file)
    root = parsed(files[file])
    for element in root.iterchildren(f"{{{XSD}}}element"):
        yield element.get("name", "")
    for each in root.iterchildren(f"{{{XSD}}}include", f"{{{XSD}}}redefine"):
        yield from _elements(files, _beside(file, each.get("schemaLocation", "")), seen)
