"""Connections to hosts that data has named: to those outside our own network, and to no others."""

import asyncio
import socket
from collections.abc import Iterable

import httpcore

from demaq.gateways.destinations import is_public
from demaq.gateways.parcel import Undelivered


class Outside(httpcore.AsyncNetworkBackend):
    """Looks at addresses as it connects: a name that is asked for twice could stand for another one then.

    All else is as for any host: its name is that in the certificate, and connections are those of the name.
    """

    def __init__(self) -> None:
        self._any = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        address = await _public_address(host, port)
        return await self._any.connect_tcp(address, port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def _public_address(host: str, port: int) -> str:
    """An address of a host, if all of its addresses are outside our network."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise Undelivered("nameResolution", f"there is no host {host}: {error.strerror}") from error
    addresses = [str(each[4][0]) for each in found]
    if not all(map(is_public, addresses)):
        raise Undelivered(
            "security",
            f"{host} is inside this network: `allow` in demaq.toml has to name it without `*`",
            is_final=True,
        )
    return addresses[0]
