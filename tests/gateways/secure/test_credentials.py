"""What a gateway has to show, and what files it has it from."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

from demaq.gateways.secure.credentials import (
    Credentials,
    CredentialsInvalid,
    lacking_to_receive,
    lacking_to_send,
    load_credentials,
)
from demaq.gateways.secure.policy import Password, SecurityPolicy
from gateways.secure.letters import BOTH, DIGEST, received, sent
from gateways.secure.people import ada, authority, bob, curved, eve, receiver, sender

ALL = replace(BOTH, password=Password.TEXT)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, who in (("ada", ada()), ("bob", bob()), ("curved", curved())):
        (tmp_path / f"{name}.pem").write_bytes(who.certificate_pem)
        (tmp_path / f"{name}.key").write_bytes(who.key_pem)
    (tmp_path / "trusted.pem").write_bytes(eve().certificate_pem + authority().certificate_pem)
    locked = ada().key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"open"))
    (tmp_path / "locked.key").write_bytes(locked)
    other = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "other.key").write_bytes(other)
    (tmp_path / "empty.pem").write_bytes(b"")
    return tmp_path


def test_from_files(folder: Path) -> None:
    ours = load_credentials(
        user="ada",
        password="secret & <sweet>",
        certificate=folder / "ada.pem",
        key=folder / "ada.key",
        peer=folder / "bob.pem",
    )
    theirs = load_credentials(
        certificate=folder / "bob.pem",
        key=folder / "bob.key",
        trusted=[folder / "trusted.pem"],
        users={"ada": "secret & <sweet>"},
    )
    assert theirs.trusted == (eve().certificate, authority().certificate)
    found = received(sent(ALL, ours), ALL, theirs)
    assert (found.user, found.subject) == ("ada", "CN=ada")


def test_a_key_with_a_password(folder: Path) -> None:
    files: dict[str, Any] = {"certificate": folder / "ada.pem", "key": folder / "locked.key"}
    assert load_credentials(**files, key_password="open").key is not None
    for password in (None, "shut"):
        with pytest.raises(CredentialsInvalid, match=r"locked\.key has no private key"):
            load_credentials(**files, key_password=password)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"certificate": "ada.pem"}, "name the files of both"),
        ({"key": "ada.key"}, "name the files of both"),
        ({"certificate": "ada.pem", "key": "bob.key"}, "bob.key is not that of the certificate in .*ada.pem"),
        ({"certificate": "curved.pem", "key": "bob.key"}, "is not that of the certificate"),
        ({"certificate": "ada.key", "key": "ada.key"}, "ada.key has no certificate"),
        ({"certificate": "ada.pem", "key": "ada.pem"}, "ada.pem has no private key"),
        ({"certificate": "ada.pem", "key": "other.key"}, "neither of RSA nor of an elliptic curve"),
        ({"peer": "empty.pem"}, "empty.pem has no certificate"),
        ({"peer": "missing.pem"}, "missing.pem cannot be read: No such file"),
    ],
)
def test_files_that_are_of_no_use(folder: Path, files: dict[str, str], said: str) -> None:
    paths: dict[str, Any] = {name: folder / file for name, file in files.items()}
    with pytest.raises(CredentialsInvalid, match=said):
        load_credentials(**paths)


def test_nobody_reads_secrets_by_chance() -> None:
    shown = repr(replace(sender(), users={"grace": "hopper"}))
    assert "sweet" not in shown
    assert "hopper" not in shown


@pytest.mark.parametrize("policy", [SecurityPolicy(), SecurityPolicy(has_timestamp=True)])
def test_little_is_needed_for_little(policy: SecurityPolicy) -> None:
    assert lacking_to_send(policy, Credentials()) == lacking_to_receive(policy, Credentials()) == []


def test_what_is_lacking() -> None:
    assert lacking_to_send(ALL, sender()) == lacking_to_receive(ALL, receiver()) == []
    assert len(lacking_to_send(ALL, Credentials())) == len(lacking_to_receive(ALL, Credentials())) == 3
    assert lacking_to_send(ALL, replace(sender(), password=None)) == ["a user and a password to show"]
    assert lacking_to_send(ALL, replace(sender(), peer=None)) == lacking_to_send(
        ALL, replace(sender(), peer=curved().certificate)
    )
    assert lacking_to_receive(ALL, replace(receiver(), key=curved().key)) == ["a private key of RSA to decrypt with"]
    assert lacking_to_receive(DIGEST, replace(receiver(), users={})) == ["users and their passwords"]
