"""UsernameToken: who sends something, by a password that both sides know."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime

from lxml import etree

from demaq.gateways.secure.credentials import Credentials
from demaq.gateways.secure.elements import base64_text, bytes_of, needed, only, text_of
from demaq.gateways.secure.faults import Problem, SecurityFault
from demaq.gateways.secure.identities import with_id
from demaq.gateways.secure.names import BASE64, PASSWORD_DIGEST, PASSWORD_TEXT, WSSE, WSU, wsse, wsu
from demaq.gateways.secure.nonces import fingerprint
from demaq.gateways.secure.policy import Password
from demaq.gateways.secure.timestamps import check_recent, read_instant, written

_KINDS = {
    "": Password.TEXT,  # which it is if nobody says
    PASSWORD_TEXT: Password.TEXT,
    PASSWORD_DIGEST: Password.DIGEST,
}


@dataclass(frozen=True, slots=True)
class Known:
    """A user whose password was right. The nonce, if there was one, must not come again."""

    user: str
    nonce: bytes | None


def username_token(user: str, password: str, kind: Password, now: datetime) -> "etree._Element":
    """A token, with a nonce and the time, so that it cannot be used again."""
    token = etree.Element(wsse("UsernameToken"), nsmap={"wsse": WSSE, "wsu": WSU})
    with_id(token)
    nonce, created = secrets.token_bytes(16), written(now)
    is_text = kind is Password.TEXT
    shown = password if is_text else base64_text(_digest(nonce, created, password))
    etree.SubElement(token, wsse("Username")).text = user
    etree.SubElement(token, wsse("Password"), Type=PASSWORD_TEXT if is_text else PASSWORD_DIGEST).text = shown
    etree.SubElement(token, wsse("Nonce"), EncodingType=BASE64).text = base64_text(nonce)
    etree.SubElement(token, wsu("Created")).text = created
    return token


def _digest(nonce: bytes, created: str, password: str) -> bytes:
    # SHA-1 is what the profile says; how easily two texts with one digest are found does not matter here.
    return hashlib.sha1(nonce + created.encode() + password.encode(), usedforsecurity=False).digest()


def check_username(token: "etree._Element", asked: Password | None, credentials: Credentials, now: datetime) -> Known:
    """Who shows a token; a fault if it is not right, or of another kind than is asked for."""
    password = needed(token, wsse("Password"))
    kind = _KINDS.get(password.get("Type", ""))
    if kind is None or asked not in (None, kind):
        wanted = " or ".join(each.value for each in Password) if asked is None else asked.value
        raise SecurityFault(Problem.UNSUPPORTED_TOKEN, f"the password is of another kind than {wanted}")
    user = _plain(needed(token, wsse("Username")))
    nonce, created = _nonce(token), only(token, wsu("Created"))
    if created is not None:
        check_recent(read_instant(created), now, credentials.skew)
    if nonce is not None and created is None:
        raise SecurityFault(Problem.INVALID_TOKEN, "a UsernameToken that has a Nonce has Created, too")
    # Who is not known has a password as well, which nobody has: so nobody learns who is known.
    right = credentials.users.get(user, secrets.token_hex())
    if kind is Password.TEXT:
        is_right = hmac.compare_digest(_plain(password).encode(), right.encode())
    elif nonce is None or created is None:
        raise SecurityFault(Problem.INVALID_TOKEN, "a UsernameToken with a digest has Nonce and Created")
    else:
        is_right = hmac.compare_digest(bytes_of(password), _digest(nonce, text_of(created), right))
    if not is_right or user not in credentials.users:
        raise SecurityFault(Problem.FAILED_AUTHENTICATION, "the user is not known, or the password is not right")
    if nonce is None or created is None:
        return Known(user, None)
    return Known(user, fingerprint(user.encode(), nonce, text_of(created).encode()))


def _plain(element: "etree._Element") -> str:
    """A name or a password as it stands there, blanks and all."""
    text_of(element)
    return element.text or ""


def _nonce(token: "etree._Element") -> bytes | None:
    found = only(token, wsse("Nonce"))
    if found is None:
        return None
    if found.get("EncodingType", BASE64) != BASE64:
        raise SecurityFault(Problem.INVALID_TOKEN, "a Nonce is in base 64")
    return bytes_of(found)
