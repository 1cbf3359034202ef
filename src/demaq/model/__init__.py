"""The vocabulary: queues, properties, slicings, collections, messages. Nothing in it reads or writes."""

from demaq.model.clock import Clock, ManualClock, SystemClock
from demaq.model.collection import Collection
from demaq.model.limits import Limits
from demaq.model.message import Message, MessageState, NewMessage, Origin, Slice, Staged
from demaq.model.pipeline import Pipeline
from demaq.model.property import (
    COMMUNICATION_PROPERTIES,
    ECHO_PROPERTIES,
    SETTABLE_PROPERTIES,
    SYSTEM_PROPERTIES,
    Property,
    PropertyMode,
)
from demaq.model.queue import (
    RELIABLE_MESSAGING,
    SECURITY,
    SYSTEM_ERRORS,
    Interface,
    Queue,
    QueueKind,
    QueueMode,
    WebServiceExtension,
)
from demaq.model.settings import (
    EdgeSettings,
    GatewaySettings,
    MailSettings,
    SecuritySettings,
    ServerSettings,
    TelemetrySettings,
)
from demaq.model.slicing import Slicing
from demaq.model.values import PropertyValues, Value

__all__ = [
    "COMMUNICATION_PROPERTIES",
    "ECHO_PROPERTIES",
    "RELIABLE_MESSAGING",
    "SECURITY",
    "SETTABLE_PROPERTIES",
    "SYSTEM_ERRORS",
    "SYSTEM_PROPERTIES",
    "Clock",
    "Collection",
    "EdgeSettings",
    "GatewaySettings",
    "Interface",
    "Limits",
    "MailSettings",
    "ManualClock",
    "Message",
    "MessageState",
    "NewMessage",
    "Origin",
    "Pipeline",
    "Property",
    "PropertyMode",
    "PropertyValues",
    "Queue",
    "QueueKind",
    "QueueMode",
    "SecuritySettings",
    "ServerSettings",
    "Slice",
    "Slicing",
    "Staged",
    "SystemClock",
    "TelemetrySettings",
    "Value",
    "WebServiceExtension",
]
