"""Demaq, declarative messaging and queuing."""

from demaq._version import __version__
from demaq.diagnostics import DemaqError, Diagnostic, Severity
from demaq.engine.incoming import PropertyInvalid, QueueUnknown
from demaq.engine.ledger import LedgerMismatch
from demaq.engine.log import MessageUnknown, Status, Trace
from demaq.engine.xml import MessageRefused
from demaq.language import (
    ApplicationInvalid,
    ApplicationNotFound,
    Checked,
    Program,
    check,
    compile_application,
)
from demaq.model import Clock, Limits, ManualClock, Message, MessageState, Origin, Slice, SystemClock, Value
from demaq.node import DeploymentRefused, NeverIdle, Node, RetryRefused
from demaq.pipelines import PipelineInvalid, PipelineNotFound
from demaq.spark.opening import pipeline
from demaq.store import QueueCounts, StoreError, StoreUnavailable, Version
from demaq.xquery import XQuerySyntaxError

__all__ = [
    "ApplicationInvalid",
    "ApplicationNotFound",
    "Checked",
    "Clock",
    "DemaqError",
    "DeploymentRefused",
    "Diagnostic",
    "LedgerMismatch",
    "Limits",
    "ManualClock",
    "Message",
    "MessageRefused",
    "MessageState",
    "MessageUnknown",
    "NeverIdle",
    "Node",
    "Origin",
    "PipelineInvalid",
    "PipelineNotFound",
    "Program",
    "PropertyInvalid",
    "QueueCounts",
    "QueueUnknown",
    "RetryRefused",
    "Severity",
    "Slice",
    "Status",
    "StoreError",
    "StoreUnavailable",
    "SystemClock",
    "Trace",
    "Value",
    "Version",
    "XQuerySyntaxError",
    "__version__",
    "check",
    "compile_application",
    "pipeline",
]
