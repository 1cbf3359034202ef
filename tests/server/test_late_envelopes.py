"""A reply to an envelope that comes late is in one, too."""

from pathlib import Path

import pytest
from lxml import etree

from demaq.gateways.soap.envelope import Version
from serving import served

APP = """
create queue asks kind incomingGateway mode persistent
create queue later kind echo mode persistent
create queue due kind basic mode persistent
create queue answers kind outgoingGateway mode persistent
create rule park for asks if (/ask) then
  do enqueue . into later with timeout value xs:dayTimeDuration("PT2S") with target value "due"
else ()
create rule answer for due if (/ask) then do enqueue <answer>{xs:integer(/ask)}</answer> into answers else ()
"""


@pytest.mark.parametrize("version", list(Version))
def test_a_late_reply_is_in_an_envelope_like_that_of_the_request(tmp_path: Path, version: Version) -> None:
    def asked(text: str) -> str:
        body = f'<s:Envelope xmlns:s="{version.value}"><s:Body><ask>{text}</ask></s:Body></s:Envelope>'
        response = node.post("asks", body, content_type=version.media_type, prefer="wait=1")
        assert (response.status_code, response.content) == (202, b"")
        return str(response.headers["location"])

    with served(tmp_path / "app", APP) as node:
        place, other = asked("7"), asked("x")
        found = node.until(lambda: response if (response := node.client.get(place)).status_code != 202 else None)
        assert found.status_code == 200
        assert found.headers["content-type"].startswith(version.media_type)
        assert etree.fromstring(found.content).findtext(f"{version.tag('Body')}/answer") == "7"
        fault = node.until(lambda: response if (response := node.client.get(other)).status_code != 202 else None)
        assert fault.status_code == 500
        assert etree.fromstring(fault.content).find(f"{version.tag('Body')}/{version.tag('Fault')}") is not None
        assert node.client.get(place.partition("?")[0]).text == "<answer>7</answer>"
        assert node.client.get(f"{place}0").status_code == 400
