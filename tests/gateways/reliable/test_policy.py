"""Policies: what they ask for, and what cannot be had."""

from datetime import timedelta
from pathlib import Path

import pytest

from demaq.gateways.reliable.policy import RMP_10, RMP_11, PolicyInvalid, ReliablePolicy, read_policy
from demaq.gateways.reliable.vocabulary import RmVersion

ROOT = Path(__file__).parents[3]
WSP = "http://www.w3.org/ns/ws-policy"
NET = "http://schemas.microsoft.com/ws-rx/wsrmp/200702"


def policy(inside: str, wsp: str = WSP) -> str:
    spaces = f'xmlns:p="{wsp}" xmlns:r10="{RMP_10}" xmlns:r11="{RMP_11}" xmlns:net="{NET}"'
    return f"<p:Policy {spaces}>{inside}</p:Policy>"


def test_the_policy_of_an_example() -> None:
    text = (ROOT / "examples/procurement/policies/reliable.xml").read_text(encoding="utf-8")
    assert read_policy(text) == ReliablePolicy(version=RmVersion.RM_11)


def test_one_that_does_not_say_anything() -> None:
    assert read_policy(policy("")) == ReliablePolicy()
    assert read_policy("<anything/>").version is RmVersion.RM_11


def test_all_that_10_has() -> None:
    found = read_policy(
        policy(
            '<r10:RMAssertion><r10:InactivityTimeout Milliseconds="60000"/>'
            '<r10:BaseRetransmissionInterval Milliseconds=" 500 "/><r10:ExponentialBackoff/>'
            '<r10:AcknowledgementInterval Milliseconds="20"/></r10:RMAssertion>',
            "http://schemas.xmlsoap.org/ws/2004/09/policy",
        )
    )
    assert found == ReliablePolicy(
        version=RmVersion.RM_10,
        inactivity=timedelta(minutes=1),
        retransmission=timedelta(milliseconds=500),
        acknowledgement=timedelta(milliseconds=20),
    )


def test_11_takes_the_intervals_of_others() -> None:
    found = read_policy(
        policy(
            '<r11:RMAssertion><p:Policy><r10:BaseRetransmissionInterval Milliseconds="100"/>'
            '<net:InactivityTimeout Milliseconds="5000"/></p:Policy></r11:RMAssertion>'
        )
    )
    assert (found.version, found.retransmission) == (RmVersion.RM_11, timedelta(milliseconds=100))
    assert found.inactivity == timedelta(seconds=5)


@pytest.mark.parametrize(("value", "is_optional"), [("true", True), ("1", True), ("false", False)])
def test_messages_outside_of_sequences(value: str, is_optional: bool) -> None:
    assert read_policy(policy(f'<r11:RMAssertion p:Optional="{value}"/>')).is_optional is is_optional


def test_of_alternatives_the_first() -> None:
    text = policy("<p:ExactlyOnce><p:All><r10:RMAssertion/></p:All><p:All><r11:RMAssertion/></p:All></p:ExactlyOnce>")
    assert read_policy(text).version is RmVersion.RM_10


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<p", "not well-formed"),
        ("", "not well-formed"),
        (policy("<r11:RMAssertion><r11:Foo/></r11:RMAssertion>"), "`Foo`"),
        (policy("<r10:RMAssertion><r10:InactivityTimout/></r10:RMAssertion>"), "did you mean `InactivityTimeout`"),
        (policy("<r11:RMAssertion><p:Policy><r11:SequenceSTR/></p:Policy></r11:RMAssertion>"), "not bound to keys"),
        (policy("<r10:RMAssertion><r10:InactivityTimeout/></r10:RMAssertion>"), "no Milliseconds"),
        *(
            (
                policy(f'<r10:RMAssertion><r10:InactivityTimeout Milliseconds="{bad}"/></r10:RMAssertion>'),
                "Milliseconds",
            )
            for bad in ("0", "-5", "1.5", "x", "9" * 12, "9" * 10_000, "٣")
        ),
    ],
)
def test_what_cannot_be_followed(text: str, reason: str) -> None:
    with pytest.raises(PolicyInvalid, match=reason):
        read_policy(text)
