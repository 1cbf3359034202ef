"""Where messages go, and where they may go: data does not name a destination that no operator has allowed."""

import ipaddress
import re
from collections.abc import Sequence
from urllib.parse import SplitResult, unquote, urlsplit

from demaq.diagnostics import DemaqError
from demaq.model import GatewaySettings

SCHEMES = ("http", "https", "mailto", "file")
_PORTS = {"http": 80, "https": 443}
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_MAIL_ADDRESS = re.compile(rf"{_ATOM}(\.{_ATOM})*@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*")
_EMBEDDING = ipaddress.IPv6Network("64:ff9b::/96")  # of NAT64: the rest is an address of IPv4
_NOT_OUTSIDE = [  # older ways to write an address of IPv4, or of a site
    ipaddress.IPv6Network(each) for each in ("::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "2002::/16", "fec0::/10")
]


class DestinationInvalid(DemaqError):
    """A message cannot go there."""


def destination(to: str | None, settings: GatewaySettings, of_interface: str | None) -> str | None:
    """Where a message goes whose property `To` says so, or says nothing. None if nobody knows a place.

    >>> destination(None, GatewaySettings(), "http://supplier.invalid/capacity")
    'http://supplier.invalid/capacity'
    """
    usual = settings.to or of_interface
    if to is None or to == usual:
        return usual
    if not is_allowed(to, settings.allow, usual):
        raise DestinationInvalid(
            f"the message is to go to {shown(to)}, where this gateway may not send: `allow` in demaq.toml says where"
        )
    return to


def is_allowed(to: str, allow: Sequence[str], usual: str | None = None) -> bool:
    """Does an operator let messages go there: below an address that is allowed, or to where they usually go?

    >>> is_allowed("https://a.example.org/x", ["https://*.example.org/"])
    True
    >>> is_allowed("https://example.org.evil.invalid/", ["https://example.org"])
    False
    >>> is_allowed("mailto:ada@example.org", ["mailto:*@example.org"])
    True
    """
    found = _split(to)
    if found is None:
        return False
    return any(
        pattern is not None and _covers(pattern, found)
        for pattern in map(_split, (*allow, *([usual] if usual is not None else ())))
    )


def needs_public_address(to: str, allow: Sequence[str], usual: str | None) -> bool:
    """Is a host allowed by a pattern only? Then it must not turn out to be one inside our own network."""
    named = [pattern for pattern in allow if "*" not in _host(pattern)]
    return to != usual and not is_allowed(to, named, usual)


def is_usual(to: str, usual: str | None) -> bool:
    """Is it where messages of a gateway go if they do not say anything else, or below that?"""
    return to == usual or is_allowed(to, (), usual)


def is_public(address: str) -> bool:
    """Is it an address of the world, rather than of this machine or its network?"""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if any(found in each for each in _NOT_OUTSIDE):
            return False
        if found.ipv4_mapped is not None or found in _EMBEDDING:
            found = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
    return found.is_global and not found.is_multicast


def _host(pattern: str) -> str:
    found = _split(pattern)
    return "" if found is None else found.netloc or found.path


def _split(uri: str) -> SplitResult | None:
    """The parts of an address that is clear: no user, no tricks in its path."""
    try:
        found = urlsplit(uri)
        has_port = found.port is not None or not re.search(r":\d*$", found.netloc)
    except ValueError:
        return None
    path = found.path if found.netloc else unquote(found.path)
    is_clear = found.username is None and "\\" not in uri and not re.search(r"[\x00-\x20\x7f]", uri)
    is_clear = is_clear and not re.search(r"[\x00-\x1f\x7f]", path)  # of a file, or of somebody who gets mail
    return found if found.scheme in SCHEMES and is_clear and has_port else None


def _covers(pattern: SplitResult, found: SplitResult) -> bool:
    if pattern.scheme != found.scheme:
        return False
    if found.scheme == "mailto":
        address = _mail_address(found)
        return address is not None and _matches(unquote(pattern.path).lower(), address.lower())
    hosts = _matches((pattern.hostname or "").lower(), (found.hostname or "").lower())
    ports = (pattern.port or _PORTS.get(pattern.scheme)) == (found.port or _PORTS.get(found.scheme))
    return hosts and ports and _is_below(found.path, pattern.path)


def mail_address(to: str) -> str | None:
    """The one whom mail to an address goes to: what is allowed is what is sent to. None if it is anything else.

    >>> mail_address("mailto:ada%40example.org"), mail_address("mailto:eve@evil.invalid(@example.org")
    ('ada@example.org', None)
    """
    return _mail_address(urlsplit(to))


def _mail_address(found: SplitResult) -> str | None:
    address = unquote(found.path)
    is_one = not (found.netloc or found.query or found.fragment) and _MAIL_ADDRESS.fullmatch(address)
    return address if is_one else None


def _matches(pattern: str, text: str) -> bool:
    """`*` stands for anything; in a host, for what is before a dot."""
    return re.fullmatch(".+".join(map(re.escape, pattern.split("*"))), text) is not None


def _is_below(path: str, top: str) -> bool:
    """Does a path begin with another, whole names at a time?"""
    if any(part in (".", "..") for part in re.split("/|%2[fF]", path.replace("%2e", ".").replace("%2E", "."))):
        return False
    top = top.rstrip("/")
    return path == top or path.startswith(f"{top}/") or not top


def origin(to: str) -> str:
    """What is reached or not reached as one: the host of an address, the server for all mail, or a folder.

    >>> origin("https://example.org/a/b?c"), origin("mailto:ada@example.org"), origin("file:/srv/out")
    ('https://example.org', 'mailto:', 'file:/srv/out')
    """
    found = urlsplit(to)
    if found.scheme == "file":
        return to
    return f"{found.scheme}://{found.netloc}" if found.netloc else f"{found.scheme}:"


def shown(uri: str) -> str:
    """An address without what may be secret in it."""
    try:
        found = urlsplit(uri)
    except ValueError:
        return "an address that cannot be read"
    host = found.netloc.rpartition("@")[2]
    return found._replace(netloc=host, query="…" if found.query else "", fragment="").geturl()
