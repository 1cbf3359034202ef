"""However much waits for a destination that takes nothing: others get theirs, and all of it goes out in order later."""

import re
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from demaq.model import GatewaySettings
from serving import Served, Service, served, service

NOBODY = "http://127.0.0.1:9/"
DAYS = timedelta(days=7)
APP = """
create queue jobs kind incomingGateway mode persistent
create queue out kind outgoingGateway mode persistent
create queue other kind outgoingGateway mode persistent
create queue answers kind outgoingGateway mode persistent

create rule many for jobs
if (/many) then for $number in 1 to xs:integer(/many) return do enqueue <work>{$number}</work> into out

create rule forward for jobs
if (/job) then do enqueue <note>{string(/job)}</note> into other

create rule answer for jobs
if (/question) then do enqueue <answer/> into answers
"""


@pytest.fixture
def there() -> Iterator[Service]:
    with service() as found:
        yield found


def numbers(there: Service) -> list[int]:
    return [int(number) for number in re.findall(r"<work>(\d+)</work>", "".join(there.bodies))]


def held(node: Served) -> int:
    count: int = node.get("/api/queues/out")["counts"]["held"]
    return count


def many(node: Served, number: int) -> None:
    node.post("jobs", f"<many>{number}</many>")
    node.until(lambda: held(node) == number)


def refuse(there: Service) -> None:
    there.answers = lambda _number, _body: (503, {}, b"")


def take(there: Service) -> None:
    there.got.clear()
    there.answers = lambda _number, _body: (200, {}, b"")


def test_thousands_for_a_dead_destination_hold_up_no_other_and_no_reply(tmp_path: Path, there: Service) -> None:
    gateways = {
        "out": GatewaySettings(to=NOBODY, patience=DAYS),
        "other": GatewaySettings(to=there.address),
    }
    with served(tmp_path / "app", APP, gateways=gateways) as node:
        many(node, 5_200)
        node.post("jobs", "<job>1</job>")
        answer = node.post("jobs", "<question/>", prefer="wait=10")
        assert (answer.status_code, answer.text) == (200, "<answer/>")
        node.until(lambda: there.bodies == ["<note>1</note>"])
        figure = f'demaq_destination_waiting{{queue="out",to="{NOBODY}"}} 5200\n'
        node.until(lambda: figure in node.client.get("/metrics").text)
    with served(tmp_path / "app", APP, gateways=gateways) as node:
        node.post("jobs", "<job>2</job>")
        node.until(lambda: there.bodies == ["<note>1</note>", "<note>2</note>"])
        assert node.post("jobs", "<question/>", prefer="wait=10").status_code == 200


def test_all_that_has_waited_goes_out_in_order_and_once(tmp_path: Path, there: Service) -> None:
    refuse(there)
    gateways = {"out": GatewaySettings(to=there.address, patience=DAYS)}
    with served(tmp_path / "app", APP, gateways=gateways) as node:
        many(node, 300)
        node.until(lambda: there.got)
    with served(tmp_path / "app", APP, gateways=gateways) as node:
        take(there)
        node.until(lambda: held(node) == 0)
        assert numbers(there) == list(range(1, 301))


def test_all_goes_out_in_order_and_once_though_a_version_comes_in_between(tmp_path: Path, there: Service) -> None:
    refuse(there)
    gateways = {"out": GatewaySettings(to=there.address, patience=DAYS)}
    with served(tmp_path / "app", APP, gateways=gateways) as node:
        many(node, 300)
        node.until(lambda: there.got)
        with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
            archive.writestr(
                "app/main.demaq",
                f"{APP}create rule another for jobs if (/another) then do enqueue <another/> into other\n",
            )
        content, kind = (tmp_path / "app.zip").read_bytes(), {"content-type": "application/zip"}
        assert node.client.post("/api/versions", content=content, headers=kind).status_code == 201
        node.post("jobs", "<many>1</many>")
        node.until(lambda: held(node) == 301)
        take(there)
        node.until(lambda: held(node) == 0)
        assert numbers(there) == [*range(1, 301), 1]


def test_what_has_waited_for_too_long_is_given_up_by_and_by(tmp_path: Path) -> None:
    gateways = {"out": GatewaySettings(to=NOBODY, patience=timedelta(milliseconds=100))}
    with served(tmp_path / "app", APP, gateways=gateways) as node:
        node.post("jobs", "<many>50</many>")
        node.until(lambda: len(errors(node)) == 50)
        assert held(node) == 0


def errors(node: Served) -> list[str]:
    return [error["body"] for error in node.get("/api/errors", limit=100)["messages"]]
