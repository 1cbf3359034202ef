"""Users and their passwords."""

from dataclasses import replace
from datetime import timedelta

import pytest
from lxml import etree

from demaq.gateways.secure.faults import Problem
from demaq.gateways.secure.names import PASSWORD_DIGEST
from demaq.gateways.secure.nonces import Nonces
from demaq.gateways.secure.policy import Password, SecurityPolicy
from demaq.gateways.secure.usernames import username_token
from demaq.gateways.soap.envelope import Version
from gateways.secure.letters import DIGEST, SIGNED, SPACES, TEXT, find, parsed, plain, received, refused, sent
from gateways.secure.others import zeep_username
from gateways.secure.people import NOW, receiver, sender

SKEW = receiver().skew
PASSWORD = "secret & <sweet>"


def token(root: "etree._Element", name: str) -> "etree._Element":
    return find(root, f"//wsse:UsernameToken/{name}")


# Others


@pytest.mark.parametrize("version", Version)
@pytest.mark.parametrize("is_zulu", [False, True])
@pytest.mark.parametrize(("is_digest", "policy"), [(False, TEXT), (True, DIGEST)])
def test_what_zeep_sends(is_digest: bool, policy: SecurityPolicy, is_zulu: bool, version: Version) -> None:
    root = plain(version=version)
    zeep_username.UsernameToken("ada", PASSWORD, use_digest=is_digest, created=NOW, zulu_timestamp=is_zulu).apply(
        root, {}
    )
    assert received(root, policy).user == "ada"
    assert received(root, SecurityPolicy()).user == "ada"
    with refused(Problem.FAILED_AUTHENTICATION):
        received(root, policy, replace(receiver(), users={"ada": "another"}))


@pytest.mark.parametrize("nonce", ["n", "nonce\n", "ü" * 50])
def test_zeep_makes_the_same_digest(nonce: str) -> None:
    """What we send is right to those who make it once more from the same nonce, time and password."""
    root = plain()
    zeep_username.UsernameToken("ada", PASSWORD, use_digest=True, nonce=nonce, created=NOW, zulu_timestamp=True).apply(
        root, {}
    )
    assert received(root, DIGEST).user == "ada"


# Passwords


@pytest.mark.parametrize("policy", [TEXT, DIGEST])
@pytest.mark.parametrize(
    ("user", "password"),
    [
        ("ada", "wrong"),
        ("ada", ""),
        ("ada", "hopper"),
        ("ada", f"{PASSWORD} "),
        ("ada ", PASSWORD),
        ("ADA", PASSWORD),
        ("eve", PASSWORD),
        ("", PASSWORD),
    ],
)
def test_who_is_not_known_and_what_is_not_right_get_the_same_answer(
    policy: SecurityPolicy, user: str, password: str
) -> None:
    with refused(Problem.FAILED_AUTHENTICATION, "^the user is not known, or the password is not right$"):
        received(sent(policy, replace(sender(), user=user, password=password)), policy)


def test_several_users() -> None:
    for user, password in receiver().users.items():
        assert received(sent(DIGEST, replace(sender(), user=user, password=password)), DIGEST).user == user


def test_a_password_of_another_kind() -> None:
    for asked, given in ((DIGEST, TEXT), (TEXT, DIGEST)):
        assert asked.password is not None
        with refused(Problem.UNSUPPORTED_TOKEN, asked.password.value):
            received(sent(given), asked)
    root = parsed(sent(TEXT))
    token(root, "wsse:Password").set("Type", "urn:unknown")
    with refused(Problem.UNSUPPORTED_TOKEN):
        received(root, SecurityPolicy())


def test_a_digest_is_not_a_password() -> None:
    """Whoever has seen a digest cannot show it as the password, nor a password as a digest."""
    root = parsed(sent(DIGEST))
    del token(root, "wsse:Password").attrib["Type"]
    with refused(Problem.FAILED_AUTHENTICATION):
        received(root, TEXT)
    root = parsed(sent(TEXT))
    token(root, "wsse:Password").set("Type", PASSWORD_DIGEST)
    with refused(Problem.INVALID, "base 64"):
        received(root, DIGEST)


@pytest.mark.parametrize("name", ["wsse:Username", "wsse:Password"])
def test_parts_of_a_token(name: str) -> None:
    root = parsed(sent(TEXT))
    part = token(root, name)
    part.addnext(etree.fromstring(etree.tostring(part)))
    with refused(Problem.INVALID, "several"):
        received(root, TEXT)
    for each in root.xpath(f"//{name}", namespaces=SPACES):
        each.getparent().remove(each)
    with refused(Problem.INVALID, "no element"):
        received(root, TEXT)


def test_comments_do_not_cut_names() -> None:
    """`grace<!---->hopper` is not Grace."""
    data = sent(TEXT, replace(sender(), user="gracehopper", password="hopper"))
    data = data.replace(b"gracehopper", b"grace<!-- -->hopper")
    with refused(Problem.INVALID, "something else in it than text"):
        received(data, TEXT)


@pytest.mark.parametrize("inside", [SIGNED, replace(SIGNED, password=Password.DIGEST)], ids=["signed", "both"])
def test_a_token_that_is_not_signed_does_not_say_who_signed(inside: SecurityPolicy) -> None:
    """Whoever has a password could put a token of her own into what somebody else has signed."""
    root = parsed(sent(SIGNED))
    find(root, "//wsse:Security").insert(0, username_token("grace", "hopper", Password.DIGEST, NOW))
    found = received(root, inside)
    assert (found.user, found.subject) == (None, "CN=ada")


def test_a_token_that_is_signed_says_who_it_is() -> None:
    found = received(sent(replace(SIGNED, password=Password.DIGEST)), SIGNED)
    assert (found.user, found.subject) == ("ada", "CN=ada")


# Nonces and times


@pytest.mark.parametrize("policy", [TEXT, DIGEST])
def test_a_token_is_taken_once(policy: SecurityPolicy) -> None:
    seen = Nonces()
    data = sent(policy)
    assert received(data, policy, seen=seen).user == "ada"
    with refused(Problem.INVALID, "came before"):
        received(data, policy, seen=seen)
    with refused(Problem.INVALID, "came before"):
        received(data, policy, seen=seen, now=NOW + SKEW)
    with refused(Problem.EXPIRED):
        received(data, policy, seen=seen, now=NOW + SKEW + timedelta(seconds=1))


def test_a_nonce_that_is_written_differently_is_the_same() -> None:
    seen = Nonces()
    root = parsed(sent(DIGEST))
    received(root, DIGEST, seen=seen)
    nonce, created = token(root, "wsse:Nonce"), token(root, "wsu:Created")
    nonce.text = f"\n {nonce.text[:5]} {nonce.text[5:]}\n"
    created.text = f" {created.text} "
    with refused(Problem.INVALID, "came before"):
        received(root, DIGEST, seen=seen)


def test_a_wrong_password_uses_up_no_nonce() -> None:
    """Else whoever sees a message on its way could have it refused."""
    seen = Nonces()
    root = parsed(sent(DIGEST))
    right = token(root, "wsse:Password").text
    token(root, "wsse:Password").text = "AAAA"
    with refused(Problem.FAILED_AUTHENTICATION):
        received(root, DIGEST, seen=seen)
    assert seen.size == 0
    token(root, "wsse:Password").text = right
    assert received(root, DIGEST, seen=seen).user == "ada"


@pytest.mark.parametrize("policy", [TEXT, DIGEST])
def test_tokens_have_their_time(policy: SecurityPolicy) -> None:
    second = timedelta(seconds=1)
    for now in (NOW - SKEW, NOW, NOW + SKEW):
        assert received(sent(policy), policy, now=now).user == "ada"
    with refused(Problem.EXPIRED):
        received(sent(policy), policy, now=NOW + SKEW + second)
    with refused(Problem.INVALID, "future"):
        received(sent(policy), policy, now=NOW - SKEW - second)


@pytest.mark.parametrize("names", [["wsse:Nonce"], ["wsu:Created"], ["wsse:Nonce", "wsu:Created"]])
def test_a_digest_needs_a_nonce_and_a_time(names: list[str]) -> None:
    root = parsed(sent(DIGEST))
    for name in names:
        part = token(root, name)
        part.getparent().remove(part)
    with refused(Problem.INVALID_TOKEN, "Created"):
        received(root, DIGEST)


def test_a_text_needs_neither() -> None:
    root = parsed(sent(TEXT))
    for name in ("wsse:Nonce", "wsu:Created"):
        part = token(root, name)
        part.getparent().remove(part)
    seen = Nonces()
    assert received(root, TEXT, seen=seen).user == "ada"
    assert received(root, TEXT, seen=seen).user == "ada"


@pytest.mark.parametrize(
    ("name", "text"), [("wsse:Nonce", "!"), ("wsse:Nonce", "A"), ("wsu:Created", ""), ("wsu:Created", "yesterday")]
)
def test_nonces_and_times_that_are_none(name: str, text: str) -> None:
    root = parsed(sent(DIGEST))
    token(root, name).text = text
    with refused(Problem.INVALID):
        received(root, DIGEST)


# With a signature


def test_a_token_that_has_to_be_signed() -> None:
    policy = replace(SIGNED, password=Password.TEXT, signs_token=True)
    assert received(sent(policy), policy).user == "ada"
    root = parsed(sent(policy))
    token(root, "wsse:Username").text = "grace"
    token(root, "wsse:Password").text = "hopper"
    with refused(Problem.FAILED_CHECK, "UsernameToken is not as it was signed"):
        received(root, policy)
    root = parsed(sent(SIGNED))
    added = parsed(sent(TEXT))
    find(root, "//wsse:Security").append(find(added, "//wsse:UsernameToken"))
    with refused(Problem.INVALID, "UsernameToken is not signed"):
        received(root, policy)


def test_users_may_be_nobody() -> None:
    with refused(Problem.FAILED_AUTHENTICATION):
        received(sent(TEXT), TEXT, replace(receiver(), users={}))
