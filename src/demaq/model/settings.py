"""What an operator sets of the edges of a node, in `demaq.toml`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

LARGEST = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """`[server]`: where a node listens, and whom it lets in.

    `token` is a secret that whoever comes has to show, and empty if one is wanted and not set; `address` is how others
    reach the node, if not by host and port.
    """

    host: str = "127.0.0.1"
    port: int = 8484
    address: str | None = None
    token: str | None = field(default=None, repr=False)
    certificate: str | None = None
    key: str | None = None
    largest: int = LARGEST  # bytes of what is sent to it
    rate: int = 0  # requests a second from one address; 0: as many as come
    connections: int = 1000  # at the same time
    proxies: tuple[str, ...] = ()  # whose word is taken for whom they pass on
    log: str = "off"  # or "text", or "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecuritySettings:
    """`[gateways.NAME.security]`: what a gateway that uses WS-Security shows to others, and by what it knows them.

    To others it is `user`, or the owner of `certificate`. It believes `users`, by their passwords, and the owners of
    certificates in `trusted`, or of those that these vouch for. What it encrypts is for the owner of `peer`. Clocks may
    differ by `skew`.
    """

    user: str | None = None
    password: str | None = field(default=None, repr=False)
    certificate: str | None = None
    key: str | None = None
    key_password: str | None = field(default=None, repr=False)
    trusted: tuple[str, ...] = ()
    peer: str | None = None
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    skew: timedelta = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """`[gateways.NAME]`: how one gateway is connected.

    Outgoing: `to` is where messages go, and `allow` where the property `To` may send them instead. Each attempt may
    take `timeout`; a message that could not be delivered for `patience` becomes an error. Answers of services go into
    the queue `replies`. `token` is shown where messages usually go; it is empty if one is wanted and not set.

    Incoming: senders wait for a reply by default for `wait`; one that is `public` asks for no token. What is mailed to
    the address `mail`, and files that are put into `folder`, come in, too.

    Both: `security` is for gateways that use WS-Security.
    """

    to: str | None = None
    allow: tuple[str, ...] = ()
    timeout: timedelta = timedelta(seconds=30)
    patience: timedelta = timedelta(minutes=5)
    replies: str | None = None
    token: str | None = field(default=None, repr=False)
    wait: timedelta = timedelta(0)
    public: bool = False
    mail: str | None = None
    folder: str | None = None
    security: SecuritySettings | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MailSettings:
    """`[mail]`: by which server mail goes out, from whom, and where it comes in.

    `server` is written `smtp://host:25`, `smtp+tls://host:587` (which begins in the open, and then is encrypted) or
    `smtps://host:465`. Mail comes in from this machine, and from the mail servers, or networks of them, in `relays`.
    """

    server: str = "smtp://localhost:25"
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    sender: str = "demaq@localhost"
    host: str = "127.0.0.1"
    port: int = 8425
    relays: tuple[str, ...] = ()
    rate: int = 0  # mails a minute from one address; 0: as many as come
    connections: int = 100  # at the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetrySettings:
    """`[telemetry]`: where traces are sent, if anywhere: the address of an OpenTelemetry collector."""

    endpoint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeSettings:
    server: ServerSettings = field(default_factory=ServerSettings)
    mail: MailSettings = field(default_factory=MailSettings)
    gateways: Mapping[str, GatewaySettings] = field(default_factory=dict)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)

    def gateway(self, queue: str) -> GatewaySettings:
        return self.gateways.get(queue, _PLAIN)


_PLAIN = GatewaySettings()
