"""Messages that go out over HTTP."""

import asyncio
import socket
import ssl
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType

import httpx

from demaq.gateways.destinations import is_public, shown
from demaq.gateways.json import JsonInvalid, json_to_xml
from demaq.gateways.parcel import Answer, Parcel, Undelivered
from demaq.gateways.soap.requests import looks_like_envelope

_LARGEST = 10 * 1024 * 1024  # bytes of an answer
_TOLD = 500  # characters of an answer that says what is wrong
_ACCEPTED = 202  # it has arrived, and what is said of it is no reply
_LATER = (408, 425, 429)  # and all from 500 on: worth another try
_LONGEST_PAUSE = 3600.0  # seconds that a destination can ask for


class HttpTransport:
    """Posts messages. Redirections are not followed: an address is what an operator has allowed, or none."""

    def __init__(self) -> None:
        limits = httpx.Limits(max_connections=200, max_keepalive_connections=50)
        self._client = httpx.AsyncClient(follow_redirects=False, timeout=None, limits=limits, trust_env=False)

    async def __aenter__(self) -> "HttpTransport":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._client.aclose()

    async def send(self, parcel: Parcel) -> Answer | None:
        """Post a message as it is; raises `Undelivered`."""
        body = parcel.message.body.encode()
        headers = {"content-type": "application/xml; charset=utf-8", "idempotency-key": f'"{parcel.identity}"'}
        response, content = await self._post(parcel, body, headers)
        if not response.is_success:
            raise refused(response, content, parcel.to)
        if response.status_code == _ACCEPTED:
            return None
        document = _document(content, _media(response))
        return Answer(document) if document.strip() else None

    async def call(self, parcel: Parcel, body: bytes, headers: Mapping[str, str]) -> bytes:
        """Post an envelope; what is answered, if it is an envelope, or nothing at all. A fault comes in one, too."""
        response, content = await self._post(parcel, body, headers)
        if _is_xml(_media(response)) and looks_like_envelope(content, _media(response)):
            return content
        if not response.is_success:
            raise refused(response, content, parcel.to)
        return b""

    async def _post(self, parcel: Parcel, body: bytes, headers: Mapping[str, str]) -> tuple[httpx.Response, bytes]:
        try:
            return await self._posted(parcel, body, headers)
        except httpx.HTTPError as error:
            raise undelivered(error, parcel.to) from error
        except (httpx.InvalidURL, UnicodeError) as error:  # a host can break the rules of names in several ways
            text = f"{shown(parcel.to)} is no address for HTTP: {error}"
            raise Undelivered("disconnectedTransport", text, is_final=True) from error

    async def _posted(self, parcel: Parcel, body: bytes, headers: Mapping[str, str]) -> tuple[httpx.Response, bytes]:
        url, extensions, named = httpx.URL(parcel.to), {}, {**headers, **parcel.headers}
        if parcel.is_public_only:
            address = await _public_address(url)
            extensions, named["host"] = {"sni_hostname": url.host}, url.netloc.decode()
            url = url.copy_with(host=address)
        request = self._client.build_request("POST", url, content=body, headers=named, extensions=extensions)
        response = await self._client.send(request, stream=True)
        try:
            return response, await _content(response, parcel.to)
        finally:
            await response.aclose()


async def _content(response: httpx.Response, to: str) -> bytes:
    parts, size = [], 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > _LARGEST:
            raise Undelivered(
                "resource",
                f"the answer of {shown(to)} is larger than {_LARGEST:,} bytes",
                is_final=True,
                is_answer=True,
            )
        parts.append(part)
    return b"".join(parts)


def _media(response: httpx.Response) -> str:
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def _is_xml(media: str) -> bool:
    return media in ("text/xml", "application/xml") or media.endswith("+xml")


def _document(content: bytes, media: str) -> bytes:
    """An answer that may become a message: XML, or JSON as XML."""
    if media == "application/json" or media.endswith("+json"):
        try:
            return json_to_xml(content).encode()
        except JsonInvalid:
            return content  # which is refused as a message, and told
    return content if _is_xml(media) else b""


async def _public_address(url: httpx.URL) -> str:
    """An address of a host that data has named, if all of its addresses are outside our network."""
    loop = asyncio.get_running_loop()
    try:
        port = url.port or (443 if url.scheme == "https" else 80)
        found = await loop.getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise Undelivered("nameResolution", f"there is no host {url.host}: {error.strerror}") from error
    addresses = [str(each[4][0]) for each in found]
    if not all(map(is_public, addresses)):
        raise Undelivered(
            "security",
            f"{url.host} is inside this network: `allow` in demaq.toml has to name it without `*`",
            is_final=True,
        )
    return addresses[0]


def refused(response: httpx.Response, content: bytes, to: str) -> Undelivered:
    """A service has answered that it did not take a message."""
    status = response.status_code
    text = " ".join(content[:_TOLD].decode("utf-8", "replace").split())
    description = f"{shown(to)} answered {status} {response.reason_phrase}".strip() + (f": {text}" if text else "")
    is_final = status < 500 and status not in _LATER
    return Undelivered("httpStatus", description, is_final=is_final, is_answer=True, pause=_pause(response))


def _pause(response: httpx.Response) -> float:
    wanted = response.headers.get("retry-after", "")
    if wanted.isdecimal():
        return min(float(wanted), _LONGEST_PAUSE)
    try:
        then = parsedate_to_datetime(wanted)
    except (ValueError, OverflowError):
        return 0.0
    then = then if then.tzinfo is not None else then.replace(tzinfo=UTC)
    return min(max(0.0, (then - datetime.now(UTC)).total_seconds()), _LONGEST_PAUSE)


def undelivered(error: httpx.HTTPError, to: str) -> Undelivered:
    """What went wrong on the way, in the words of error messages."""
    causes = list(_causes(error))
    where = shown(to)
    if isinstance(error, httpx.TimeoutException):
        return Undelivered("timeout", f"{where} did not answer in time")
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return Undelivered("nameResolution", f"{where}: its host is not known")
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        reason = next(str(cause) for cause in causes if isinstance(cause, ssl.SSLError))
        return Undelivered("security", f"{where}: {reason}")
    if isinstance(error, httpx.UnsupportedProtocol):
        return Undelivered("disconnectedTransport", f"{where} is no address for HTTP", is_final=True)
    reason = str(error) or type(error).__name__
    return Undelivered("disconnectedTransport", f"{where} cannot be reached: {reason}")


def _causes(error: BaseException | None) -> "list[BaseException]":
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found
