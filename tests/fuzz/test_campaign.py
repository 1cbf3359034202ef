"""Bad input on every endpoint, in short; `tests/fuzz/campaign.py` goes on for longer."""

import json
from pathlib import Path

import pytest

from demaq.gateways.soap.envelope import Fault, Version, fault
from fuzz.groups import NAMES, tried
from fuzz.tally import INSIDE, Answer, complaint

_SECONDS = 3.0
_EXAMPLES = 3  # of each operation
_GROWTH = 150.0  # MB: in seconds, a node has not yet all that it keeps


@pytest.mark.parametrize("group", NAMES)
def test_bad_input_is_refused_with_a_reason_and_harms_nothing(group: str, tmp_path: Path) -> None:
    report = tried(group, tmp_path / "node", _SECONDS, 7, _EXAMPLES, _GROWTH)
    assert report.problems == []
    assert report.tally.requests > 10
    assert len(report.tally.statuses) > 1


def _problem(status: int, **fields: object) -> Answer:
    text = json.dumps({"status": status, "title": "Bad Request", **fields})
    return Answer(status, {"content-type": "application/problem+json"}, text.encode())


def _soap(status: int, data: bytes, version: Version = Version.SOAP_11) -> Answer:
    return Answer(status, {"content-type": version.media_type}, data)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (_problem(400, detail="it is not XML"), None),
        (Answer(202, {"content-type": "application/json"}, b'{"id":1}'), None),
        (_soap(500, fault(Version.SOAP_11, Fault("no"))), None),
        (_problem(400), "says nothing"),
        (_problem(500, detail="no"), "status 500"),
        (_problem(500, detail=INSIDE), "the node failed"),
        (Answer(400, {"content-type": "text/plain"}, b"Bad Request"), "a refusal as text/plain"),
        (Answer(400, {"content-type": "application/problem+json"}, b"{"), "cannot be read"),
        (Answer(200, {}, b"Traceback (most recent call last)"), "the node failed"),
        (_soap(500, b"<html/>"), "cannot be read"),
        (_soap(422, fault(Version.SOAP_11, Fault("no"))), "status 422"),
        (_soap(500, fault(Version.SOAP_11, Fault(""))), "says nothing"),
    ],
)
def test_what_is_wrong_with_an_answer_is_seen(answer: Answer, told: str | None) -> None:
    found = complaint(answer)
    assert (found is None) if told is None else (found is not None and told in found)
