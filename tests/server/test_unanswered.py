"""Whoever waits for a reply that cannot come is told so."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lxml import etree

from serving import Served, served

APP = """
create queue asks kind incomingGateway mode persistent
create queue polite kind incomingGateway mode persistent errorqueue problems
create queue problems kind basic mode persistent
create queue steps kind basic mode persistent
create queue later kind echo mode persistent
create queue answers kind outgoingGateway mode persistent

create rule answer for asks
if (/ask) then do enqueue <answer>{xs:integer(/ask)}</answer> into answers
else if (/steps) then (do enqueue <one/> into steps, do enqueue <two/> into steps)
else if (/park) then (do enqueue <one/> into steps,
  do enqueue <two/> into later with timeout value xs:dayTimeDuration("PT1S") with target value "steps")
else ()
create rule step for steps if (/one) then error() else if (/two) then do enqueue <done/> into answers else ()

create rule fail for polite if (/ask) then do enqueue <answer>{xs:integer(/ask)}</answer> into answers else ()
create rule sorry for problems if (/error) then do enqueue <sorry/> into answers
"""
SECRET = "hush"
WAIT = "wait=60"


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "app", APP) as found:
        yield found


def test_a_message_that_fails_ends_the_wait(node: Served) -> None:
    begin = time.monotonic()
    response = node.post("asks", f"<ask>{SECRET}</ask>", prefer=WAIT, idempotency_key="k")
    assert time.monotonic() - begin < 30
    assert (response.status_code, response.headers["content-type"]) == (502, "application/problem+json")
    (error,) = node.get("/api/errors")["messages"]
    number = error["cause"]
    wanted = f"the message was accepted as {number}, and could not be processed (evaluation): no reply will come"
    assert (response.json()["detail"], response.headers["demaq-message"]) == (wanted, str(number))
    assert node.post("asks", f"<ask>{SECRET}</ask>", prefer=WAIT, idempotency_key="k").json()["detail"] == wanted
    connection = node.get(f"/api/messages/{number}")["properties"]["sys:connection"]["value"]
    late = node.client.get(f"/gateways/asks/replies/{connection}")
    assert (late.status_code, late.json()["detail"]) == (502, wanted)


@pytest.mark.parametrize(
    "version", ["http://schemas.xmlsoap.org/soap/envelope/", "http://www.w3.org/2003/05/soap-envelope"]
)
def test_a_sender_of_an_envelope_gets_a_fault(node: Served, version: str) -> None:
    media = "application/soap+xml" if "w3" in version else "text/xml"
    body = f'<s:Envelope xmlns:s="{version}"><s:Body><ask>{SECRET}</ask></s:Body></s:Envelope>'
    response = node.post("asks", body, content_type=media, prefer=WAIT)
    assert response.status_code == 500
    root = etree.fromstring(response.content)
    assert root.find(f"{{{version}}}Body/{{{version}}}Fault") is not None
    assert "could not be processed (evaluation)" in response.text
    assert SECRET not in response.text


def test_a_rule_for_errors_may_answer(node: Served) -> None:
    assert node.post("polite", "<ask>x</ask>", prefer=WAIT).text == "<sorry/>"


@pytest.mark.parametrize("body", ["<steps/>", "<park/>"])
def test_what_did_not_fail_may_answer(node: Served, body: str) -> None:
    assert node.post("asks", body, prefer=WAIT).text == "<done/>"


def test_whoever_gets_no_answer_though_nothing_failed_waits(node: Served) -> None:
    response = node.post("asks", "<quiet/>", prefer="wait=1")
    assert response.status_code == 202
    assert node.client.get(response.headers["location"]).status_code == 202


def test_what_is_tried_again_may_answer(node: Served) -> None:
    assert node.post("asks", "<ask>x</ask>", prefer=WAIT).status_code == 502
    (error,) = node.get("/api/errors")["messages"]
    connection = node.get(f"/api/messages/{error['cause']}")["properties"]["sys:connection"]["value"]
    node.client.post(f"/api/messages/{error['cause']}/retry")
    place = f"/gateways/asks/replies/{connection}"
    node.until(lambda: len(node.get("/api/errors")["messages"]) == 2)
    assert node.client.get(place).status_code in (202, 502)
    node.until(lambda: node.client.get(place).status_code == 502)
