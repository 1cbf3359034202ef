"""Message properties."""

from dataclasses import dataclass
from enum import Enum


class PropertyMode(Enum):
    PLAIN = "plain"  # explicit value, else the computed one
    FIXED = "fixed"  # always the computed value
    INHERITED = "inherited"  # explicit value, else that of the causing message, else the computed one


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """A typed value that messages of certain queues carry; `type` is a built-in type such as `xs:string`."""

    name: str
    type: str
    mode: PropertyMode = PropertyMode.PLAIN
    queues: tuple[str, ...] = ()


SYSTEM_PROPERTIES: dict[str, str] = {
    "sys:id": "xs:integer",
    "sys:queue": "xs:string",
    "sys:rule": "xs:string",
    "sys:cause": "xs:integer",
    "sys:created": "xs:dateTime",
    "sys:size": "xs:integer",
    "sys:sender": "xs:string",
    "sys:connection": "xs:string",
}
"""Set by the system on every message, readable everywhere; the value is the type."""

COMMUNICATION_PROPERTIES: dict[str, str] = {
    "Sender": "xs:string",
    "To": "xs:string",
    "ReplyTo": "xs:string",
    "Action": "xs:string",
}
"""Settable on any message; gateways interpret them."""

ECHO_PROPERTIES: dict[str, str] = {"timeout": "xs:anyAtomicType", "target": "xs:string"}
"""Settable on messages for echo queues: when they go on, and where to."""

SETTABLE_PROPERTIES: dict[str, str] = {**COMMUNICATION_PROPERTIES, **ECHO_PROPERTIES}
