"""Policies and what they ask for."""

import pytest

from demaq.gateways.secure.names import AES128_CBC, AES256_CBC, AES256_GCM
from demaq.gateways.secure.policy import (
    SP,
    SP_2005,
    USUAL_PARTS,
    WSP,
    WSP_2004,
    Password,
    PolicyInvalid,
    SecurityPolicy,
    SignedParts,
    read_policy,
)
from demaq.gateways.soap.addressing import WSA, WSA_2004

TOKEN = "<sp:X509Token><wsp:Policy><sp:WssX509V3Token10/></wsp:Policy></sp:X509Token>"
BINDING = f"""
<sp:AsymmetricBinding><wsp:Policy>
  <sp:InitiatorToken><wsp:Policy>{TOKEN}</wsp:Policy></sp:InitiatorToken>
  <sp:RecipientToken><wsp:Policy>{TOKEN}</wsp:Policy></sp:RecipientToken>
  <sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy></sp:AlgorithmSuite>
  <sp:Layout><wsp:Policy><sp:Strict/></wsp:Policy></sp:Layout>
  <sp:IncludeTimestamp/>
  <sp:OnlySignEntireHeadersAndBody/>
</wsp:Policy></sp:AsymmetricBinding>
"""
TRANSPORT = """
<sp:TransportBinding><wsp:Policy>
  <sp:TransportToken><wsp:Policy><sp:HttpsToken/></wsp:Policy></sp:TransportToken>
  <sp:AlgorithmSuite><wsp:Policy><sp:Basic128Sha256/></wsp:Policy></sp:AlgorithmSuite>
  <sp:IncludeTimestamp/>
</wsp:Policy></sp:TransportBinding>
"""
HASHED = "<sp:UsernameToken><wsp:Policy><sp:HashPassword/><sp:WssUsernameToken10/></wsp:Policy></sp:UsernameToken>"


def read(inside: str, sp: str = SP, wsp: str = WSP) -> SecurityPolicy:
    return read_policy(f'<wsp:Policy xmlns:wsp="{wsp}" xmlns:sp="{sp}">{inside}</wsp:Policy>')


def test_a_policy_may_ask_for_nothing() -> None:
    assert read("") == read("<!-- nothing -->") == SecurityPolicy()
    assert read("").asks_nothing
    assert not read("<sp:IncludeTimestamp/>").asks_nothing


@pytest.mark.parametrize("sp", [SP, SP_2005])
@pytest.mark.parametrize("wsp", [WSP, WSP_2004])
@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("<sp:UsernameToken/>", SecurityPolicy(password=Password.TEXT)),
        (HASHED, SecurityPolicy(password=Password.DIGEST)),
        (
            f"<sp:SupportingTokens><wsp:Policy>{HASHED}</wsp:Policy></sp:SupportingTokens>",
            SecurityPolicy(password=Password.DIGEST),
        ),
        ("<sp:X509Token/>", SecurityPolicy(signed=USUAL_PARTS)),
        (TOKEN, SecurityPolicy(signed=USUAL_PARTS)),
        ("<sp:IncludeTimestamp/>", SecurityPolicy(has_timestamp=True)),
        ("<sp:EncryptedParts><sp:Body/></sp:EncryptedParts>", SecurityPolicy(encrypts_body=True)),
        ("<sp:EncryptedParts/>", SecurityPolicy(encrypts_body=True)),
        ("<sp:SignedParts><sp:Body/></sp:SignedParts>", SecurityPolicy(signed=SignedParts(body=True))),
        ("<sp:SignedParts/>", SecurityPolicy(signed=SignedParts(body=True, every_header=True))),
        (
            f'<sp:SignedParts><sp:Header Namespace="{WSA}"/><sp:Header Name="x" Namespace="urn:y"/></sp:SignedParts>',
            SecurityPolicy(signed=SignedParts(headers=frozenset({(WSA, None), (WSA_2004, None), ("urn:y", "x")}))),
        ),
        (BINDING, SecurityPolicy(signed=USUAL_PARTS, has_timestamp=True, cipher=AES256_CBC)),
        (TRANSPORT, SecurityPolicy(needs_tls=True, has_timestamp=True, cipher=AES128_CBC)),
        (
            BINDING.replace("<sp:IncludeTimestamp/>", "<sp:EncryptBeforeSigning/><sp:ProtectTokens/>"),
            SecurityPolicy(signed=USUAL_PARTS, cipher=AES256_CBC, encrypts_first=True, signs_certificate=True),
        ),
        (
            f"{TRANSPORT}<sp:SignedSupportingTokens><wsp:Policy>{HASHED}</wsp:Policy></sp:SignedSupportingTokens>",
            SecurityPolicy(
                needs_tls=True, has_timestamp=True, cipher=AES128_CBC, password=Password.DIGEST, signs_token=True
            ),
        ),
        ("<sp:Wss10><wsp:Policy><sp:MustSupportRefIssuerSerial/></wsp:Policy></sp:Wss10>", SecurityPolicy()),
    ],
)
def test_what_policies_ask_for(text: str, policy: SecurityPolicy, sp: str, wsp: str) -> None:
    assert read(text, sp, wsp) == policy
    assert read(f"<wsp:ExactlyOne><wsp:All>{text}</wsp:All></wsp:ExactlyOne>", sp, wsp) == policy
    assert read(f"<wsp:All><wsp:Policy>{text}</wsp:Policy></wsp:All>", sp, wsp) == policy


def test_parts_replace_what_a_binding_signs_by_itself_in_any_order() -> None:
    parts = "<sp:SignedParts><sp:Body/></sp:SignedParts>"
    for text in (BINDING + parts, parts + BINDING):
        assert read(text).signed == SignedParts(body=True)


def test_parts_add_up() -> None:
    header = f'<sp:SignedParts><sp:Header Namespace="{WSA}" Name="To"/></sp:SignedParts>'
    body = "<sp:SignedParts><sp:Body/></sp:SignedParts>"
    expected = SignedParts(body=True, headers=frozenset({(WSA, "To"), (WSA_2004, "To")}))
    for text in (header + body, body + header, BINDING + header + body, header + BINDING + body):
        assert read(text).signed == expected


def test_without_a_suite_we_encrypt_so_that_changes_are_noticed() -> None:
    assert read("<sp:EncryptedParts/>").cipher == AES256_GCM


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("<sp:SymmetricBinding/>", "SymmetricBinding"),
        ("<sp:EndorsingSupportingTokens/>", "EndorsingSupportingTokens"),
        ("<sp:SignedElements/>", "SignedElements"),
        ("<sp:RequiredParts/>", "RequiredParts"),
        ('<x:Unknown xmlns:x="urn:x"/>', "{urn:x}Unknown"),
        ('<x:UsernameToken xmlns:x="urn:x"/>', "{urn:x}UsernameToken"),
        ("<UsernameToken/>", "UsernameToken"),
        ("<wsp:PolicyReference URI='#x'/>", "PolicyReference"),
        ("<sp:UsernameToken><wsp:Policy><sp:NoPassword/></wsp:Policy></sp:UsernameToken>", "NoPassword"),
        ("<sp:EncryptedParts><sp:Header Namespace='urn:x'/></sp:EncryptedParts>", "Header"),
        ("<sp:SignedParts><sp:Attachments/></sp:SignedParts>", "Attachments"),
        ("<sp:SignedParts><sp:Header Name='x'/></sp:SignedParts>", "Header"),
        (BINDING.replace("Basic256Sha256", "Basic256"), "Basic256"),
        (BINDING.replace("Basic256Sha256", "Basic256Sha256Rsa15"), "Basic256Sha256Rsa15"),
        (BINDING.replace("Strict", "LaxTsFirst"), "LaxTsFirst"),
        (BINDING.replace("OnlySignEntireHeadersAndBody", "EncryptSignature"), "EncryptSignature"),
        (TRANSPORT.replace("HttpsToken", "UsernameToken"), "UsernameToken"),
        ("<sp:Wss11><wsp:Policy><sp:RequireSignatureConfirmation/></wsp:Policy></sp:Wss11>", "SignatureConfirmation"),
    ],
)
def test_what_is_not_known_is_named(text: str, name: str) -> None:
    with pytest.raises(PolicyInvalid, match="known") as caught:
        read(text)
    assert name in str(caught.value)


def test_alternatives_are_for_people_to_choose_from() -> None:
    both = "<wsp:ExactlyOne><wsp:All><sp:UsernameToken/></wsp:All><wsp:All/></wsp:ExactlyOne>"
    with pytest.raises(PolicyInvalid, match="2 alternatives"):
        read(both)
    with pytest.raises(PolicyInvalid, match="optional"):
        read('<sp:UsernameToken wsp:Optional="true"/>')
    assert read('<sp:UsernameToken wsp:Optional="false"/>').password is Password.TEXT


def test_signed_tokens_need_something_that_signs_them() -> None:
    tokens = f"<sp:SignedSupportingTokens><wsp:Policy>{HASHED}</wsp:Policy></sp:SignedSupportingTokens>"
    with pytest.raises(PolicyInvalid, match="binding"):
        read(tokens)
    assert read(tokens + BINDING).signs_token


@pytest.mark.parametrize("text", ["", "no XML", "<Policy/>", "<a", f'<wsp:All xmlns:wsp="{WSP}"/>'])
def test_what_is_no_policy(text: str) -> None:
    with pytest.raises(PolicyInvalid, match="polic"):
        read_policy(text)


def test_replies_show_no_password() -> None:
    policy = read(f"{BINDING}<sp:SignedSupportingTokens><wsp:Policy>{HASHED}</wsp:Policy></sp:SignedSupportingTokens>")
    assert policy.of_replies == read(BINDING)
