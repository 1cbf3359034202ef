"""Whatever the network and the nodes do: every message is delivered once and in order, and sequences end."""

import asyncio
import random
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from demaq.gateways.reliable.inbound import InboundState
from demaq.gateways.reliable.policy import ReliablePolicy
from demaq.gateways.reliable.vocabulary import RmVersion
from demaq.gateways.soap.envelope import Version
from gateways.reliable.simulation import Client, Network, Server, Trouble
from gateways.reliable.time_travel import simulate
from property.effort import examples

_rates = st.floats(0, 0.4)
_troubles = st.builds(
    Trouble,
    lost=_rates,
    reset=_rates,
    copied=_rates,
    unanswered=_rates,
    uncommitted=_rates,
    delay=st.floats(0, 2),
    chance=st.integers(0, 2**32).map(random.Random),
)
_crashes = st.lists(st.tuples(st.floats(0, 10), st.booleans()), max_size=6)
versions = pytest.mark.parametrize("version", list(RmVersion), ids=str)


def policy(version: RmVersion) -> ReliablePolicy:
    return ReliablePolicy(version=version, retransmission=timedelta(seconds=1))


def pair(version: RmVersion, trouble: Trouble) -> tuple[Client, Server]:
    server = Server(policy(version), trouble)
    return Client(policy(version), Network(server, trouble)), server


def bodies(numbers: Iterable[int]) -> list[str]:
    return [f"<m>{number}</m>" for number in numbers]


def put(client: Client, numbers: range) -> None:
    for number in numbers:
        client.put(number, f"<m>{number}</m>")


async def crash(client: Client, server: Server, crashes: list[tuple[float, bool]]) -> None:
    for pause, is_server in crashes:
        await asyncio.sleep(pause)
        if is_server:
            server.crash()
        else:
            await client.crash()


@versions
@examples(60)
@given(
    trouble=_troubles,
    crashes=_crashes,
    messages=st.integers(0, 60),
    has_keys=st.booleans(),
    soap=st.sampled_from(list(Version)),
)
def test_once_and_in_order(
    version: RmVersion,
    trouble: Trouble,
    crashes: list[tuple[float, bool]],
    messages: int,
    has_keys: bool,
    soap: Version,
) -> None:
    """Numbers alone do it, as long as everybody remembers what was written down."""
    client, server = pair(version, trouble)
    client.soap, server.has_keys = soap, has_keys

    async def work() -> None:
        client.start()
        put(client, range(messages // 2))
        await crash(client, server, crashes)
        put(client, range(messages // 2, messages))
        await crash(client, server, crashes)
        await client.end()

    simulate(work())
    assert server.delivered == bodies(range(messages))
    assert sorted(each.message for each in client.finished) == list(range(messages))
    assert not any(each.failure for each in client.finished)
    assert client.note == ""


@versions
@examples(40)
@given(trouble=_troubles, pauses=st.lists(st.floats(0, 5), min_size=1, max_size=4), messages=st.integers(1, 40))
def test_what_the_other_side_does_not_know_any_more_is_sent_in_a_new_sequence(
    version: RmVersion, trouble: Trouble, pauses: list[float], messages: int
) -> None:
    client, server = pair(version, trouble)

    async def work() -> None:
        client.start()
        put(client, range(messages))
        for pause in pauses:
            await asyncio.sleep(pause)
            server.forget_sequences()
        await client.end()

    simulate(work())
    assert server.delivered == bodies(range(messages))
    assert not any(each.failure for each in client.finished)


@versions
@examples(40)
@given(trouble=_troubles, crashes=_crashes, patience=st.floats(1, 20), messages=st.integers(1, 40))
def test_what_is_given_up_holds_nothing_up(
    version: RmVersion, trouble: Trouble, crashes: list[tuple[float, bool]], patience: float, messages: int
) -> None:
    """Nobody knows whether a message that was given up has arrived; all others have, once, and all are in order."""
    client, server = pair(version, trouble)
    client.patience = patience

    async def work() -> None:
        client.start()
        for number in range(messages):
            client.put(number, f"<m>{number}</m>")
            await asyncio.sleep(patience / 10)
        await crash(client, server, crashes)
        await client.end()

    simulate(work())
    arrived = [each.message for each in client.finished if each.failure is None]
    assert sorted(each.message for each in client.finished) == list(range(messages))
    assert server.delivered == sorted(set(server.delivered), key=bodies(range(messages)).index)
    assert set(server.delivered) >= set(bodies(arrived))


@versions
@examples(30)
@given(trouble=_troubles, crashes=_crashes, messages=st.integers(1, 30))
def test_answers_come_though_they_are_lost_on_their_way(
    version: RmVersion, trouble: Trouble, crashes: list[tuple[float, bool]], messages: int
) -> None:
    client, server = pair(version, replace(trouble, lost=trouble.lost / 4, reset=trouble.reset / 4, unanswered=0.1))
    client.wants_answer = server.gives_answers = True

    async def work() -> None:
        client.start()
        put(client, range(messages))
        await crash(client, server, crashes)
        await client.end()

    simulate(work())
    assert server.delivered == bodies(range(messages))
    answers = {each.message: each.answer for each in client.finished}
    assert len(client.finished) == len(answers) == messages
    answered = {message for message, found in answers.items() if found == f"<answer><m>{message}</m></answer>".encode()}
    lost = {message for message, found in answers.items() if found is None}
    assert answered | lost == set(range(messages))
    assert len(lost) <= 1  # after five questions in vain


@versions
def test_a_sequence_ends_when_nothing_is_sent_in_it(version: RmVersion) -> None:
    client, server = pair(version, Trouble())

    async def work() -> None:
        client.start()
        put(client, range(3))
        await asyncio.sleep(20)
        assert [each.state for each in server.sequences] == [InboundState.OPEN]
        await client.end()

    simulate(work())
    assert [each.state for each in server.sequences] == [InboundState.TERMINATED]
    assert client.network.posts == 1 + 3 + 2


@versions
def test_whoever_stops_goes_on_in_the_same_sequence(version: RmVersion) -> None:
    client, server = pair(version, Trouble())

    async def work() -> None:
        client.start()
        put(client, range(3))
        await asyncio.sleep(5)
        await client.stop()
        server.crash()
        client.start()
        put(client, range(3, 6))
        await client.end()

    simulate(work())
    assert server.delivered == bodies(range(6))
    assert [each.delivered for each in server.sequences] == [6 + (version is RmVersion.RM_10)]


@versions
def test_a_sequence_that_nobody_used_for_long_is_over(version: RmVersion) -> None:
    client, server = pair(version, Trouble())

    async def work() -> None:
        client.start()
        put(client, range(2))
        await asyncio.sleep(5)
        await client.stop()
        await asyncio.sleep(700)
        client.start()
        put(client, range(2, 4))
        await client.end()

    simulate(work())
    assert server.delivered == bodies(range(4))
    assert [each.delivered for each in server.sequences][:1] == [2]
    assert len(server.sequences) == 2


def test_both_sides_learn_another_version() -> None:
    client, server = pair(RmVersion.RM_10, Trouble())

    async def work() -> None:
        client.start()
        put(client, range(10))
        while not server.delivered:
            await asyncio.sleep(0.01)
        assert len(server.delivered) < 10
        await client.stop()
        client.policy = server.policy = policy(RmVersion.RM_11)
        server.crash()
        client.start()
        put(client, range(10, 20))
        await client.end()

    simulate(work())
    assert server.delivered == bodies(range(20))
    assert [each.version for each in server.sequences] == [RmVersion.RM_10, RmVersion.RM_11]


def test_an_outage_is_not_met_with_a_storm() -> None:
    client, server = pair(RmVersion.RM_11, Trouble(reset=1.0))

    async def work() -> None:
        client.start()
        put(client, range(100))
        await asyncio.sleep(3600)
        assert client.network.posts < 150
        server.trouble.reset = 0.0
        await client.end()

    simulate(work())
    assert server.delivered == bodies(range(100))
