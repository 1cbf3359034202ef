"""Two nodes and the network between them, in one process and in a time of its own: hours pass in milliseconds."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lxml import etree

from demaq.engine.xml import read_message
from demaq.gateways.parcel import Undelivered
from demaq.gateways.reliable.desk import Finished
from demaq.gateways.reliable.destination import Arrival
from demaq.gateways.reliable.exchange import Asked, acknowledging, answer, read_exchange
from demaq.gateways.reliable.faults import ReliableFault, fault_envelope
from demaq.gateways.reliable.headers import Place
from demaq.gateways.reliable.inbound import Inbound, InboundState
from demaq.gateways.reliable.letters import Letter, Written
from demaq.gateways.reliable.outbound import Outbound
from demaq.gateways.reliable.policy import ReliablePolicy
from demaq.gateways.reliable.receiver import Receiver
from demaq.gateways.reliable.sender import Sender
from demaq.gateways.reliable.source import Source
from demaq.gateways.soap.addressing import read_addressing
from demaq.gateways.soap.envelope import Fault, Version, envelope, fault, read_envelope
from demaq.model import Limits
from demaq.store import Note
from gateways.reliable.time_travel import now

TO = "http://there.invalid/orders"
_LONG = 100_000.0  # seconds of the simulated time, in which everything has to happen


@dataclass(frozen=True, slots=True)
class Item:
    key: str | None
    body: str


@dataclass(slots=True, kw_only=True)
class Trouble:
    """How often what goes wrong, from 0 to 1, and for how long things are on their way."""

    lost: float = 0.0
    reset: float = 0.0
    copied: float = 0.0
    unanswered: float = 0.0
    uncommitted: float = 0.0  # the store fails, perhaps after it has done its work
    delay: float = 0.1  # seconds at most
    chance: random.Random = field(default_factory=lambda: random.Random(1))

    def comes(self, rate: float) -> bool:
        return self.chance.random() < rate

    async def pause(self) -> None:
        await asyncio.sleep(self.chance.uniform(0, self.delay))


@dataclass(slots=True)
class Server:
    """The node that messages come to. What is in `delivered` and `notes` survives its crashes."""

    policy: ReliablePolicy
    trouble: Trouble
    has_keys: bool = True
    gives_answers: bool = False
    delivered: list[str] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    _keys: set[str] = field(default_factory=set)
    _places: dict[Place, str] = field(default_factory=dict)
    _receiver: Receiver[Item, int] = field(init=False)
    _life: int = 0

    def __post_init__(self) -> None:
        self.crash()

    @property
    def sequences(self) -> list[Inbound]:
        return [Inbound.from_text(text) for text in self.notes.values()]

    @property
    def is_idle(self) -> bool:
        return all(each.state is InboundState.TERMINATED for each in self.sequences)

    def crash(self) -> None:
        """What is in memory is gone, and whoever works on it never comes to an end."""
        self._life += 1
        life = self._life

        async def commit(items: Sequence[Item], notes: Sequence[Note]) -> Sequence[int]:
            await self.trouble.pause()
            fails = self.trouble.comes(self.trouble.uncommitted)
            if life != self._life or (fails and self.trouble.comes(0.5)):
                raise OSError("the store is gone")
            numbers = [self._arrive(item) for item in items]
            self.notes |= dict(notes)
            if fails:
                raise OSError("the store has gone away")
            await self.trouble.pause()
            return numbers

        async def load() -> Mapping[str, str]:
            return dict(self.notes)

        self._receiver = Receiver("orders", self.policy, commit, load, now)

    def forget_sequences(self) -> None:
        """As a node does whose store was set up anew, but for the messages in it."""
        self.notes.clear()
        self.crash()

    def _arrive(self, item: Item) -> int:
        if item.key is None or item.key not in self._keys:
            self.delivered.append(item.body)
            self._keys |= set() if item.key is None else {item.key}
        return len(self.delivered)

    async def handle(self, data: bytes) -> bytes:
        life = self._life
        found = read_envelope(read_message(data, Limits()).root)
        asked = None
        try:
            asked = read_exchange(found, self.policy)
            assert asked is not None
            if asked.is_for_application:
                reply = await self._accept(asked)
            else:
                reply = await self._receiver.answer(asked) or b""
        except ReliableFault as refusal:
            reply = fault_envelope(found.version, refusal, read_addressing(found))
        except Fault as refusal:
            reply = fault(found.version, refusal)
        if life != self._life:
            raise OSError("the node has stopped meanwhile")
        return reply

    async def _accept(self, asked: Asked) -> bytes:
        place, body = asked.headers.place, asked.envelope.text()
        assert place is not None
        assert self._places.setdefault(place, body) == body, f"{place} is that of two messages"
        item = Item(asked.addressing.message_id if self.has_keys else None, body)
        receipt = await self._receiver.accept(place, item, len(body), is_waiting=self.gives_answers)
        given = receipt.acknowledgement
        noted = [each.delivered for each in self.sequences if each.identifier == place.identifier]
        assert not noted or given.received.last <= noted[0], "something is acknowledged that is not in the store"
        if not self.gives_answers or receipt.arrival is Arrival.EARLY:
            return answer(asked, None, [given])
        payload = etree.fromstring(f"<answer>{body}</answer>")
        return envelope(asked.envelope.version, payload, acknowledging(asked.version, [given]))


@dataclass(slots=True)
class Network:
    server: Server
    trouble: Trouble
    posts: int = 0
    _copies: set[asyncio.Task[None]] = field(default_factory=set)

    async def post(self, written: Written) -> bytes:
        trouble = self.trouble
        self.posts += 1
        await trouble.pause()
        if trouble.comes(trouble.reset):
            raise Undelivered("disconnectedTransport", "reset")
        if trouble.comes(trouble.copied):
            copy = asyncio.create_task(self._copy(written.body))
            self._copies.add(copy)
            copy.add_done_callback(self._copies.discard)
        if trouble.comes(trouble.lost):
            await asyncio.sleep(_LONG)
        try:
            reply = await self.server.handle(written.body)
        except OSError as error:
            raise Undelivered("disconnectedTransport", str(error)) from error
        await trouble.pause()
        if trouble.comes(trouble.unanswered):
            raise Undelivered("disconnectedTransport", "reset after all")
        return reply

    async def _copy(self, body: bytes) -> None:
        """It comes again, some time later, and nobody waits for what is answered."""
        await asyncio.sleep(self.trouble.chance.uniform(0, 20 * self.trouble.delay))
        try:
            await self.server.handle(body)
        except OSError:
            return


@dataclass(slots=True)
class Client:
    """The node that messages come from. `held`, `finished` and `note` survive its crashes."""

    policy: ReliablePolicy
    network: Network
    soap: Version = Version.SOAP_11
    patience: float = float("inf")
    held: dict[int, str] = field(default_factory=dict)
    finished: list[Finished] = field(default_factory=list)
    note: str = ""
    window: int = 20
    wants_answer: bool = False
    _sender: Sender | None = None
    _running: asyncio.Task[None] | None = None

    def put(self, message: int, body: str) -> None:
        self.held[message] = body
        if self._sender is not None:
            self._sender.put(self._letter(message))

    def start(self) -> None:
        async def persist(text: str, finished: Sequence[Finished]) -> None:
            await self.network.trouble.pause()
            self.note = text
            for each in finished:
                del self.held[each.message]
            self.finished += finished
            await self.network.trouble.pause()

        source = Source(Outbound.from_text(self.note, self.policy.version), self.policy, window=self.window)
        time = asyncio.get_running_loop().time
        self._sender = Sender(source, TO, self.soap, self.network.post, persist, time, at_once=5, longest=20.0)
        for message in self.held:
            self._sender.put(self._letter(message))
        self._running = asyncio.create_task(self._sender.run())

    def _letter(self, message: int) -> Letter:
        return Letter(
            message=message,
            body=self.held[message],
            identity=f"urn:message:{message}",
            action="urn:order",
            wants_answer=self.wants_answer,
            give_up_at=asyncio.get_running_loop().time() + self.patience,
        )

    async def crash(self) -> None:
        assert self._running is not None
        self._running.cancel()
        await asyncio.wait([self._running])
        self.start()

    async def stop(self) -> None:
        assert self._sender is not None
        self._sender.stop()
        await self.end()

    async def end(self) -> None:
        """Until everything has arrived and its sequence has ended."""
        assert self._running is not None
        async with asyncio.timeout(_LONG / 2):
            await self._running
