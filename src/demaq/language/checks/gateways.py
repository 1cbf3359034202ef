"""Settings of gateways in `demaq.toml`: for queues that are there, and that go into this direction."""

from collections.abc import Mapping
from dataclasses import fields

from demaq.diagnostics import Report, did_you_mean
from demaq.language import codes
from demaq.language.examined import Examined
from demaq.model import SECURITY, GatewaySettings, Queue, QueueKind

_BOTH = ("security",)
_OUTGOING = ("to", "allow", "timeout", "patience", "replies", "token")
_PLAIN = GatewaySettings()


def check(examined: Examined, report: Report) -> None:
    queues = examined.symbols.queues.mapping()
    gateways = [queue.name for queue in queues.values() if queue.kind.is_gateway]
    for name, settings in examined.gateways.items():
        queue = queues.get(name)
        if queue is None or not queue.kind.is_gateway:
            what = "there is no queue" if queue is None else "no gateway is called"
            help_ = did_you_mean(name, gateways, "gateways") if gateways else "the application has no gateways"
            report.say(codes.CONFIGURATION, None, f"`[gateways.{name}]` in demaq.toml: {what} `{name}`", help=help_)
        else:
            _check_direction(queue, settings, report)
            _check_replies(queue, settings, queues, report)
            _check_protocols(queue, settings, report)


def _check_direction(queue: Queue, settings: GatewaySettings, report: Report) -> None:
    is_outgoing = queue.kind is QueueKind.OUTGOING_GATEWAY
    for field in fields(GatewaySettings):
        is_set = getattr(settings, field.name) != getattr(_PLAIN, field.name)
        if is_set and field.name not in _BOTH and (field.name in _OUTGOING) != is_outgoing:
            other = "incoming" if is_outgoing else "outgoing"
            text = f"`{field.name}` in `[gateways.{queue.name}]` is for {other} gateways, and `{queue.name}` is none"
            report.say(codes.CONFIGURATION, None, text)


def _check_protocols(queue: Queue, settings: GatewaySettings, report: Report) -> None:
    """What only envelopes can have cannot be asked of anything else."""
    spoken = [extension.name for extension in queue.extensions]
    if settings.security is not None and SECURITY not in spoken:
        text = f"`[gateways.{queue.name}.security]` is for gateways that use WS-Security, and `{queue.name}` does not"
        help_ = f"say `using WS-Security policy …` where `{queue.name}` is created, or leave the settings out"
        report.say(codes.CONFIGURATION, None, text, help=help_)
    for name in ("mail", "folder"):
        if spoken and getattr(settings, name) is not None:
            text = f"`{name}` in `[gateways.{queue.name}]`: what comes by {spoken[0]} comes over HTTP"
            report.say(codes.CONFIGURATION, None, text, help="take it in by a gateway of its own")


def _check_replies(queue: Queue, settings: GatewaySettings, queues: Mapping[str, Queue], report: Report) -> None:
    name = settings.replies
    if name is None:
        return
    takers = [each.name for each in queues.values() if each.kind in (QueueKind.BASIC, QueueKind.INCOMING_GATEWAY)]
    if name not in takers:
        text = f"answers of `{queue.name}` cannot go into `{name}`, which `replies` in demaq.toml names"
        report.say(codes.CONFIGURATION, None, text, help=did_you_mean(name, takers, "queues"))
