"""What comes in other than over HTTP: by mail, and as files."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP, Envelope
from aiosmtpd.smtp import Session as Known

from demaq.engine.errors import printable
from demaq.engine.records import Incoming
from demaq.engine.xml import MessageRefused
from demaq.gateways.folders import FoundFile, LeftAlone, watch
from demaq.gateways.mail import MailInvalid, read_mail
from demaq.gateways.soap.envelope import Fault
from demaq.gateways.soap.requests import looks_like_envelope, open_envelope, read_request
from demaq.model import Value
from demaq.server.edge import Edge
from demaq.server.encryption import encryption
from demaq.server.relays import Relays, Session
from demaq.store import StoreUnavailable

_MOST_RECIPIENTS = 100
_TRY_AGAIN = "451 4.3.0 the store cannot be reached: try again"
_PAUSE = 1.0  # seconds, before the store is tried again


@asynccontextmanager
async def mailbox(edge: Edge, listening: socket.socket | None) -> AsyncIterator[None]:
    """A server for mail at a socket, which is there if a gateway has an address."""
    addresses = {settings.mail.lower(): queue for queue, settings in edge.settings.gateways.items() if settings.mail}
    if listening is None:
        yield
        return
    loop = asyncio.get_running_loop()
    relays = Relays(edge.settings.mail)
    handler = _Mailbox(edge, addresses, relays)
    settings = {"data_size_limit": edge.settings.server.largest, "tls_context": encryption(edge.settings.server)}

    def session() -> Session:
        return Session(relays, handler, enable_SMTPUTF8=True, ident="Demaq", loop=loop, timeout=60, **settings)

    server = await loop.create_server(session, sock=listening)
    edge.mail_port = server.sockets[0].getsockname()[1]
    try:
        yield
    finally:
        server.close()
        for each in list(relays.sessions):
            if isinstance(each.transport, asyncio.WriteTransport):
                each.transport.abort()
        await asyncio.sleep(0)  # sockets are closed in the loop's next turn


class _Mailbox:
    """Answers a server for mail: 250 when a message is durable."""

    def __init__(self, edge: Edge, addresses: dict[str, str], relays: Relays) -> None:
        self._edge = edge
        self._addresses = addresses
        self._relays = relays

    async def handle_MAIL(
        self, _server: SMTP, session: Known, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        pause = self._relays.pause(session.peer[0]) if session.peer else None
        if pause is not None:
            return pause
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(
        self, _server: SMTP, _session: Known, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if address.lower() not in self._addresses:
            return f"550 5.1.1 nobody here is called {address}"
        queues = {self._addresses[other.lower()] for other in (*envelope.rcpt_tos, address)}
        if len(queues) > 1:  # one may take it and another refuse it, but there is one answer
            return "452 4.5.3 this is for another gateway: send it there by itself"
        if len(envelope.rcpt_tos) >= _MOST_RECIPIENTS:
            return "452 4.5.3 too many recipients"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: SMTP, _session: Known, envelope: Envelope) -> str:
        content = envelope.content
        assert isinstance(content, bytes)
        queues = dict.fromkeys(self._addresses[address.lower()] for address in envelope.rcpt_tos)
        try:
            letter = await asyncio.to_thread(read_mail, content, envelope.mail_from or "")
            body: bytes | str = letter.body
            sent = letter.fingerprint
            if looks_like_envelope(letter.body, ""):
                found = await asyncio.to_thread(open_envelope, letter.body, self._edge.plan.limits)
                if found is not None:
                    body, sent = read_request(found).envelope.text(), found.fingerprint()
            reasons = [await self._edge.unsuitable(queue, body) for queue in queues]
        except (Fault, MailInvalid) as error:
            for queue in queues:
                await self._edge.tell(queue, "malformed", str(error), content)
            return f"554 5.6.0 {_line(str(error))}"
        except StoreUnavailable:
            return _TRY_AGAIN
        if any(reasons):
            return f"554 5.6.0 {_line(next(filter(None, reasons)))}"
        messages = [
            Incoming(
                queue=queue,
                body=body,
                now=self._edge.now(),
                properties=letter.properties,
                key=letter.key,
                fingerprint=sent,
            )
            for queue in queues
        ]
        try:
            answers = await self._edge.take_many(messages)
        except StoreUnavailable:
            return _TRY_AGAIN
        refused = [answer for answer in answers if isinstance(answer, MessageRefused)]
        if refused:
            return f"554 5.6.0 {_line(refused[0].reason)}"
        numbers = ", ".join(str(answer.message) for answer in answers if not isinstance(answer, MessageRefused))
        return f"250 OK {numbers}"

    async def handle_exception(self, error: Exception) -> str:
        return f"451 4.3.0 something is wrong inside the node: {type(error).__name__}"


def _line(text: str) -> str:
    """In one line, as answers of mail servers are, and in ASCII."""
    return " ".join(text.split()).encode("ascii", "replace").decode()[:400]


@asynccontextmanager
async def folders(edge: Edge) -> AsyncIterator[None]:
    """Watches folders, if gateways have some."""
    named = [(queue, settings.folder) for queue, settings in edge.settings.gateways.items() if settings.folder]
    tasks = [
        asyncio.create_task(
            watch(
                Path(folder),
                _taker(edge, queue),
                partial(edge.tell, queue),
                is_stopping=lambda: edge.is_stopping,
                largest=edge.settings.server.largest,
                longest=lambda: edge.plan.limits.message_size,
            )
        )
        for queue, folder in named
    ]
    try:
        yield
    finally:
        await asyncio.gather(*tasks)


def _taker(edge: Edge, queue: str) -> Any:
    async def take(found: FoundFile) -> str | None:
        incoming = Incoming(
            queue=queue,
            body=found.body,
            now=edge.now(),
            properties={"Sender": Value("xs:string", printable(found.path.name))},
            key=found.key,
        )
        while True:
            try:
                reason = await edge.unsuitable(queue, found.body)
                if reason is not None:
                    return reason
                answer = await edge.take(incoming)
            except StoreUnavailable as error:
                if edge.is_stopping:
                    raise LeftAlone("the node is stopping") from error
                await asyncio.sleep(_PAUSE)  # the file stays where it is until then
                continue
            return answer.reason if isinstance(answer, MessageRefused) else None

    return take
