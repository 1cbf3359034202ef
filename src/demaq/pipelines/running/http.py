"""Services that are asked for documents, or that documents are sent to."""

import base64
import http.client
import re
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from urllib.parse import unquote, urlsplit, urlunsplit

from demaq.diagnostics import listing
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.program import Endpoint
from demaq.pipelines.running.configured import seen
from demaq.pipelines.vocabulary import AUTHORIZATION, Format

_TYPES = {Format.JSON: "application/json", Format.CSV: "text/csv", Format.XML: "application/xml"}
_LARGEST = 256 * 1024 * 1024  # bytes of a document
_TIME_LIMIT = 60.0  # seconds
_PAUSES = (0.2, 1.0, 5.0)  # seconds between tries
_PATIENCE = (408, 425, 429)  # statuses of the client's fault that may go away by themselves
_NOTHING_NEW = (204, 304)
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A document, and by what the service will know it again."""

    document: bytes
    tag: str | None


def fetch(endpoint: Endpoint, tag: str | None = None) -> Fetched | None:
    """The document that a service has now; None if it has none, or still that with the tag."""
    request = _request(endpoint)
    request.add_header("Accept", _TYPES.get(endpoint.format, "*/*"))
    if tag is not None:
        request.add_header("If-None-Match", tag)
    status, body, headers = _tried(request, endpoint, "asked")
    if status in _NOTHING_NEW:
        return None
    if status >= 300:
        raise PipelineFailed(f"`{endpoint.shown}` cannot be asked: {seen(_reason(status, body), endpoint)}")
    return Fetched(body, headers.get("ETag"))


def post(endpoint: Endpoint, document: str, key: str) -> str | None:
    """Send a document; why the service will never take it, if so. By the key it can tell that it has had it before."""
    request = _request(endpoint)
    request.data = document.encode()
    request.method = "POST"
    request.add_header("Content-Type", _TYPES.get(endpoint.format, "text/plain"))
    request.add_header("Idempotency-Key", key)
    status, body, _ = _tried(request, endpoint, "sent to")
    return None if status < 300 else seen(_reason(status, body), endpoint)


def address_of(endpoint: Endpoint) -> str:
    """Where a service is: the URI, or what stands behind its scheme, if that is all of an address."""
    found = endpoint.path if _ADDRESS.match(endpoint.path) else endpoint.uri
    begins = ("https",) if endpoint.scheme == "https" else ("http", "https")
    if not _is_address(found) or urlsplit(found).scheme not in begins:
        known = listing([f"{begin}://" for begin in begins], "or")
        raise PipelineFailed(
            f"`{endpoint.shown}` is no address of a service: it begins with {known}, and a host follows; in a "
            "password, `/`, `@` and `:` are written `%2F`, `%40` and `%3A`"
        )
    return found


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:  # which says what is wrong, and that may be a part of a password
        return False


def _request(endpoint: Endpoint) -> urllib.request.Request:
    parts = urlsplit(address_of(endpoint))
    host = parts.netloc.rpartition("@")[2]
    request = urllib.request.Request(urlunsplit(parts._replace(netloc=host)))
    if AUTHORIZATION in endpoint.options:
        request.add_header("Authorization", str(endpoint.options[AUTHORIZATION]))
    elif parts.username is not None:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        request.add_header("Authorization", f"Basic {base64.b64encode(user.encode()).decode()}")
    return request


def _tried(
    request: urllib.request.Request, endpoint: Endpoint, verb: str, pause: Callable[[float], None] = time.sleep
) -> tuple[int, bytes, Message]:
    """Ask again, after a while, if the service is not there, or says that something is wrong with it."""
    for wait in (*_PAUSES, None):
        try:
            with _OPENER.open(request, timeout=_TIME_LIMIT) as answer:
                body = answer.read(_LARGEST + 1)
                if len(body) > _LARGEST:
                    raise PipelineFailed(f"`{endpoint.shown}` has a document of more than {_LARGEST >> 20} MB")
                return answer.status, body, answer.headers
        except urllib.error.HTTPError as error:
            found = error.code, error.read(1000), error.headers
            if error.code < 500 and error.code not in _PATIENCE:
                return found
            reason = _reason(*found[:2])
        except http.client.InvalidURL as error:  # which shows the address
            raise PipelineFailed(f"`{endpoint.shown}` cannot be {verb}: a blank in it is written `%20`") from error
        except (OSError, http.client.HTTPException) as error:
            reason = _in_words(error)
        if wait is not None:
            pause(wait)
    raise PipelineFailed(f"`{endpoint.shown}` cannot be {verb}: {seen(reason, endpoint)}")


def _in_words(error: Exception) -> str:
    """Why there was no answer."""
    cause = getattr(error, "reason", None) or error
    if isinstance(cause, ConnectionRefusedError):
        return "nobody answers at that address; does the service run, and are host and port those where it does?"
    if isinstance(cause, socket.gaierror):
        return f"its host is not known ({cause.strerror}); is the name right, and is there a network?"
    if isinstance(cause, TimeoutError):
        return "nobody has answered in time; is the host right, and can it be reached from here?"
    return str(cause) or type(cause).__name__


def _reason(status: int, body: bytes) -> str:
    text = " ".join(body[:200].decode("utf-8", "replace").split())
    return f"it answers with {status} {http.client.responses.get(status, '')}{f': {text}' if text else ''}"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Credentials are for the service that is named, and for no other."""

    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)
