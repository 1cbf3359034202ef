"""What gateways speak on top of SOAP: `using WS-ReliableMessaging`, `using WS-Security`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from demaq.diagnostics import DemaqError
from demaq.engine.plan import Plan, PlanQueue
from demaq.gateways.reliable.policy import PolicyInvalid as ReliablePolicyInvalid
from demaq.gateways.reliable.policy import ReliablePolicy
from demaq.gateways.reliable.policy import read_policy as read_reliable_policy
from demaq.gateways.reliable.vocabulary import NAMESPACES
from demaq.gateways.secure.credentials import (
    Credentials,
    CredentialsInvalid,
    lacking_to_receive,
    lacking_to_send,
    load_credentials,
)
from demaq.gateways.secure.policy import PolicyInvalid as SecurityPolicyInvalid
from demaq.gateways.secure.policy import SecurityPolicy
from demaq.gateways.secure.policy import read_policy as read_security_policy
from demaq.gateways.soap.wsdl import Port
from demaq.model import RELIABLE_MESSAGING, SECURITY, EdgeSettings, GatewaySettings, QueueKind, SecuritySettings


class ProtocolInvalid(DemaqError):
    """A policy cannot be followed, or something is not set that it needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocols:
    reliable: ReliablePolicy | None = None
    security: SecurityPolicy | None = None
    credentials: Credentials = field(default_factory=Credentials)

    @property
    def is_plain(self) -> bool:
        return self.reliable is None and self.security is None

    @property
    def takes_envelopes_only(self) -> bool:
        return self.security is not None or (self.reliable is not None and not self.reliable.is_optional)

    @property
    def can_secure_replies(self) -> bool:
        return self.security is not None and not lacking_to_send(self.security.of_replies, self.credentials)


def read_protocols(
    plan: Plan, ports: Mapping[str, Port], settings: EdgeSettings
) -> dict[str, Protocols | ProtocolInvalid]:
    """What the queues that speak something speak; or why they cannot."""
    found: dict[str, Protocols | ProtocolInvalid] = {}
    for queue in plan.queues.values():
        if queue.policies:
            try:
                found[queue.name] = _protocols(queue, plan, ports.get(queue.name), settings)
            except ProtocolInvalid as error:
                found[queue.name] = error
    return found


def _protocols(queue: PlanQueue, plan: Plan, port: Port | None, settings: EdgeSettings) -> Protocols:
    reliable, security = None, None
    try:
        if (file := queue.policies.get(RELIABLE_MESSAGING)) is not None:
            reliable = read_reliable_policy(plan.interfaces[file])
        if (file := queue.policies.get(SECURITY)) is not None:
            security = read_security_policy(plan.interfaces[file])
        credentials = _credentials(settings.gateway(queue.name).security or SecuritySettings())
    except (ReliablePolicyInvalid, SecurityPolicyInvalid) as error:
        raise ProtocolInvalid(f"{file}, the policy of `{queue.name}`: {error}") from error
    except CredentialsInvalid as error:
        raise ProtocolInvalid(f"`[gateways.{queue.name}.security]` in demaq.toml: {error}") from error
    if security is not None:
        has_output = port is not None and any(operation.has_output for operation in port.operations)
        _check(queue, security, credentials, is_answered=has_output or reliable is not None)
        if reliable is not None:  # else others could say in the name of the signer what has arrived
            security = security.with_signed_headers(NAMESPACES)
    found = Protocols(reliable=reliable, security=security, credentials=credentials)
    _check_ways(queue, found, settings.gateway(queue.name))
    return found


def _check_ways(queue: PlanQueue, protocols: Protocols, settings: GatewaySettings) -> None:
    """Does nothing come that its policies are not about?"""
    ways = [name for name, is_set in (("mail", settings.mail), ("folder", settings.folder)) if is_set]
    if queue.kind is QueueKind.INCOMING_GATEWAY and protocols.takes_envelopes_only and ways:
        raise ProtocolInvalid(
            f"`{queue.name}` takes envelopes as its policies ask for them, over HTTP alone: "
            f"leave out {' and '.join(f'`{way}`' for way in ways)} below [gateways.{queue.name}] in demaq.toml"
        )


def _check(queue: PlanQueue, policy: SecurityPolicy, credentials: Credentials, *, is_answered: bool) -> None:
    """Is everything there that a policy needs, for what comes and for what is answered?"""
    if queue.kind is QueueKind.INCOMING_GATEWAY:
        lacking = lacking_to_receive(policy, credentials)
        lacking += lacking_to_send(policy.of_replies, credentials) if is_answered else []
    else:
        lacking = lacking_to_send(policy, credentials)
        lacking += lacking_to_receive(policy.of_replies, credentials) if is_answered else []
    if lacking:
        raise ProtocolInvalid(
            f"the policy of `{queue.name}` needs {'; '.join(lacking)}: "
            f"set that below [gateways.{queue.name}.security] in demaq.toml"
        )


def _credentials(settings: SecuritySettings) -> Credentials:
    return load_credentials(
        user=settings.user,
        password=settings.password,
        certificate=None if settings.certificate is None else Path(settings.certificate),
        key=None if settings.key is None else Path(settings.key),
        key_password=settings.key_password,
        trusted=[Path(file) for file in settings.trusted],
        peer=None if settings.peer is None else Path(settings.peer),
        users=settings.users,
        skew=settings.skew,
    )
