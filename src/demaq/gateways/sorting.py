"""Messages that are to be sent, sorted by what has to be done with them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid5

from demaq.engine.plan import Plan
from demaq.gateways.destinations import DestinationInvalid, destination, needs_public_address
from demaq.gateways.interfaces import Interfaces
from demaq.gateways.parcel import Parcel, Undelivered
from demaq.gateways.protocols import ProtocolInvalid
from demaq.gateways.soap.wsdl import Port
from demaq.model import EdgeSettings, Message


@dataclass(slots=True)
class Sorted:
    """Each in the order in which the messages came."""

    parcels: list[Parcel] = field(default_factory=list)  # they have somewhere to go
    homeless: list[Message] = field(default_factory=list)  # they do not
    closed: list[Message] = field(default_factory=list)  # their queues cannot speak as they are configured
    refused: list[tuple[Message, Undelivered]] = field(default_factory=list)  # they may not go where they want to


class Sorting:
    """By the settings of an operator, and by the application."""

    def __init__(self, settings: EdgeSettings, interfaces: Interfaces) -> None:
        self._settings = settings
        self._interfaces = interfaces

    def sort(self, messages: Sequence[Message], plan: Plan, store: UUID) -> Sorted:
        """`store` is the id of the one that they are in, which makes their own ids unlike those of others."""
        ports = self._interfaces.ports(plan)
        found = Sorted()
        for message in messages:
            try:
                parcel = self._parcel(message, plan, ports.get(message.queue), store)
            except DestinationInvalid as error:
                found.refused.append((message, Undelivered("security", str(error), is_final=True)))
            except ProtocolInvalid:
                found.closed.append(message)
            else:
                if parcel is None:
                    found.homeless.append(message)
                else:
                    found.parcels.append(parcel)
        return found

    def _parcel(self, message: Message, plan: Plan, port: Port | None, store: UUID) -> Parcel | None:
        to, is_public_only = self._destination(message, port)
        protocols = self._interfaces.protocols(plan, message.queue)
        if to is None:
            return None
        return Parcel(
            message=message,
            to=to,
            identity=f"urn:uuid:{uuid5(store, str(message.id))}",
            settings=self._settings.gateway(message.queue),
            port=port,
            protocols=protocols,
            is_public_only=is_public_only,
        )

    def _destination(self, message: Message, port: Port | None) -> tuple[str | None, bool]:
        """Where a message goes, if anywhere, and whether only a public address is meant."""
        settings = self._settings.gateway(message.queue)
        wanted = message.properties.get("To")
        of_interface = None if port is None else port.address
        to = destination(None if wanted is None else wanted.text, settings, of_interface)
        return to, to is not None and needs_public_address(to, settings.allow, settings.to or of_interface)
