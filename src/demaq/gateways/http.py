"""Messages that go out over HTTP."""

import os
import socket
import ssl
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType

import httpcore
import httpx

from demaq.diagnostics import DemaqError
from demaq.engine.xml import in_utf8
from demaq.gateways.aside import aside
from demaq.gateways.destinations import is_usual, shown
from demaq.gateways.json import LONGEST, JsonInvalid, JsonTooLarge, json_to_xml
from demaq.gateways.outside import Outside
from demaq.gateways.parcel import Answer, Parcel, Undelivered
from demaq.gateways.soap.requests import looks_like_envelope

_LARGEST = 10 * 1024 * 1024  # bytes of an answer
_TOLD = 500  # characters of an answer that says what is wrong
_ACCEPTED = 202  # it has arrived, and what is said of it is no reply
_LATER = (408, 425, 429)  # and all from 500 on: worth another try
_LONGEST_PAUSE = 3600.0  # seconds that a destination can ask for

_Answered = tuple[httpx.Response, bytes | None]


class AuthoritiesInvalid(DemaqError):
    """Nobody can be believed, since what says who is cannot be read."""


class HttpTransport:
    """Posts messages. Redirections are not followed: an address is what an operator has allowed, or none."""

    def __init__(self, tls: ssl.SSLContext | None = None, longest: Callable[[], int] = lambda: LONGEST) -> None:
        """`tls` says whose certificates are believed, instead of those of `_believed`.

        `longest` says how many characters an answer may have as a message.
        """
        tls = tls or _believed()
        self._longest = longest
        self._client = _client(_Transport(tls))
        self._outside = _client(_Transport(tls, Outside()))

    async def __aenter__(self) -> "HttpTransport":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._client.aclose()
        await self._outside.aclose()

    async def send(self, parcel: Parcel) -> Answer | None:
        """Post a message as it is; raises `Undelivered`."""
        body = parcel.message.body.encode()
        headers = {"content-type": "application/xml; charset=utf-8", "idempotency-key": f'"{parcel.identity}"'}
        response, content = await self._post(parcel, body, headers)
        if not response.is_success:
            raise refused(response, content or b"", parcel.to)
        if response.status_code == _ACCEPTED or parcel.settings.replies is None:
            return None
        written = in_utf8(_readable(content, response, parcel.to), response.charset_encoding)
        try:
            document = await aside(partial(_document, media=_media(response), longest=self._longest()), written)
        except JsonTooLarge as error:
            text = f"{shown(parcel.to)}: {error}"
            raise Undelivered("resource", text, is_final=True, is_answer=True) from error
        return Answer(document) if document.strip() else None

    async def call(self, parcel: Parcel, body: bytes, headers: Mapping[str, str]) -> bytes:
        """Post an envelope; what is answered, if it is an envelope, or nothing at all. A fault comes in one, too."""
        response, content = await self._post(parcel, body, headers)
        if content and _is_xml(_media(response)) and looks_like_envelope(content, _media(response)):
            return in_utf8(content, response.charset_encoding)
        if not response.is_success:
            raise refused(response, content or b"", parcel.to)
        _readable(content, response, parcel.to)
        return b""

    async def _post(self, parcel: Parcel, body: bytes, headers: Mapping[str, str]) -> _Answered:
        try:
            return await self._posted(parcel, body, headers)
        except httpx.HTTPError as error:
            raise undelivered(error, parcel.to) from error
        except (httpx.InvalidURL, UnicodeError) as error:  # a host can break the rules of names in several ways
            text = f"{shown(parcel.to)} is no address for HTTP: {error}"
            raise Undelivered("disconnectedTransport", text, is_final=True) from error

    async def _posted(self, parcel: Parcel, body: bytes, headers: Mapping[str, str]) -> _Answered:
        client = self._outside if parcel.is_public_only else self._client
        all_headers = {**headers, **parcel.headers, **_token(parcel)}
        request = client.build_request("POST", parcel.to, content=body, headers=all_headers)
        response = await client.send(request, stream=True)
        try:
            return response, await _content(response, parcel.to)
        finally:
            await response.aclose()


def _token(parcel: Parcel) -> dict[str, str]:
    """It is for where messages of a gateway usually go: places that data names do not learn it."""
    of_interface = None if parcel.port is None else parcel.port.address
    token = parcel.settings.token
    is_for_it = token is not None and is_usual(parcel.to, parcel.settings.to or of_interface)
    return {"authorization": f"Bearer {token}"} if is_for_it else {}


def _believed() -> ssl.SSLContext:
    """Well-known authorities, or those of `SSL_CERT_FILE` or `SSL_CERT_DIR`; raises `AuthoritiesInvalid`."""
    try:
        return httpx.create_ssl_context()
    except OSError as error:  # of ssl, too
        file = os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")
        raise AuthoritiesInvalid(f"{file} has no certificates of authorities: {error.strerror or error}") from error


class _Transport(httpx.AsyncHTTPTransport):
    """As many connections as there are lanes; made in another way, if there is one, for which httpx has no setting."""

    def __init__(self, tls: ssl.SSLContext, backend: httpcore.AsyncNetworkBackend | None = None) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=50)
        super().__init__(verify=tls, trust_env=False, limits=limits)
        if backend is not None:
            self._pool._network_backend = backend


def _client(transport: httpx.AsyncBaseTransport) -> httpx.AsyncClient:
    """Without cookies: what one message was told is no matter of another."""
    cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    headers = {"accept-encoding": "identity"}
    return httpx.AsyncClient(
        transport=transport, headers=headers, cookies=cookies, follow_redirects=False, timeout=None, trust_env=False
    )


async def _content(response: httpx.Response, to: str) -> bytes | None:
    """None if it is packed, which nobody has asked for: nobody knows how large it would become."""
    if _encoding(response) not in ("", "identity"):
        return None
    parts, size = [], 0
    async for part in response.aiter_raw():
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


def _readable(content: bytes | None, response: httpx.Response, to: str) -> bytes:
    if content is None:
        text = f"the answer of {shown(to)} is packed with {_encoding(response)!r}, though that was not asked for"
        raise Undelivered("malformed", text, is_final=True, is_answer=True)
    return content


def _encoding(response: httpx.Response) -> str:
    return str(response.headers.get("content-encoding", "")).strip().lower()


def _media(response: httpx.Response) -> str:
    return str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()


def _is_xml(media: str) -> bool:
    return media in ("text/xml", "application/xml") or media.endswith("+xml")


def _document(content: bytes, media: str, longest: int) -> bytes:
    """An answer that may become a message: XML, or JSON as XML; raises `JsonTooLarge`."""
    if media == "application/json" or media.endswith("+json"):
        try:
            return json_to_xml(content, longest).encode()
        except JsonTooLarge:
            raise
        except JsonInvalid:
            return content  # which is refused as a message, and told
    return content if _is_xml(media) else b""


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
