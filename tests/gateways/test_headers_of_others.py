"""Headers of SOAP that have to be understood by somebody else on the way."""

import pytest

from demaq.engine.xml import read_message
from demaq.gateways.soap.envelope import Fault, Version, read_envelope
from demaq.gateways.soap.requests import read_request
from demaq.model import Limits

V11, V12 = Version.SOAP_11, Version.SOAP_12
ROLE = f"{V12.value}/role"
OURS = [
    (V11, ""),
    (V11, 's:actor=""'),
    (V11, 's:actor="http://schemas.xmlsoap.org/soap/actor/next"'),
    (V12, ""),
    (V12, 's:role=""'),
    (V12, f's:role="{ROLE}/next"'),
    (V12, f's:role="{ROLE}/ultimateReceiver"'),
    (V12, 's:actor="urn:another"'),  # a name that says nothing in this version
    (V12, 'role="urn:another"'),
]
OTHERS = [
    (V11, 's:actor="urn:another"'),
    (V11, f's:actor="{ROLE}/next"'),
    (V12, 's:role="urn:another"'),
    (V12, f's:role="{ROLE}/none"'),
]


def asked(version: Version, whom: str) -> str:
    header = f'<h:x xmlns:h="urn:h" s:mustUnderstand="1" {whom}/>'
    text = f'<s:Envelope xmlns:s="{version.value}"><s:Header>{header}</s:Header><s:Body><ask/></s:Body></s:Envelope>'
    return read_request(read_envelope(read_message(text.encode(), Limits()).root)).envelope.text()


@pytest.mark.parametrize(("version", "whom"), OTHERS)
def test_what_another_one_has_to_understand_is_none_of_our_business(version: Version, whom: str) -> None:
    assert asked(version, whom) == "<ask/>"


@pytest.mark.parametrize(("version", "whom"), OURS)
def test_what_we_have_to_understand_is_refused_if_we_do_not(version: Version, whom: str) -> None:
    with pytest.raises(Fault, match="not understood"):
        asked(version, whom)
