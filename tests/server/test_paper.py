"""Figure 10 of the Demaq paper, against an endpoint where really nobody is."""

import shutil
import socket
from pathlib import Path

from lxml import etree

from demaq.model import GatewaySettings
from serving import SOON, served

PROCUREMENT = Path(__file__).parents[2] / "examples" / "procurement"


def test_a_confirmation_that_cannot_be_delivered_becomes_a_letter(tmp_path: Path) -> None:
    app = shutil.copytree(PROCUREMENT, tmp_path / "procurement")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]  # where nobody listens afterwards
    order = (app / "messages" / "order.xml").read_text(encoding="utf-8")
    gateways = {"customer": GatewaySettings(to=f"http://127.0.0.1:{port}/", patience=SOON)}
    with served(app, gateways=gateways) as node:
        assert node.client.post("/api/queues/crm/messages", json={"body": order}).status_code == 201
        (letter,) = node.until(lambda: node.bodies("postalService"))
        (error,) = node.bodies("crmErrors")
    wanted, written = etree.fromstring(order.encode()), etree.fromstring(letter)
    assert "<disconnectedTransport/>" in error
    assert written.findtext("initialMessage/confirmation/orderID") == wanted.findtext("orderID")
    assert etree.tostring(written.find("address"), method="c14n") == etree.tostring(
        wanted.find("address"), method="c14n", with_tail=False
    )
