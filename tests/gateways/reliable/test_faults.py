"""Faults: what one side says, the other understands, in both versions of both protocols."""

import pytest

from demaq.gateways.reliable.faults import ReliableFault, fault_envelope, read_fault_code
from demaq.gateways.reliable.vocabulary import FaultCode, RmVersion
from demaq.gateways.soap.addressing import Addressing, read_addressing
from demaq.gateways.soap.envelope import Blame, Fault, Version, fault, read_fault
from gateways.reliable.samples import SEQUENCE, made, read


@pytest.mark.parametrize("soap", list(Version), ids=lambda soap: soap.name)
@pytest.mark.parametrize("version", list(RmVersion), ids=str)
@pytest.mark.parametrize("code", list(FaultCode), ids=lambda code: code.value)
def test_what_is_said_is_understood(soap: Version, version: RmVersion, code: FaultCode) -> None:
    said = ReliableFault(code, "it\x00 is so", version, identifier=SEQUENCE, blame=Blame.RECEIVER)
    found = read(fault_envelope(soap, said, Addressing(namespace=version.addressing, message_id="urn:1")))
    assert found.is_fault
    assert read_fault_code(found, version) is (code if code.is_of(version) else None)
    blame, reason = read_fault(found)
    assert "is so" in reason
    if soap is Version.SOAP_12 or not code.is_of(version):
        assert blame == Blame.RECEIVER.value[soap is Version.SOAP_12]
    addressing = read_addressing(found)
    assert addressing is not None
    assert (addressing.relates_to, addressing.action) == ("urn:1", version.fault_action)


@pytest.mark.parametrize("soap", list(Version), ids=lambda soap: soap.name)
def test_faults_of_other_kinds(soap: Version) -> None:
    assert read_fault_code(read(fault(soap, Fault("no"))), RmVersion.RM_11) is None
    assert read_fault_code(made("", "<x/>", soap=soap), RmVersion.RM_11) is None
    assert read_fault_code(made("", f'<s:Fault xmlns:s="{soap.value}"/>', soap=soap), RmVersion.RM_11) is None


def test_what_others_write() -> None:
    """The code of a header counts, though SOAP 1.1 has one of its own; in 1.2 a code may have further ones inside."""
    body = "<s:Fault><faultcode>s:Client</faultcode><faultstring>no</faultstring></s:Fault>"
    header = "<r:SequenceFault><r:FaultCode>r:SequenceTerminated</r:FaultCode></r:SequenceFault>"
    assert read_fault_code(made(header, body), RmVersion.RM_11) is FaultCode.SEQUENCE_TERMINATED
    body = (
        "<s:Fault><s:Code><s:Value>s:Receiver</s:Value><s:Subcode><s:Value>r:CreateSequenceRefused</s:Value>"
        "<s:Subcode><s:Value>x:ConnectionLimitReached</s:Value></s:Subcode></s:Subcode></s:Code></s:Fault>"
    )
    found = made("", body, soap=Version.SOAP_12)
    assert read_fault_code(found, RmVersion.RM_11) is FaultCode.CREATE_SEQUENCE_REFUSED


def test_a_code_that_a_version_does_not_have_is_left_out() -> None:
    said = ReliableFault(FaultCode.WSRM_REQUIRED, "only reliably", RmVersion.RM_10)
    assert said.code is None
    assert b"WSRMRequired" not in fault_envelope(Version.SOAP_12, said)
