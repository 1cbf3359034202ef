"""A server beside a node: an event loop in a thread of its own."""

import asyncio
import socket
import threading
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from urllib.parse import urlsplit

import uvicorn

from demaq.diagnostics import DemaqError
from demaq.gateways.folders import FileTransport
from demaq.gateways.http import HttpTransport
from demaq.gateways.outbox import Outbox
from demaq.gateways.parcel import Answer, Parcel, Undelivered
from demaq.gateways.protocols import ProtocolInvalid
from demaq.gateways.secure.sealing import Sealing
from demaq.gateways.smtp import SmtpTransport
from demaq.gateways.soap.sending import Calling
from demaq.logs import logger, tell
from demaq.model import EdgeSettings, ServerSettings
from demaq.node import Node
from demaq.server.app import application
from demaq.server.edge import Edge
from demaq.server.encryption import encryption
from demaq.server.guard import is_loopback
from demaq.server.inlets import folders, mailbox
from demaq.server.loop import Loop
from demaq.server.protocol import PatientProtocol
from demaq.server.tracing import Traced

_LOG = logger("server")
_GRACE = 10.0  # seconds that what is under way may take when the node stops
_LOOK = 0.2  # seconds between looks at who is still there then
_BACKLOG = 2048


class ServerRefused(DemaqError):
    """The server cannot be started as it is configured."""


class Serving:
    """Serves a node until it is stopped.

    >>> # with Serving(node, EdgeSettings()) as serving: node.run()
    """

    def __init__(self, node: Node, settings: EdgeSettings) -> None:
        check(settings)
        self._node = node
        self._settings = settings
        server, mail = settings.server, settings.mail
        _check_encryption(server)
        with ExitStack() as opened:
            self._socket = opened.enter_context(
                _listening(server.host, server.port, "name another with --port, or any that is free with --port 0")
            )
            self._mail = (
                opened.enter_context(_listening(mail.host, mail.port, "name another below [mail]"))
                if takes_mail(settings)
                else None
            )
            self._sockets = opened.pop_all()
        self._loop: asyncio.AbstractEventLoop | None = None  # while it serves
        self._stopping = asyncio.Event()
        self._is_ready = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="server", daemon=True)
        self.edge = Edge(node, settings)
        self.edge.address = self.address
        try:
            self.edge.interfaces.check(node.plan)
        except ProtocolInvalid as error:
            self.edge.close()
            self._sockets.close()
            raise ServerRefused(str(error)) from error

    @property
    def address(self) -> str:
        """Where it is reached from this machine, or by the name that is configured."""
        server = self._settings.server
        if server.address is not None:
            return server.address.rstrip("/")
        scheme = "http" if server.certificate is None else "https"
        host, port = self._socket.getsockname()[:2]
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"

    def __enter__(self) -> "Serving":
        self._thread.start()
        self._is_ready.wait()
        if self._failure is not None:
            self._close()
            raise self._failure
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
        self._close()
        if self._failure is not None and error is None:
            raise self._failure

    def _close(self) -> None:
        self._thread.join()
        self.edge.close()
        self._sockets.close()

    def stop(self) -> None:
        """Take nothing more, end what is under way, then stop the node. From any thread, or a signal handler."""
        self.edge.is_stopping = True
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._stopping.set)

    # In the thread

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=Loop) as runner:
                runner.run(self._serve())
        except BaseException as error:  # noqa: BLE001  # whoever waits is told
            self._failure = error
        finally:
            self._loop = None
            self._is_ready.set()
            self._node.stop()

    async def _serve(self) -> None:
        loop = self._loop = asyncio.get_running_loop()
        posting = HttpTransport(longest=lambda: self._node.plan.limits.message_size)
        async with posting as http, SmtpTransport(self._settings.mail) as smtp, FileTransport() as files:
            calling, tracing = Calling(http, Sealing(self._node.clock.now)), self._node.tracing
            transports = _Transports(http, smtp, files, calling)
            outbox = Outbox(
                self._settings,
                self.edge.interfaces,
                transports if tracing is None else Traced(transports, tracing),
                self.edge.connections,
                loop,
                self._node.clock,
                self._node.wake,
            )
            server = uvicorn.Server(self._configuration(application(self.edge, outbox)))
            serving = loop.create_task(server.serve(sockets=[self._socket]))
            while not server.started and not serving.done():
                await asyncio.sleep(0.01)
            self._node.care_for(outbox)
            async with mailbox(self.edge, self._mail), folders(self.edge):
                self._is_ready.set()
                tell(_LOG, "serving", address=self.address)
                stopping = loop.create_task(self._stopping.wait())
                await asyncio.wait([serving, stopping], return_when="FIRST_COMPLETED")
                self.edge.is_stopping = True
                self.edge.connections.close()
                await _end(server, serving)
            await outbox.close(_GRACE)

    def _configuration(self, app: object) -> uvicorn.Config:
        server = self._settings.server
        return uvicorn.Config(
            app,  # type: ignore[arg-type]
            http=partial(PatientProtocol, largest=server.largest),  # type: ignore[arg-type]
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=bool(server.proxies),
            forwarded_allow_ips=list(server.proxies),
            limit_concurrency=server.connections,
            backlog=_BACKLOG,
            timeout_graceful_shutdown=int(_GRACE),
            ssl_certfile=server.certificate,
            ssl_keyfile=server.key,
        )


async def _end(server: uvicorn.Server, serving: asyncio.Task[None]) -> None:
    """Takes no more requests, answers those that it has, and waits for nobody who has been answered."""
    server.should_exit = True
    while not serving.done():
        await asyncio.wait([serving], timeout=_LOOK)
        if server.should_exit and not server.server_state.tasks:
            _let_go(server, is_late=False)
    _let_go(server, is_late=True)
    await asyncio.sleep(0)  # sockets are closed in the loop's next turn
    await serving


def _let_go(server: uvicorn.Server, *, is_late: bool) -> None:
    for connection in list(server.server_state.connections):
        transport = getattr(connection, "transport", None)
        if transport is not None and (is_late or (transport.is_closing() and not transport.get_write_buffer_size())):
            transport.abort()


class _Transports:
    """By what an address begins with."""

    def __init__(self, http: HttpTransport, smtp: SmtpTransport, files: FileTransport, calling: Calling) -> None:
        self._http = http
        self._smtp = smtp
        self._files = files
        self._calling = calling

    async def call(self, parcel: Parcel, action: str, body: bytes, identity: str) -> bytes:
        return await self._calling.call(parcel, action, body, identity)

    async def send(self, parcel: Parcel) -> Answer | None:
        scheme = parcel.to.partition(":")[0]
        if scheme in ("http", "https"):
            return await (self._calling.send(parcel) if parcel.in_envelope else self._http.send(parcel))
        if not parcel.protocols.is_plain:
            raise Undelivered("security", f"what its gateway speaks is not spoken by `{scheme}:`", is_final=True)
        if scheme == "mailto":
            await self._smtp.send(parcel)
            return None
        if scheme == "file":
            await self._files.send(parcel)
            return None
        raise Undelivered("disconnectedTransport", f"nothing can be sent by `{scheme}:`", is_final=True)


def check(settings: EdgeSettings) -> None:
    """Closed by default: whom others reach asks for a token, or, for mail, says of whom it is taken."""
    server = settings.server
    if server.token == "":
        raise ServerRefused("the variable that `token` below [server] names is not set: set it, or DEMAQ_TOKEN")
    for name, gateway in settings.gateways.items():
        if gateway.token == "":
            raise ServerRefused(f"the variable that `token` below [gateways.{name}] names is not set: set it")
    place = _place_for_others(server)
    if place is not None and server.token is None:
        raise ServerRefused(
            f"a server that others reach {place} needs a token: set DEMAQ_TOKEN, or `token` below [server]"
        )
    mail = settings.mail
    if takes_mail(settings) and not is_loopback(mail.host) and not mail.relays:
        raise ServerRefused(
            f"others who reach the port for mail at {mail.host} show no token: set `relays` below [mail] to the "
            'addresses of the mail servers that give mail to this node, such as `relays = ["192.0.2.25"]`'
        )
    if (server.certificate is None) != (server.key is None):
        raise ServerRefused("TLS needs both `certificate` and `key` below [server]")


def takes_mail(settings: EdgeSettings) -> bool:
    """Has a gateway an address for mail?"""
    return any(gateway.mail for gateway in settings.gateways.values())


def _place_for_others(server: ServerSettings) -> str | None:
    """Where others reach a node, by itself or by a proxy; None if nobody does."""
    if not is_loopback(server.host):
        return f"at {server.host}"
    if server.address is not None and not is_loopback(urlsplit(server.address).hostname or ""):
        return f"at {server.address}"
    return "by `proxies`" if server.proxies else None


def _check_encryption(server: ServerSettings) -> None:
    try:
        encryption(server)
    except OSError as error:  # of ssl, too
        reason = error.strerror or error
        raise ServerRefused(
            f"TLS cannot use {server.certificate} and {server.key}, which [server] names: {reason}"
        ) from error


def _listening(host: str, port: int, remedy: str) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, place = found[0]
        return socket.create_server(place[:2], family=family, backlog=_BACKLOG)
    except OSError as error:
        raise ServerRefused(f"nobody can listen at {host}, port {port}: {error.strerror}; {remedy}") from error
