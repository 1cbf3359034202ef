"""The envelopes of both versions, as they are on the wire. `golden/` has them."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from demaq.gateways.reliable.exchange import Asked, acknowledgement_to, answer, read_exchange
from demaq.gateways.reliable.faults import ReliableFault, fault_envelope
from demaq.gateways.reliable.headers import Acknowledgement
from demaq.gateways.reliable.letters import Letter, write
from demaq.gateways.reliable.messages import Ended, SequenceCreated
from demaq.gateways.reliable.policy import ReliablePolicy
from demaq.gateways.reliable.ranges import Ranges
from demaq.gateways.reliable.transmission import Kind, Transmission
from demaq.gateways.reliable.vocabulary import FaultCode, RmVersion
from demaq.gateways.soap.envelope import Blame, Version
from gateways.reliable.samples import SEQUENCE, canonical, made, read

GOLDEN = Path(__file__).parent / "golden"
TO = "http://there.invalid/orders"
LETTER = Letter(
    message=7, body='<order xmlns="urn:shop"><item>5</item></order>', identity="urn:uuid:7", action="urn:buy"
)
Make = Callable[[RmVersion, Version], bytes]


def sent(version: RmVersion, kind: Kind, number: int | None = None, attempt: int = 1) -> Transmission:
    identifier = "" if kind is Kind.CREATE else SEQUENCE
    return Transmission(
        kind=kind, version=version, identifier=identifier, number=number, identity="urn:uuid:c", attempt=attempt
    )


def asked(version: RmVersion, soap: Version) -> Asked:
    header = (
        f"<a:MessageID>urn:uuid:c</a:MessageID><r:AckRequested><r:Identifier>{SEQUENCE}</r:Identifier></r:AckRequested>"
    )
    found = read_exchange(made(header, "", version, soap), ReliablePolicy(version=version))
    assert found is not None
    return found


ARRIVED = Acknowledgement(identifier=SEQUENCE, received=Ranges.of([(1, 3), (5, 5)]))
FINAL = Acknowledgement(identifier=SEQUENCE, received=Ranges.to(5), is_final=True)


def unknown(version: RmVersion) -> ReliableFault:
    return ReliableFault(FaultCode.UNKNOWN_SEQUENCE, "this sequence is not known", version, identifier=SEQUENCE)


def refused(version: RmVersion) -> ReliableFault:
    return ReliableFault(FaultCode.CREATE_SEQUENCE_REFUSED, "there are enough", version, blame=Blame.RECEIVER)


BOTH: dict[str, Make] = {
    "create": lambda version, soap: write(sent(version, Kind.CREATE), None, TO, soap).body,
    "created": lambda version, soap: answer(
        asked(version, soap), SequenceCreated(identifier=SEQUENCE, expires=timedelta(hours=1))
    ),
    "message": lambda version, soap: write(sent(version, Kind.MESSAGE, 1), LETTER, TO, soap).body,
    "message-again": lambda version, soap: write(sent(version, Kind.MESSAGE, 1, attempt=2), LETTER, TO, soap).body,
    "acknowledgement": lambda version, soap: answer(asked(version, soap), None, [ARRIVED]),
    "acknowledgement-elsewhere": lambda version, soap: acknowledgement_to(asked(version, soap), TO, ARRIVED),
    "terminate": lambda version, soap: write(sent(version, Kind.TERMINATE, 5), None, TO, soap).body,
    "fault-of-header": lambda version, soap: fault_envelope(soap, unknown(version), asked(version, soap).addressing),
    "fault-of-body": lambda version, soap: fault_envelope(soap, refused(version), asked(version, soap).addressing),
}
ONLY: dict[RmVersion, dict[str, Make]] = {
    RmVersion.RM_10: {"last": lambda version, soap: write(sent(version, Kind.LAST, 6), None, TO, soap).body},
    RmVersion.RM_11: {
        "nothing": lambda version, soap: answer(asked(version, soap), None, [Acknowledgement(identifier=SEQUENCE)]),
        "close": lambda version, soap: write(sent(version, Kind.CLOSE, 5), None, TO, soap).body,
        "closed": lambda version, soap: answer(
            asked(version, soap), Ended(identifier=SEQUENCE, is_terminated=False), [FINAL]
        ),
        "terminated": lambda version, soap: answer(
            asked(version, soap), Ended(identifier=SEQUENCE, is_terminated=True), [FINAL]
        ),
    },
}
CASES = [(version, name, make) for version in RmVersion for name, make in sorted((BOTH | ONLY[version]).items())]


@pytest.mark.parametrize(("version", "name", "make"), CASES, ids=[f"{version}-{name}" for version, name, _ in CASES])
def test_envelopes_are_as_they_were(version: RmVersion, name: str, make: Make) -> None:
    # Each version with the one of SOAP that it is usually seen with; faults with both.
    usual = Version.SOAP_11 if version is RmVersion.RM_10 else Version.SOAP_12
    for soap in Version if name.startswith("fault") else [usual]:
        file = (
            GOLDEN / str(version) / (f"{name}-{soap.name.lower()}.xml" if name.startswith("fault") else f"{name}.xml")
        )
        found = make(version, soap)
        read(found)
        assert canonical(found) == canonical(file.read_bytes()), found.decode()


def test_every_file_is_of_a_case() -> None:
    names = {f"{version}/{name}" for version, name, _ in CASES}
    files = {f"{file.parent.name}/{file.stem.split('-soap_')[0]}" for file in GOLDEN.glob("*/*.xml")}
    assert names == files
