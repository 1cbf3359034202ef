"""The application whose endpoints are tried: a gateway of each kind."""

from pathlib import Path

from server.test_reliable import POLICIES
from server.test_secure import DIGEST, policy
from server.test_soap import PLAIN, SCHEMA, WSDL

MAILBOX, STRICT = "orders@example.org", "strict@example.org"
GATEWAYS = ("orders", "strict", "weather", "reliable", "reliable10", "secure", "files")
TEXT = """
declare namespace w = "urn:weather";
create queue orders kind incomingGateway mode persistent errorqueue problems
create queue strict kind incomingGateway mode persistent schema "schemas/plain.xsd" errorqueue problems
create queue weather kind incomingGateway mode persistent interface "interfaces/weather.wsdl" port WeatherPort
create queue reliable kind incomingGateway mode persistent using WS-ReliableMessaging policy rm11.xml
create queue reliable10 kind incomingGateway mode persistent using WS-ReliableMessaging policy rm10.xml
create queue secure kind incomingGateway mode persistent using WS-Security policy security.xml
create queue files kind incomingGateway mode persistent errorqueue problems
create queue answers kind outgoingGateway mode persistent
create queue notes kind basic mode persistent
create queue later kind echo mode persistent
create queue problems kind basic mode persistent

create property customer as xs:string queue orders value (/order/customer)[1]
create slicing customers on customer

create rule reply for orders errorqueue problems
if (/order/reply) then do enqueue <done>{/order/customer}</done> into answers
else if (/order/late) then
  do enqueue . into later with timeout value xs:dayTimeDuration("P1D") with target value "notes"
else if (/order/bad) then do enqueue <never>{1 idiv 0}</never> into notes
else ()

create rule forecast for weather
if (/w:ask) then
  do enqueue <w:answer><w:degrees>{string-length(/w:ask)}</w:degrees></w:answer> into answers
else ()

create rule done for customers if (/order/last) then do reset
"""
SETTINGS = """
name = "fuzzed"

[limits]
seconds = 10
cache = "16 MB"
worker_memory = "512 MB"

[server]
largest = "2 MB"
log = "text"

[mail]
port = {mail}

[gateways.orders]
mail = "orders@example.org"

[gateways.strict]
mail = "strict@example.org"

[gateways.answers]
to = "file:answers"

[gateways.files]
folder = "incoming"

[gateways.secure.security.users]
ada = "$FUZZ_PASSWORD"
"""
PASSWORD = "secret"


def files(mail: int) -> dict[str, str]:
    """All files of the application; mail comes in at this port."""
    return {
        "main.demaq": TEXT,
        "demaq.toml": SETTINGS.format(mail=mail),
        "schemas/plain.xsd": PLAIN,
        "schemas/weather.xsd": SCHEMA,
        "interfaces/weather.wsdl": WSDL.format(soap="soap", address="http://weather.invalid/"),
        "rm10.xml": POLICIES["1.0"],
        "rm11.xml": POLICIES["1.1"],
        "security.xml": policy(DIGEST),
    }


def write(folder: Path, mail: int) -> None:
    for name, text in files(mail).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
