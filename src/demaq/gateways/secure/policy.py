"""Policies: what a gateway asks of envelopes, as WS-SecurityPolicy says it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from lxml import etree

from demaq.diagnostics import DemaqError, listing
from demaq.gateways.secure.names import AES128_CBC, AES256_CBC, AES256_GCM
from demaq.gateways.soap import addressing

SP = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702"
SP_2005 = "http://schemas.xmlsoap.org/ws/2005/07/securitypolicy"
WSP = "http://www.w3.org/ns/ws-policy"
WSP_2004 = "http://schemas.xmlsoap.org/ws/2004/09/policy"


class PolicyInvalid(DemaqError):
    """A policy asks for something that we do not know how to give, or is no policy."""


class Password(Enum):
    """How a UsernameToken has the password."""

    TEXT = "PasswordText"
    DIGEST = "PasswordDigest"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedParts:
    """What a signature has to cover: headers are named by namespace and name, or by their namespace alone."""

    body: bool = False
    every_header: bool = False
    headers: frozenset[tuple[str, str | None]] = frozenset()

    def has_header(self, element: "etree._Element") -> bool:
        return self.has_name(element.tag)

    def has_name(self, tag: str) -> bool:
        name = etree.QName(tag)
        space = name.namespace or ""
        return self.every_header or (space, None) in self.headers or (space, name.localname) in self.headers

    def with_headers(self, namespaces: Iterable[str], name: str | None = None) -> "SignedParts":
        return replace(self, headers=self.headers | {(each, name) for each in namespaces})


USUAL_PARTS = SignedParts(body=True, headers=frozenset((each, None) for each in addressing.NAMESPACES))


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityPolicy:
    """What an envelope needs to have. One that asks for nothing still has what is there checked."""

    password: Password | None = None  # None: no UsernameToken
    signs_token: bool = False  # the signature covers the UsernameToken
    signed: SignedParts | None = None  # None: no signature
    signs_certificate: bool = False  # it covers the certificate that it is made with
    encrypts_body: bool = False
    encrypts_first: bool = False  # what is signed is what was encrypted
    cipher: str = AES256_GCM  # with which we encrypt
    has_timestamp: bool = False
    needs_tls: bool = False  # for whoever knows how the envelope comes and goes to check

    @property
    def asks_nothing(self) -> bool:
        return not (self.password or self.signed or self.encrypts_body or self.has_timestamp)

    @property
    def of_replies(self) -> "SecurityPolicy":
        """What a reply needs to have: whoever replies has no password to show."""
        return replace(self, password=None, signs_token=False)

    def with_signed_headers(self, namespaces: Iterable[str]) -> "SecurityPolicy":
        """The same, and if anything is signed, these headers are."""
        return self if self.signed is None else replace(self, signed=self.signed.with_headers(namespaces))


def read_policy(text: str) -> SecurityPolicy:
    """A policy as its file says it."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        root = etree.fromstring(text.encode(), parser)
    except etree.XMLSyntaxError as error:
        raise PolicyInvalid(f"the policy is not well-formed XML: {' '.join(str(error).split())}") from error
    if not _is_of_policy(root, "Policy"):
        raise PolicyInvalid(f"this is no policy but `{root.tag}`: a policy is an element `Policy` of {WSP}")
    policy = _fold(_inside(root), _ANYWHERE, "the policy", SecurityPolicy())
    if policy.signs_token and policy.signed is None and not policy.needs_tls:
        raise PolicyInvalid(
            "SignedSupportingTokens is about tokens that are signed: add a binding, or SupportingTokens"
        )
    return policy


_Reader = Callable[["etree._Element", SecurityPolicy], SecurityPolicy]


def _is_of_policy(element: "etree._Element", *names: str) -> bool:
    name = etree.QName(element)
    return name.namespace in (WSP, WSP_2004) and name.localname in names


def _inside(element: "etree._Element") -> "Iterator[etree._Element]":
    """The assertions in an element, of whose alternatives there is one."""
    for child in element.iterchildren("*"):
        if not _is_of_policy(child, "Policy", "All", "ExactlyOne"):
            yield child
            continue
        choices = list(child.iterchildren("*"))
        if _is_of_policy(child, "ExactlyOne") and len(choices) > 1:
            raise PolicyInvalid(f"the policy has {len(choices)} alternatives: choose one, and leave the others out")
        yield from _inside(child)


def _fold(
    assertions: "Iterator[etree._Element]", known: Mapping[str, _Reader], where: str, policy: SecurityPolicy
) -> SecurityPolicy:
    """A policy with assertions, each of which is known in its place."""
    for each in assertions:
        name = etree.QName(each)
        if name.namespace not in (SP, SP_2005) or name.localname not in known:
            raise PolicyInvalid(f"the assertion {each.tag} in {where} is not known: known there are {listing(known)}")
        if any(each.get(f"{{{space}}}Optional") in ("true", "1") for space in (WSP, WSP_2004)):
            raise PolicyInvalid(f"{name.localname} is optional: ask for it, or leave it out")
        policy = known[name.localname](each, policy)
    return policy


def _within(known: Mapping[str, _Reader]) -> _Reader:
    """An assertion that is about those which are in it."""
    return lambda element, policy: _fold(_inside(element), known, str(etree.QName(element).localname), policy)


def _says(**values: bool) -> _Reader:
    return lambda _, policy: replace(policy, **values)  # type: ignore[arg-type]


_NOTHING = _says()


# Tokens


def _username(element: "etree._Element", policy: SecurityPolicy) -> SecurityPolicy:
    return _within(_IN_USERNAME)(element, replace(policy, password=policy.password or Password.TEXT))


def _hashed(_: "etree._Element", policy: SecurityPolicy) -> SecurityPolicy:
    return replace(policy, password=Password.DIGEST)


def _certificate(element: "etree._Element", policy: SecurityPolicy) -> SecurityPolicy:
    return _within(_IN_CERTIFICATE)(element, replace(policy, signed=policy.signed or USUAL_PARTS))


# Parts


def _signed(element: "etree._Element", policy: SecurityPolicy) -> SecurityPolicy:
    said = SignedParts() if policy.signed is None or policy.signed is USUAL_PARTS else policy.signed
    return replace(policy, signed=_with_parts(element, said))


def _with_parts(element: "etree._Element", parts: SignedParts) -> SignedParts:
    children = list(_inside(element))
    if not children:  # as the standard has it
        return replace(parts, body=True, every_header=True)
    for each in children:
        name = etree.QName(each)
        if name.localname == "Body":
            parts = replace(parts, body=True)
        elif name.localname == "Header" and each.get("Namespace") is not None:
            parts = parts.with_headers(_alike(each.get("Namespace", "")), each.get("Name"))
        else:
            raise PolicyInvalid(
                f"{name.localname} in SignedParts is not known: there are Body, and Header of a Namespace"
            )
    return parts


def _alike(namespace: str) -> Iterable[str]:
    """The namespaces whose headers are used as those of one are: of WS-Addressing, we read both versions."""
    return addressing.NAMESPACES if namespace in addressing.NAMESPACES else (namespace,)


def _encrypted(element: "etree._Element", policy: SecurityPolicy) -> SecurityPolicy:
    """The body, whether it is named or nothing is."""
    return _within({"Body": _NOTHING})(element, replace(policy, encrypts_body=True))


def _suite(cipher: str) -> _Reader:
    return lambda _, policy: replace(policy, cipher=cipher)


_IN_USERNAME: Mapping[str, _Reader] = {
    "HashPassword": _hashed,
    "WssUsernameToken10": _NOTHING,
    "WssUsernameToken11": _NOTHING,
}
_IN_CERTIFICATE: Mapping[str, _Reader] = {
    "WssX509V3Token10": _NOTHING,
    "WssX509V3Token11": _NOTHING,
    "RequireIssuerSerialReference": _NOTHING,
    "RequireKeyIdentifierReference": _NOTHING,
    "RequireThumbprintReference": _NOTHING,
}
_IN_TOKEN = _within({"X509Token": _certificate})
_IN_BINDING: Mapping[str, _Reader] = {
    "AlgorithmSuite": _within({"Basic256Sha256": _suite(AES256_CBC), "Basic128Sha256": _suite(AES128_CBC)}),
    "Layout": _within(dict.fromkeys(("Lax", "Strict"), _NOTHING)),
    "IncludeTimestamp": _says(has_timestamp=True),
}
_ASYMMETRIC: Mapping[str, _Reader] = {
    **_IN_BINDING,
    **dict.fromkeys(("InitiatorToken", "RecipientToken"), _IN_TOKEN),
    **dict.fromkeys(("InitiatorSignatureToken", "InitiatorEncryptionToken"), _IN_TOKEN),
    **dict.fromkeys(("RecipientSignatureToken", "RecipientEncryptionToken"), _IN_TOKEN),
    "EncryptBeforeSigning": _says(encrypts_first=True),
    "SignBeforeEncrypting": _NOTHING,
    "OnlySignEntireHeadersAndBody": _NOTHING,
    "ProtectTokens": _says(signs_certificate=True),
}
_TRANSPORT: Mapping[str, _Reader] = {
    **_IN_BINDING,
    "TransportToken": _within({"HttpsToken": _NOTHING}),
}
_WSS = ("MustSupportRefKeyIdentifier", "MustSupportRefIssuerSerial", "MustSupportRefThumbprint")


def _asymmetric(element: "etree._Element", policy: SecurityPolicy) -> SecurityPolicy:
    return _within(_ASYMMETRIC)(element, replace(policy, signed=policy.signed or USUAL_PARTS))


def _transport(element: "etree._Element", policy: SecurityPolicy) -> SecurityPolicy:
    return _within(_TRANSPORT)(element, replace(policy, needs_tls=True))


def _signed_tokens(element: "etree._Element", policy: SecurityPolicy) -> SecurityPolicy:
    return _within({"UsernameToken": _username})(element, replace(policy, signs_token=True))


_ANYWHERE: Mapping[str, _Reader] = {
    "AsymmetricBinding": _asymmetric,
    "TransportBinding": _transport,
    "SupportingTokens": _within({"UsernameToken": _username}),
    "SignedSupportingTokens": _signed_tokens,
    "UsernameToken": _username,
    "X509Token": _certificate,
    "SignedParts": _signed,
    "EncryptedParts": _encrypted,
    "IncludeTimestamp": _says(has_timestamp=True),
    "Wss10": _within(dict.fromkeys(_WSS, _NOTHING)),
    "Wss11": _within(dict.fromkeys(_WSS, _NOTHING)),
}
