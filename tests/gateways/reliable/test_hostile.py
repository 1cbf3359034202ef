"""Whoever wants to do harm gets faults, and no more memory than there is for everybody."""

import asyncio
import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demaq.engine.xml import MessageRefused, read_message
from demaq.gateways.parcel import Undelivered
from demaq.gateways.reliable.destination import Arrival, Room
from demaq.gateways.reliable.exchange import read_exchange
from demaq.gateways.reliable.faults import ReliableFault
from demaq.gateways.reliable.headers import Place
from demaq.gateways.reliable.letters import read_reply
from demaq.gateways.reliable.messages import CreateSequence
from demaq.gateways.reliable.policy import ReliablePolicy
from demaq.gateways.reliable.sequences import Sequences
from demaq.gateways.reliable.vocabulary import FaultCode, RmVersion
from demaq.gateways.soap.addressing import anonymous
from demaq.gateways.soap.envelope import Fault, Version, read_envelope
from demaq.model import Limits
from gateways.reliable.samples import SEQUENCE, data_of, made, sequence
from gateways.reliable.simulation import Client, Network, Server, Trouble
from gateways.reliable.time_travel import START, simulate
from property.effort import examples

_names = st.sampled_from(
    "Sequence SequenceAcknowledgement AckRequested SequenceFault Identifier MessageNumber LastMessage Nack None Final "
    "AcknowledgementRange CreateSequence CreateSequenceResponse AcksTo Offer Accept Expires CloseSequence "
    "TerminateSequence TerminateSequenceResponse LastMsgNumber FaultCode Foo".split()
)
_texts = st.sampled_from(
    ["", SEQUENCE, "1", "0", "-1", "2", "18446744073709551615", "9" * 30, "P1D", "x", "é", "1 1", "PT0S", "٣"]
)
_attributes = st.sampled_from(["", ' Lower="1"', ' Upper="3"', ' Lower="1" Upper="3"', ' Lower="2" Upper="-1"'])


def _element(name: str, attributes: str, inside: str) -> str:
    return f"<r:{name}{attributes}>{inside}</r:{name}>"


_elements = st.recursive(
    st.builds(_element, _names, _attributes, _texts),
    lambda inner: st.builds(_element, _names, _attributes, st.lists(inner, max_size=4).map("".join)),
    max_leaves=12,
)


@examples(300)
@given(
    headers=st.lists(_elements, max_size=4).map("".join),
    body=st.just("<x/>") | st.just("") | _elements,
    version=st.sampled_from(list(RmVersion)),
    soap=st.sampled_from(list(Version)),
)
def test_whatever_comes_is_understood_or_a_fault(headers: str, body: str, version: RmVersion, soap: Version) -> None:
    found = made(headers, body, version, soap)
    for spoken in RmVersion:
        with suppress(Fault):
            read_exchange(found, ReliablePolicy(version=spoken))


@examples(300)
@given(headers=st.lists(_elements, max_size=4).map("".join), body=st.just("") | _elements, data=st.randoms())
def test_whatever_is_answered_is_understood_or_a_failure(headers: str, body: str, data: random.Random) -> None:
    version = data.choice(list(RmVersion))
    text = (
        f'<s:Envelope xmlns:s="{Version.SOAP_11.value}" xmlns:r="{version.value}"><s:Header>{headers}</s:Header>'
        f"<s:Body>{body}</s:Body></s:Envelope>"
    ).encode()
    if data.random() < 0.3:
        text = text[: data.randrange(len(text))]
    with suppress(Undelivered):
        read_reply(text, version, "http://a.invalid/")


def test_a_million_ranges_are_refused_soon() -> None:
    ranges = "".join(f'<r:AcknowledgementRange Lower="{2 * n}" Upper="{2 * n}"/>' for n in range(1, 100_000))
    header = f"<r:SequenceAcknowledgement><r:Identifier>x</r:Identifier>{ranges}</r:SequenceAcknowledgement>"
    with pytest.raises(ReliableFault) as caught:
        read_exchange(made(header), ReliablePolicy())
    assert caught.value.rm_code is FaultCode.INVALID_ACKNOWLEDGEMENT


def test_entities_are_refused() -> None:
    inside = f'<s:Envelope xmlns:s="{Version.SOAP_11.value}"><s:Body>&a;</s:Body></s:Envelope>'
    text = f'<!DOCTYPE x [<!ENTITY a "b">]>{inside}'
    with pytest.raises(MessageRefused):
        read_envelope(read_message(text, Limits()).root)


def test_memory_is_bounded_whatever_the_numbers_are() -> None:
    sequences: Sequences[bytes] = Sequences("orders", ReliablePolicy(), {}, START, most=10)
    for name in range(10):
        sequences.create(CreateSequence(acks_to=anonymous()), None, str(name), START)
    chance, outcomes = random.Random(1), []
    for _ in range(20_000):
        place = Place(identifier=str(chance.randrange(10)), number=chance.randrange(2, 2**63))
        outcomes.append(sequences.find(place.identifier, START).arrive(place, b"", 50_000, START))
    held = sum(sequences.find(str(name), START).held for name in range(10))
    assert held * 50_000 <= Room().size
    assert outcomes.count(Arrival.DROPPED) == 20_000 - held
    first = Place(identifier="0", number=1)
    assert sequences.find("0", START).arrive(first, b"", 50_000, START) is Arrival.READY


def test_nobody_fills_the_store_with_sequences() -> None:
    server = Server(ReliablePolicy(), Trouble(delay=0.0))
    body = f"<r:CreateSequence><r:AcksTo><a:Address>{anonymous()}</a:Address></r:AcksTo></r:CreateSequence>"

    async def work() -> list[bytes]:
        data = [data_of(made(f"<a:MessageID>urn:{number}</a:MessageID>", body)) for number in range(1200)]
        return [await server.handle(each) for each in data]

    answers = simulate(work())
    assert len(server.notes) == 1000
    assert sum(b"CreateSequenceRefused" in each for each in answers) == 200


def test_messages_of_unknown_sequences_leave_nothing_behind() -> None:
    server = Server(ReliablePolicy(), Trouble(delay=0.0))

    async def work() -> list[bytes]:
        return [await server.handle(data_of(made(sequence(1, f"urn:{n}"), "<x/>"))) for n in range(100)]

    assert all(b"UnknownSequence" in each for each in simulate(work()))
    assert not server.notes
    assert not server.delivered


def test_a_peer_that_forgets_everything_at_once_does_not_make_us_hurry() -> None:
    server = Server(ReliablePolicy(), Trouble(delay=0.01))
    client = Client(ReliablePolicy(), Network(server, server.trouble), patience=120.0)

    async def work() -> None:
        client.start()
        client.put(1, "<m/>")
        while client.held:
            await asyncio.sleep(0.01)
            server.forget_sequences()
        assert client.network.posts < 100

    simulate(work())
