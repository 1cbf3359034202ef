"""Who is let in: with the token, at a bearable rate, with bodies that are not too large, and not while the node stops.

The guard stands before everything else, and speaks ASGI: what it refuses costs next to nothing.
"""

import hmac
import ipaddress
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from demaq.logs import logger, tell
from demaq.model import ServerSettings
from demaq.server.problems import Problem, problem

_LOG = logger("server")
_READING = ("GET", "HEAD", "OPTIONS")  # which change nothing
_OPEN = ("/health", "/ready")  # which say nothing that would be worth a secret
_CLIENTS = 10_000  # whose rate is remembered
_REFUSED = 400  # and whatever is above it
_REPLIES = "/replies/"


class Guard:
    def __init__(
        self, app: ASGIApp, settings: ServerSettings, is_public: Callable[[str], bool], is_stopping: Callable[[], bool]
    ) -> None:
        """`is_public` says which paths need no token."""
        self._app = app
        self._settings = settings
        self._is_public = is_public
        self._is_stopping = is_stopping
        self._rates = Rates(settings.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if _LOG.isEnabledFor(logging.WARNING):
            send = _telling(scope, send)
        try:
            self._check(scope)
            await self._app(scope, Bounded(receive, self._settings.largest), send)
        except Problem as refused:
            await problem(refused.status, refused.detail, refused.headers)(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        path, headers = scope["path"], Headers(scope=scope)
        client = scope.get("client")
        if path not in _OPEN:
            if self._is_stopping():
                raise Problem(503, "the node is stopping", {"retry-after": "5", "connection": "close"})
            pause = self._rates.pause(client[0] if client else "")
            if pause > 0:
                raise Problem(429, "too many requests from one address", {"retry-after": str(max(1, round(pause)))})
            if self._settings.token is None:
                _check_host(headers)
                if scope["method"] not in _READING:
                    _check_page(headers, self._settings.address)
            elif not self._is_public(path):
                _check_token(headers, self._settings.token)
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._settings.largest:
            raise _too_large(self._settings.largest)


def _telling(scope: Scope, send: Send) -> Send:
    """Lets it be known what was refused, by this guard or by what is behind it."""

    async def telling(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] >= _REFUSED:
            client = scope.get("client")
            path, secret, _ = scope["path"].partition(_REPLIES)  # who knows the rest gets the reply
            tell(
                _LOG,
                "request refused",
                level=logging.WARNING,
                status=message["status"],
                method=scope["method"],
                path=f"{path}{_REPLIES}…" if secret else path,
                client=client[0] if client else None,
            )
        await send(message)

    return telling


def _check_token(headers: Headers, token: str) -> None:
    kind, _, shown = headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not hmac.compare_digest(shown.strip().encode(), token.encode()):
        reason = "show the token: `Authorization: Bearer …`" if not shown else "this is not the token"
        raise Problem(401, reason, {"www-authenticate": "Bearer"})


def is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_host(headers: Headers) -> None:
    """A page of the web can ask this machine by a name of its own, and what nobody else reaches would answer it."""
    named = headers.get("host", "")
    try:
        host = urlsplit(f"//{named}").hostname
    except ValueError:
        host = named
    if host and not is_loopback(host):
        raise Problem(421, f"without a token, this node is asked as `localhost` only, and not as `{host[:200]}`")


def _check_page(headers: Headers, address: str | None) -> None:
    """A page of the web can also send something to this machine, by any name, though it cannot read the answer.

    Browsers say where a page is from; other clients say nothing of it.
    """
    origin = headers.get("origin")
    own = {headers.get("host", "").lower(), urlsplit(address or "").netloc.lower()} - {""}
    is_foreign = origin is not None and origin.lower().partition("://")[2] not in own
    if is_foreign or headers.get("sec-fetch-site") == "cross-site":
        site = "another site" if origin is None else f"`{origin[:200]}`"
        raise Problem(403, f"without a token, a page of {site} may change nothing here: let the node ask for a token")


def _too_large(largest: int) -> Problem:
    return Problem(413, f"this is larger than {largest:,} bytes", {"connection": "close"})


class Bounded:
    """What is received, up to so many bytes."""

    def __init__(self, receive: Receive, largest: int) -> None:
        self._receive = receive
        self._largest = largest
        self._size = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size > self._largest:
            raise _too_large(self._largest)
        return message


class Rates:
    """How often somebody may come: so often a second, and so often at once after a second of silence."""

    def __init__(self, rate: int, now: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._now = now
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # how often, and since when

    def pause(self, client: str) -> float:
        """Seconds that somebody should stay away; 0 if welcome."""
        if not self._rate:
            return 0.0
        now = self._now()
        left, since = self._left.pop(client, (float(self._rate), now))
        left = min(float(self._rate), left + (now - since) * self._rate)
        allowed = left >= 1
        self._left[client] = (left - 1 if allowed else left), now
        if len(self._left) > _CLIENTS:
            self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._rate
