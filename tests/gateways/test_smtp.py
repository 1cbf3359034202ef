"""What goes out by mail."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from aiosmtpd.controller import Controller

from demaq.gateways.parcel import Undelivered
from demaq.gateways.smtp import SmtpTransport
from demaq.model import MailSettings
from gateways.parcels import parcel

SHORT = timedelta(seconds=2)


class Box:
    """Takes mail, unless it says no to a command."""

    def __init__(self, **refusals: str) -> None:
        self.refusals = refusals
        self.got: list[list[str]] = []

    async def handle_RCPT(self, _server: object, _session: object, envelope: object, address: str, _: object) -> str:
        envelope.rcpt_tos.append(address)  # type: ignore[attr-defined]
        return self.refusals.get("RCPT", "250 OK")

    async def handle_DATA(self, _server: object, _session: object, envelope: object) -> str:
        self.got.append(envelope.rcpt_tos)  # type: ignore[attr-defined]
        return self.refusals.get("DATA", "250 OK")


@contextmanager
def post_office(box: Box) -> Iterator[MailSettings]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    controller = Controller(box, hostname="127.0.0.1", port=port)
    controller.start()
    try:
        yield MailSettings(server=f"smtp://127.0.0.1:{port}", sender="shop@example.org")
    finally:
        controller.stop()


def send(settings: MailSettings, to: str) -> None:
    async def run() -> None:
        async with SmtpTransport(settings) as smtp:
            await smtp.send(parcel(to))

    asyncio.run(run())


def test_mail_goes_to_whom_an_address_names() -> None:
    box = Box()
    with post_office(box) as settings:
        send(settings, "mailto:ada%2bx@example.org")
    assert box.got == [["ada+x@example.org"]]


@pytest.mark.parametrize(
    "to",
    ["mailto:ada@example.org,eve@evil.invalid", "mailto:Ada <ada@example.org>", "mailto:", "mailto:größe@a.invalid"],
)
def test_mail_goes_to_nobody_else(to: str) -> None:
    box = Box()
    with post_office(box) as settings, pytest.raises(Undelivered, match="not the address") as raised:
        send(settings, to)
    assert raised.value.is_final
    assert box.got == []


@pytest.mark.parametrize(
    ("refusals", "is_final", "is_answer"),
    [
        ({"RCPT": "452 mailbox full"}, False, True),
        ({"RCPT": "550 nobody"}, True, True),
        ({"DATA": "451 later"}, False, True),
        ({"RCPT": "421 going"}, False, False),
    ],
)
def test_a_no_to_one_mail_is_no_failure_of_the_server(
    refusals: dict[str, str], is_final: bool, is_answer: bool
) -> None:
    with post_office(Box(**refusals)) as settings, pytest.raises(Undelivered) as raised:
        send(settings, "mailto:ada@example.org")
    assert (raised.value.kind, raised.value.is_final, raised.value.is_answer) == ("httpStatus", is_final, is_answer)


def test_nobody_else_waits_for_a_mail_server() -> None:
    async def run(settings: MailSettings) -> None:
        async with SmtpTransport(settings) as smtp:
            mails = [
                asyncio.create_task(smtp.send(parcel(f"mailto:a{number}@a.invalid", timeout=SHORT)))
                for number in range(100)
            ]
            await asyncio.sleep(0.1)
            async with asyncio.timeout(5):
                await asyncio.to_thread(lambda: None)
            for mail in mails:
                mail.cancel()
            await asyncio.gather(*mails, return_exceptions=True)
        assert len(hanging.getsockname()) == 2  # it hangs still: nobody has waited for it

    with socket.create_server(("127.0.0.1", 0), backlog=200) as hanging:
        asyncio.run(run(MailSettings(server=f"smtp://127.0.0.1:{hanging.getsockname()[1]}")))
