"""The interfaces of gateways: the ports of their WSDL files."""

from collections.abc import Mapping

from demaq.engine.plan import Plan
from demaq.gateways.soap.wsdl import Port, read_port


class Interfaces:
    """The ports of queues, read once for each version of the application."""

    def __init__(self) -> None:
        self._plan: Plan | None = None
        self._ports: Mapping[str, Port] = {}

    def ports(self, plan: Plan) -> Mapping[str, Port]:
        """By the names of the queues that have one."""
        if plan is not self._plan:
            self._plan, self._ports = plan, _read(plan)
        return self._ports


def _read(plan: Plan) -> dict[str, Port]:
    found = {}
    for queue in plan.queues.values():
        if queue.interface is not None:
            port = read_port(plan.interfaces, queue.interface.file, queue.interface.port)
            if port is not None:
                found[queue.name] = port
    return found
