"""The interfaces of gateways: the ports of their WSDL files, and the protocols that they speak on top of SOAP."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from demaq.engine.plan import Plan
from demaq.gateways.protocols import ProtocolInvalid, Protocols, read_protocols
from demaq.gateways.soap.wsdl import Port, read_port
from demaq.model import EdgeSettings


@dataclass(frozen=True, slots=True)
class _Read:
    plan: Plan
    ports: Mapping[str, Port]
    protocols: Mapping[str, Protocols | ProtocolInvalid] = field(default_factory=dict)


class Interfaces:
    """Of the queues of an application; read once for each version of it."""

    def __init__(self, settings: EdgeSettings) -> None:
        self._settings = settings
        self._known: _Read | None = None

    def ports(self, plan: Plan) -> Mapping[str, Port]:
        """By the names of the queues that have one."""
        return self._read(plan).ports

    def protocols(self, plan: Plan, queue: str) -> Protocols:
        """What a queue speaks; raises `ProtocolInvalid`."""
        found = self._read(plan).protocols.get(queue)
        if isinstance(found, ProtocolInvalid):
            raise found
        return Protocols() if found is None else found

    def check(self, plan: Plan) -> None:
        """Raise `ProtocolInvalid` if there is anything that cannot be spoken as it is configured."""
        for queue in self._read(plan).protocols:
            self.protocols(plan, queue)

    def _read(self, plan: Plan) -> _Read:
        known = self._known
        if known is None or known.plan is not plan:
            ports = _ports(plan)
            known = self._known = _Read(plan, ports, read_protocols(plan, ports, self._settings))
        return known


def _ports(plan: Plan) -> dict[str, Port]:
    found = {}
    for queue in plan.queues.values():
        if queue.interface is not None:
            port = read_port(plan.interfaces, queue.interface.file, queue.interface.port)
            if port is not None:
                found[queue.name] = port
    return found
