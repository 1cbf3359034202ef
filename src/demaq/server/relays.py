"""Who gives mail to a node: the mail servers that it is told of, so many at a time, at a bearable rate."""

import asyncio
import ipaddress
import logging
import time
from typing import Any

from aiosmtpd.smtp import SMTP

from demaq.logs import logger, tell
from demaq.model import MailSettings
from demaq.server.guard import Rates

_LOG = logger("server")
_MINUTE = 60.0  # seconds
_STRANGER = "421 4.7.1 this node takes mail of the mail servers that it was told of"
_FULL = "421 4.7.0 too many connections: try again later"
_TOO_FAST = "450 4.7.1 too many mails from one address: try again later"


class Relays:
    """Programs on this machine are let in, and `relays` are."""

    def __init__(self, settings: MailSettings) -> None:
        self._networks = [ipaddress.ip_network(relay, strict=False) for relay in settings.relays]
        self._most = settings.connections
        self._rates = Rates(settings.rate, lambda: time.monotonic() / _MINUTE)
        self.sessions: set[Session] = set()

    def refusal(self, client: str) -> str | None:
        """The answer to somebody who cannot come in, with which the connection ends."""
        if not self._is_known(client):
            return _refused(_STRANGER, client)
        return _refused(_FULL, client) if len(self.sessions) >= self._most else None

    def pause(self, client: str) -> str | None:
        """The answer to somebody who has to wait before the next mail."""
        return _refused(_TOO_FAST, client) if self._rates.pause(client) > 0 else None

    def _is_known(self, client: str) -> bool:
        address = ipaddress.ip_address(client.partition("%")[0])
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return address.is_loopback or any(address in network for network in self._networks)


def _refused(answer: str, client: str) -> str:
    tell(_LOG, "mail refused", level=logging.WARNING, client=client, reason=answer.partition(" ")[2])
    return answer


class Session(SMTP):
    """A connection of somebody who gives mail, or who is told at once that nothing is taken."""

    def __init__(self, relays: Relays, handler: Any, **settings: Any) -> None:
        super().__init__(handler, **settings)
        self._relays = relays

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        if self in self._relays.sessions:  # it is encrypted from now on
            super().connection_made(transport)
            return
        peer = transport.get_extra_info("peername")
        if not peer:  # who has gone again
            transport.abort()
            return
        answer = self._relays.refusal(peer[0])
        if answer is not None:
            transport.write(f"{answer}\r\n".encode())
            transport.close()
            return
        self._relays.sessions.add(self)
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self in self._relays.sessions:
            super().data_received(data)

    def eof_received(self) -> bool | None:
        return super().eof_received() if self in self._relays.sessions else None

    def connection_lost(self, error: Exception | None) -> None:
        if self in self._relays.sessions:
            self._relays.sessions.discard(self)
            super().connection_lost(error)

    def _getaddr(self, arg: str) -> tuple[str | None, str | None]:
        """Python's own parser fails at an address that ends too soon, as `<a@`."""
        try:
            found: tuple[str | None, str | None] = super()._getaddr(arg)
        except IndexError:
            return None, None
        return found
