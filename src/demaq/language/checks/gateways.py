"""Settings of gateways in `demaq.toml`: for queues that are there, and that go into this direction."""

from collections.abc import Mapping
from dataclasses import fields

from demaq.diagnostics import Report, did_you_mean
from demaq.language import codes
from demaq.language.examined import Examined
from demaq.model import GatewaySettings, Queue, QueueKind

_OUTGOING = ("to", "allow", "timeout", "patience", "replies")
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


def _check_direction(queue: Queue, settings: GatewaySettings, report: Report) -> None:
    is_outgoing = queue.kind is QueueKind.OUTGOING_GATEWAY
    for field in fields(GatewaySettings):
        if getattr(settings, field.name) != getattr(_PLAIN, field.name) and (field.name in _OUTGOING) != is_outgoing:
            other = "incoming" if is_outgoing else "outgoing"
            text = f"`{field.name}` in `[gateways.{queue.name}]` is for {other} gateways, and `{queue.name}` is none"
            report.say(codes.CONFIGURATION, None, text)


def _check_replies(queue: Queue, settings: GatewaySettings, queues: Mapping[str, Queue], report: Report) -> None:
    name = settings.replies
    if name is None:
        return
    takers = [each.name for each in queues.values() if each.kind in (QueueKind.BASIC, QueueKind.INCOMING_GATEWAY)]
    if name not in takers:
        text = f"answers of `{queue.name}` cannot go into `{name}`, which `replies` in demaq.toml names"
        report.say(codes.CONFIGURATION, None, text, help=did_you_mean(name, takers, "queues"))
