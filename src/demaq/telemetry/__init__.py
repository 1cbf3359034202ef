"""Spans for OpenTelemetry, of the extra `telemetry`, if somebody wants them."""

import importlib
import os
from collections.abc import Mapping

from demaq.diagnostics import DemaqError
from demaq.engine.traces import OpenTracing
from demaq.model import TelemetrySettings

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


class TelemetryMissing(DemaqError):
    """Traces are wanted, and what sends them is not installed."""


def telemetry(settings: TelemetrySettings, environ: Mapping[str, str] = os.environ) -> OpenTracing | None:
    """What sends spans to where demaq.toml says, or the environment, which goes before; None if neither says it."""
    named = [name for name in _ENDPOINTS if environ.get(name)]
    if not named and settings.endpoint is None:
        return None
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true" or environ.get("OTEL_TRACES_EXPORTER") == "none":
        return None
    try:
        module = importlib.import_module("demaq.telemetry.spans")
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith(("opentelemetry", "google")):
            raise
        where = f"{named[0]} is set" if named else "demaq.toml has an `endpoint` below [telemetry]"
        raise TelemetryMissing(
            f"{where}, and nothing that sends traces is installed: pip install 'demaq[telemetry]'"
        ) from error
    endpoint = None if named or settings.endpoint is None else f"{settings.endpoint.rstrip('/')}/v1/traces"
    found: OpenTracing = module.Opening(endpoint)
    return found
