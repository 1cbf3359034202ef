"""Bad input over HTTP: documents in XML and JSON, envelopes, and archives, with headers and paths to match."""

import http.client
import io
import re
import time
import zipfile
from random import Random

from demaq.gateways.reliable.vocabulary import RmVersion
from demaq.gateways.soap.envelope import Version
from fuzz import samples
from fuzz.application import GATEWAYS, files
from fuzz.node import Fuzzed
from fuzz.spoiling import spoiled, spoiled_bytes
from fuzz.tally import Answer, Tally, complaint

_LARGEST = 2_000_000  # bytes; whoever sends more is told so while it sends, and may not hear it
_SLOW = 60.0  # seconds after which nobody waits any longer
_MEDIA = (
    *("application/xml", "text/xml", "application/soap+xml", "application/json", "application/x+xml", "text/plain", ""),
    *("application/xml; charset=utf-16", "text/xml; charset=", "multipart/related; boundary=x", "é/ü", "a" * 3000),
)
_HEADERS = (
    *(("Prefer", value) for value in ("wait=1", "wait=0", "respond-async", "wait=x", "wait=99999999999", ",;=")),
    *(("Idempotency-Key", value) for value in ("a", '"b"', '""', "é", "x" * 999, "y" * 1001, " ", "\x01")),
    *(("Accept", value) for value in ("application/json", "text/xml", "*/*;q=x", "")),
    *(("SOAPAction", value) for value in ('"urn:weather/forecast"', "urn:weather/tell", '"', "é", "x" * 3000)),
    *(("Content-Encoding", "gzip"), ("Authorization", "Bearer x"), ("Expect", "100-continue"), ("Host", "é")),
)
_PATHS = (
    *("/", "/gateways", "/gateways/", "/gateways/nobody", "/gateways/%00", "/gateways/%ff%fe", "/gateways/problems"),
    *("/gateways/orders/replies/x", "/gateways/orders/replies/%00", "/gateways/orders?wsdl", "/gateways/weather?wsdl"),
    *(
        "/gateways/strict?wsdl",
        "/gateways/weather?file=../demaq.toml",
        "/gateways/weather?file=%00",
        "/gateways/orders?",
    ),
    *(
        "/gateways/weather?file=schemas/weather.xsd",
        "/health",
        "/ready",
        "/metrics",
        "/api/openapi.json",
        "//",
        "/%2e%2e",
    ),
)
_METHODS = ("GET", "GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "FOO")


class Caller:
    """Somebody who sends, over connections that stay open."""

    def __init__(self, node: Fuzzed, tally: Tally, chance: Random) -> None:
        self._node = node
        self._tally = tally
        self._chance = chance
        self._open: http.client.HTTPConnection | None = None

    def send(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer | None:
        """Send, and look at the answer; None if there was none."""
        began = time.monotonic()
        try:
            answer = self._exchanged(method, path, headers, body)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            is_cut = len(body) > _LARGEST
            self._tally.note("cut" if is_cut else "no answer", time.monotonic() - began)
            if is_cut:
                return None
            self._tally.wrong(f"no answer from {method} {path}: {error!r}", (headers, body))
            return None
        self._tally.note(answer.status, time.monotonic() - began)
        wrong = complaint(answer) if method != "HEAD" else None
        if wrong is not None:
            self._tally.wrong(f"{method} {path}: {wrong}", (headers, body))
        return answer

    def _exchanged(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        if self._open is None:
            self._open = http.client.HTTPConnection(*self._node.host, timeout=_SLOW)
        self._open.request(method, path, body, {name: text.encode() for name, text in headers.items()})
        found = self._open.getresponse()
        answer = Answer(found.status, {name.lower(): text for name, text in found.getheaders()}, found.read())
        if found.will_close:
            self.close()
        return answer

    def close(self) -> None:
        if self._open is not None:
            self._open.close()
            self._open = None

    def post(self, queue: str, body: bytes, media: str, **headers: str) -> Answer | None:
        """Post to a gateway, and note what was accepted."""
        given = {"Content-Type": media, **headers}
        if self._chance.random() < 0.3:
            name, text = self._chance.choice(_HEADERS)
            given[name] = text
        answer = self.send("POST", f"/gateways/{queue}", given, body)
        if answer is not None:
            self._tally.taken_in(answer)
        return answer


def anywhere(caller: Caller, chance: Random) -> None:
    """A path that is there or not, with some method."""
    method, path = chance.choice(_METHODS), chance.choice(_PATHS)
    body = spoiled(chance, samples.ORDERS[0], samples.ORDERS) if method in ("PUT", "PATCH") else b""
    if method != "POST":
        caller.send(method, path, {}, body)
    else:
        caller.post(path.removeprefix("/gateways/").partition("?")[0] if "gateways/" in path else "nobody", body, "")


def xml(caller: Caller, chance: Random) -> None:
    body = spoiled(chance, chance.choice(samples.ORDERS), samples.ORDERS)
    media = chance.choice(_MEDIA) if chance.random() < 0.1 else "application/xml"
    caller.post(chance.choice(("orders", "orders", "strict")), body, media)


def json_text(caller: Caller, chance: Random) -> None:
    text = chance.choice(samples.JSON)
    way = chance.random()
    if way < 0.1:
        text = chance.choice(("[", '{"a":', '{"a":[')) * chance.choice((50, 2000, 100_000))
    elif way < 0.2:
        text = "[" + ",".join([text] * chance.choice((3, 3000))) + "]"
    body = text.encode() if way < 0.3 else spoiled_bytes(chance, text.encode())
    media = chance.choice(_MEDIA) if chance.random() < 0.1 else "application/json"
    caller.post("orders", body, media)


def soap(caller: Caller, chance: Random) -> None:
    """Envelopes with addressing and without, for a gateway with an interface and for one without."""
    text = chance.choice(samples.ENVELOPES).replace("urn:uuid:1<", f"urn:uuid:{chance.getrandbits(60)}<")
    version = Version.SOAP_11 if Version.SOAP_11.value in text else Version.SOAP_12
    media = chance.choice(_MEDIA) if chance.random() < 0.1 else version.media_type
    more = {} if chance.random() < 0.02 else {"Prefer": "wait=1"}  # who says nothing waits for half a minute
    caller.post(chance.choice(("weather", "orders")), spoiled(chance, text, samples.ENVELOPES), media, **more)


def secured(caller: Caller, chance: Random) -> None:
    text = samples.secured(chance)
    version = Version.SOAP_11 if Version.SOAP_11.value in text else Version.SOAP_12
    caller.post("secure", spoiled(chance, text, (text, *samples.ENVELOPES)), version.media_type)


class Sequences:
    """Sequences of WS-ReliableMessaging: in one of each version nothing is wrong, in the others everything."""

    def __init__(self, tally: Tally, chance: Random) -> None:
        self._tally = tally
        self._chance = chance
        self._known: dict[str, list[str]] = {"reliable": [], "reliable10": []}
        self._right: dict[str, tuple[str, int]] = {}

    def send(self, caller: Caller, chance: Random) -> None:
        queue = chance.choice(list(self._known))
        version = RmVersion.RM_11 if queue == "reliable" else RmVersion.RM_10
        if queue not in self._right:
            self._right[queue] = self._created(caller, queue, version), 0
        elif chance.random() < 0.1:
            self._send_right(caller, queue, version)
        else:
            known = self._known[queue][-5:] or ["urn:uuid:0"]
            given = samples.reliable(version, chance.choice(known), chance.getrandbits(60))
            answer = caller.post(queue, spoiled(chance, chance.choice(given), given), "text/xml")
            self._known[queue] += _identifiers(answer)

    def _created(self, caller: Caller, queue: str, version: RmVersion) -> str:
        create = samples.reliable(version, "", self._chance.getrandbits(60))[0]
        found = _identifiers(caller.send("POST", f"/gateways/{queue}", {"Content-Type": "text/xml"}, create.encode()))
        return found[0] if found else ""

    def _send_right(self, caller: Caller, queue: str, version: RmVersion) -> None:
        """A message in its place, twice perhaps: it has to come in once."""
        identifier, number = self._right[queue]
        token = f"token-{self._chance.getrandbits(60)}"
        head = samples.addressing(version.addressing, "urn:order", self._chance.getrandbits(60))
        place = (
            f'<r:Sequence xmlns:r="{version.value}" s:mustUnderstand="1"><r:Identifier>{identifier}</r:Identifier>'
            f"<r:MessageNumber>{number + 1}</r:MessageNumber></r:Sequence>"
        )
        text = samples.envelope(f"<order>{token}</order>", head + place).encode()
        for _ in range(self._chance.choice((1, 1, 2))):
            answer = caller.send("POST", f"/gateways/{queue}", {"Content-Type": "text/xml"}, text)
            if answer is None or answer.status != 200 or f'Upper="{number + 1}"'.encode() not in answer.body:
                self._tally.wrong(f"message {number + 1} was not acknowledged: {answer}", text)
                del self._right[queue]
                return
        self._tally.tokens.add(token)
        self._right[queue] = identifier, number + 1


def _identifiers(answer: Answer | None) -> list[str]:
    if answer is None or b"CreateSequenceResponse" not in answer.body:
        return []
    return re.findall(r"<(?:\w+:)?Identifier[^>]*>([^<]+)<", answer.body.decode())


def archive(caller: Caller, chance: Random) -> None:
    """An application, with something wrong in a file or in the archive."""
    data = io.BytesIO()
    given = files(0)
    with zipfile.ZipFile(data, "w", chance.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED))) as found:
        for name, text in given.items():
            wrong = chance.random() < 0.2
            content = spoiled_bytes(chance, text.encode()) if wrong else text.encode()
            place = f"app/{chance.choice(_FILES) if chance.random() < 0.03 else name}"
            if place not in found.namelist():
                found.writestr(place, content)
    body = spoiled_bytes(chance, data.getvalue()) if chance.random() < 0.4 else data.getvalue()
    caller.send("POST", "/api/versions", {"Content-Type": "application/zip"}, body)


_FILES = ("../x", "a\\b", "/x", "x/" * 300, "é" * 200, "main.demaq/x", "con", ".", "nul\0x", "x.xsd", *GATEWAYS)
