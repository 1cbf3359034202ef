"""What is answered to envelopes in sequences while the store is away."""

from pathlib import Path
from typing import Any

import pytest

from demaq.gateways.reliable.vocabulary import RmVersion
from demaq.server.edge import Edge
from demaq.store import StoreUnavailable
from server.test_reliable import Client, receiving


@pytest.mark.parametrize("version", list(RmVersion), ids=str)
def test_no_fault_ends_what_a_sender_waits_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: RmVersion
) -> None:
    """It would be the answer to a message that has arrived, and is sent again only to get its reply."""
    take_many, is_away = Edge.take_many, [False]

    async def taking(edge: Edge, *arguments: Any) -> Any:
        if is_away[0]:
            raise StoreUnavailable("nobody at db.example.org")
        return await take_many(edge, *arguments)

    monkeypatch.setattr(Edge, "take_many", taking)
    with receiving(tmp_path, str(version)) as there:
        client = Client(there, version)
        client.open()
        is_away[0] = True
        response = client.send(1)
        assert (response.status_code, response.headers["content-type"]) == (503, "application/problem+json")
        is_away[0] = False
        assert client.acknowledged(client.send(1)) == [(1, 1)]
