"""Where messages may go."""

import pytest

from demaq.gateways.destinations import (
    DestinationInvalid,
    destination,
    is_allowed,
    is_public,
    needs_public_address,
    origin,
    shown,
)
from demaq.model import GatewaySettings

ALLOWED = [
    ("http://a.example/", "http://a.example"),
    ("http://a.example/", "http://a.example/x/y?z=1"),
    ("http://a.example/x", "http://a.example/x"),
    ("http://a.example/x", "http://a.example/x/y"),
    ("http://a.example:80/", "http://a.example/"),
    ("https://a.example/", "https://A.EXAMPLE:443/"),
    ("https://*.example/", "https://b.a.example/"),
    ("https://*/", "https://anything.invalid/"),
    ("mailto:*@example.org", "mailto:Ada@Example.org"),
    ("mailto:ada@example.org", "mailto:ada@example.org"),
    ("mailto:ada%40example.org", "mailto:ada@example.org"),
    ("mailto:*@example.org", "mailto:ada%2Bx%40example.org"),
]
REFUSED = [
    ("http://a.example/", "https://a.example/"),
    ("http://a.example/", "http://a.example:8080/"),
    ("http://a.example/", "http://a.example.evil.invalid/"),
    ("http://a.example/", "http://evil.invalid/http://a.example/"),
    ("http://a.example/", "http://a.example@evil.invalid/"),
    ("http://a.example/", "http://user:pw@a.example/"),
    ("http://a.example/", "http://a.example\\@evil.invalid/"),
    ("http://a.example/", "http://a.example /"),
    ("http://a.example/", "http://a.example:x/"),
    ("http://a.example/", "http://[a.example/"),
    ("http://a.example/x", "http://a.example/xy"),
    ("http://a.example/x", "http://a.example/x/../y"),
    ("http://a.example/x", "http://a.example/x/%2e%2e/y"),
    ("http://a.example/x", "http://a.example/x/..%2fy"),
    ("https://*.example/", "https://example/"),
    ("https://*.example/", "https://a.example.evil/"),
    ("mailto:*@example.org", "mailto:ada@example.org.evil"),
    ("mailto:*@example.org", "mailto:@example.org"),
    ("mailto:*@example.org", "mailto:eve@evil.invalid(@example.org"),
    ("mailto:*@example.org", "mailto:eve@evil.invalid,x@example.org"),
    ("mailto:*@example.org", "mailto:%3Ceve@evil.invalid%3E@example.org"),
    ("mailto:*@example.org", "mailto:eve%40evil.invalid%20x@example.org"),
    ("mailto:*@example.org", "mailto:x%3Ceve@evil.invalid%3E,@example.org"),
    ("mailto:*@example.org", "mailto:eve%2540evil.invalid@example.org%0a"),
    ("mailto:*@example.org", "mailto:ada@example.org?to=eve@evil.invalid"),
    ("mailto:*@example.org", "mailto://evil.invalid/ada@example.org"),
    ("http://a.example/", "ftp://a.example/"),
    ("http://a.example/", "file:///etc/passwd"),
    ("http://a.example/", "javascript:alert(1)"),
    ("http://a.example/", ""),
    ("http://a.example/", "http://a.example/\x7f"),
    ("file:/srv/out", "file:/srv/out/%00"),
    ("mailto:*@example.org", "mailto:ada%0d%0a@example.org"),
    ("nonsense", "nonsense"),
]


@pytest.mark.parametrize(("pattern", "to"), ALLOWED)
def test_allowed(pattern: str, to: str) -> None:
    assert is_allowed(to, [pattern])
    assert destination(to, GatewaySettings(allow=(pattern,)), None) == to


@pytest.mark.parametrize(("pattern", "to"), REFUSED)
def test_refused(pattern: str, to: str) -> None:
    assert not is_allowed(to, [pattern])
    with pytest.raises(DestinationInvalid, match="allow"):
        destination(to, GatewaySettings(allow=(pattern,)), None)


def test_where_messages_go_by_themselves() -> None:
    assert destination(None, GatewaySettings(), None) is None
    assert destination(None, GatewaySettings(), "http://of.interface/") == "http://of.interface/"
    assert destination(None, GatewaySettings(to="http://configured/"), "http://of.interface/") == "http://configured/"
    assert destination("http://configured/", GatewaySettings(to="http://configured/"), None) == "http://configured/"
    assert destination("http://configured/x", GatewaySettings(to="http://configured/"), None) == "http://configured/x"
    with pytest.raises(DestinationInvalid):
        destination("http://of.interface/", GatewaySettings(to="http://configured/"), "http://of.interface/")


def test_hosts_that_are_named_may_be_anywhere() -> None:
    assert not needs_public_address("http://a.example/", ["http://a.example/"], None)
    assert not needs_public_address("http://a.example/", ["http://*/"], "http://a.example/")
    assert not needs_public_address("http://a.example/x", ["http://*/", "http://a.example/"], None)
    assert not needs_public_address("http://user:word@127.0.0.1/", [], "http://user:word@127.0.0.1/")
    assert needs_public_address("http://b.example/", ["http://*.example/", "http://a.example/"], None)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("127.0.0.1", False),
        ("10.0.0.1", False),
        ("169.254.169.254", False),
        ("192.168.1.1", False),
        ("172.16.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:93.184.216.34", True),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::a00:1", False),
        ("64:ff9b::5db8:d822", True),
        ("64:ff9b:1::7f00:1", False),
        ("2002:7f00:1::", False),
        ("::7f00:1", False),
        ("::ffff:0:127.0.0.1", False),
        ("fec0::1", False),
        ("2606:2800:220:1::1", True),
    ],
)
def test_addresses_of_the_world(address: str, public: bool) -> None:
    assert is_public(address) == public


def test_what_is_shown_of_an_address() -> None:
    assert shown("https://user:secret@a.example/x?token=secret#y") == "https://a.example/x?…"
    assert shown("http://[") == "an address that cannot be read"
    assert origin("http://a.example:81/x") == origin("http://a.example:81/y") != origin("http://a.example/x")
