"""Schemas as they were published, and xmllint, which checks documents by them.

They come out of packages: Apache CXF has those of WSDL 1.1, WS-Addressing and WS-ReliableMessaging, Apache WSS4J those
of SOAP, WS-Security, XML Signature and XML Encryption. What they import by addresses is found by a catalog, and nothing
is fetched from there.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from jars import fetched

_HEAD = '<?xml version="1.0"?>\n'
_XSD = "http://www.w3.org/2001/XMLSchema"
_WSS = "http://docs.oasis-open.org/wss"
ENVELOPES = {
    "http://www.w3.org/XML/1998/namespace": "xml.xsd",
    "http://schemas.xmlsoap.org/soap/envelope/": "soap-1.1.xsd",
    "http://www.w3.org/2003/05/soap-envelope": "soap-1.2.xsd",
    "http://www.w3.org/2005/08/addressing": "ws-addr.xsd",
    "http://schemas.xmlsoap.org/ws/2004/08/addressing": "addressing.xsd",
    "http://schemas.xmlsoap.org/ws/2005/02/rm": "wsrm-1.0.xsd",
    "http://docs.oasis-open.org/ws-rx/wsrm/200702": "wsrm-1.1.xsd",
    f"{_WSS}/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd": "oasis-200401-wss-wssecurity-utility-1.0.xsd",
    f"{_WSS}/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd": "oasis-200401-wss-wssecurity-secext-1.0.xsd",
    f"{_WSS}/oasis-wss-wssecurity-secext-1.1.xsd": "oasis-wss-wssecurity-secext-1.1.xsd",
    "http://www.w3.org/2000/09/xmldsig#": "xmldsig-core-schema.xsd",
    "http://www.w3.org/2001/04/xmlenc#": "xenc-schema.xsd",
    "http://www.w3.org/2009/xmlenc11#": "xenc-schema-11.xsd",
    "http://www.w3.org/2001/10/xml-exc-c14n#": "exc-c14n.xsd",
}
"""By their namespaces: what may stand in an envelope. Elements of other namespaces are let pass."""
INTERFACES = {
    "http://schemas.xmlsoap.org/wsdl/": "wsdl.xsd",
    "http://schemas.xmlsoap.org/wsdl/soap/": "soap-binding.xsd",
    "http://schemas.xmlsoap.org/wsdl/soap12/": "soap12-binding.xsd",
    _XSD: "XMLSchema.xsd",
}
_PLACES = {
    "http://www.w3.org/2006/03/addressing/ws-addr.xsd": "ws-addr.xsd",
    "http://schemas.xmlsoap.org/ws/2004/08/addressing": "addressing.xsd",
    "http://www.w3.org/2001/xml.xsd": "xml.xsd",
    f"{_WSS}/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd": "oasis-200401-wss-wssecurity-utility-1.0.xsd",
    "http://www.w3.org/TR/xmldsig-core/xmldsig-core-schema.xsd": "xmldsig-core-schema.xsd",
    "https://www.w3.org/2004/08/xop/include": "xop-include.xsd",
    "http://www.w3.org/TR/2002/REC-xmlenc-core-20021210/xenc-schema.xsd": "xenc-schema.xsd",
    "http://schemas.xmlsoap.org/soap/envelope/": "soap-1.1.xsd",
    "http://www.w3.org/2003/05/soap-envelope/": "soap-1.2.xsd",
}
"""Where schemas say that those are which they import."""
_LXML = """
import sys
from lxml import etree
schema = etree.XMLSchema(etree.parse(sys.argv[1]))
wrong = [file for file in sys.argv[2:] if not schema.validate(etree.parse(file))]
print(schema.error_log)
sys.exit(bool(wrong))
"""


@dataclass(frozen=True, slots=True)
class Published:
    """A folder with all of them, and what checks a document by them."""

    folder: Path

    def complaints(self, kind: str, *documents: Path) -> str:
        """What is wrong with documents, which are `envelopes` or `interfaces`; nothing if they are valid."""
        schema = str(self.folder / f"{kind}.xsd")
        done = subprocess.run(
            [*checker(), schema, *map(str, documents)],
            env={**os.environ, "XML_CATALOG_FILES": str(self.folder / "catalog.xml")},
            capture_output=True,
            text=True,
        )
        told = f"{done.stdout}{done.stderr}"
        assert "parser error" not in told, told
        wrong = [line for line in told.splitlines() if "parser warning" not in line]
        return "\n".join(wrong) if done.returncode != 0 else ""


def checker() -> list[str]:
    """xmllint, which `bin/setup dev` installs; where it is not, lxml, which has the same library inside."""
    found = shutil.which("xmllint")
    return [sys.executable, "-c", _LXML] if found is None else [found, "--nonet", "--noout", "--schema"]


def published(folder: Path) -> Published:
    """Unpack them into a folder."""
    for jar in sorted((fetched("schemas", Path(__file__).parent / "ivy.xml") / "schemas").iterdir()):
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if name.startswith("schemas/") and name.endswith((".xsd", ".dtd")) and "/configuration/" not in name:
                    (folder / Path(name).name).write_bytes(archive.read(name))
    for name, imported in (("envelopes", ENVELOPES), ("interfaces", INTERFACES)):
        lines = [f'<xs:import namespace="{space}" schemaLocation="{file}"/>' for space, file in imported.items()]
        text = "\n".join([f'{_HEAD}<xs:schema xmlns:xs="{_XSD}">', *lines, "</xs:schema>"])
        (folder / f"{name}.xsd").write_text(text, encoding="utf-8")
    places = [f'<system systemId="{place}" uri="{file}"/>' for place, file in _PLACES.items()]
    catalog = f'<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">{"".join(places)}</catalog>'
    (folder / "catalog.xml").write_text(_HEAD + catalog, encoding="utf-8")
    return Published(folder)
