"""Messages on their way out, for tests."""

from typing import Any

from demaq.gateways.parcel import Parcel
from demaq.model import GatewaySettings, Message, Value
from gateways.reliable.time_travel import START


def parcel(
    to: str, /, number: int = 1, body: str = "<a/>", properties: dict[str, str] | None = None, **fields: Any
) -> Parcel:
    """A message for an address; `fields` are those of its settings, or of the parcel."""
    named = {name: Value("xs:string", text) for name, text in (properties or {}).items()}
    of_parcel = {
        name: fields.pop(name) for name in ("port", "protocols", "headers", "is_public_only") if name in fields
    }
    return Parcel(
        message=Message(id=number, queue="out", body=body, properties=named, created=START, processed=START),
        to=to,
        identity=f"urn:uuid:{number}",
        settings=GatewaySettings(**fields),
        **of_parcel,
    )
