"""What goes out over HTTP."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx
import pytest

from demaq.gateways.http import HttpTransport, refused
from demaq.gateways.parcel import Answer, Parcel, Undelivered
from gateways.parcels import parcel


def with_transport(work: Callable[[HttpTransport], Awaitable[object]]) -> object:
    async def run() -> object:
        async with HttpTransport() as http:
            return await work(http)

    return asyncio.run(run())


def sent(what: Parcel) -> Answer | None:
    found = with_transport(lambda http: http.send(what))
    assert found is None or isinstance(found, Answer)
    return found


NO_ADDRESSES = [
    "http://127.0.0.1:9/\x7f",
    "http://127.0.0.1:9/" + "x" * 70_000,
    f"http://{'a' * 64}.example.org/",
    "http://a..example.org/",
    "http://xn--a-.example.org/",
    "http://ab--ü.example.org/",
]


@pytest.mark.parametrize("to", NO_ADDRESSES, ids=lambda to: to[:30].encode("unicode_escape").decode())
def test_what_is_no_address_is_told(to: str) -> None:
    with pytest.raises(Undelivered, match="is no address for HTTP") as raised:
        sent(parcel(to, is_public_only=True))
    assert raised.value.kind == "disconnectedTransport"
    assert raised.value.is_final


@pytest.mark.parametrize(
    ("wanted", "pause"),
    [("7", 7), ("99999999999999", 3600), ("Mon, 01 Jan 99999999999999 00:00:00 GMT", 0), ("later", 0), ("", 0)],
)
def test_how_long_a_destination_wants_to_be_left_alone(wanted: str, pause: float) -> None:
    assert refused(httpx.Response(503, headers={"retry-after": wanted}), b"", "http://a.invalid/").pause == pause
