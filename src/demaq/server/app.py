"""The ASGI application: gateways, the REST API, and what watches a node asks for."""

from functools import reduce

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from demaq.diagnostics import DemaqError
from demaq.engine.transient import both
from demaq.gateways.outbox import Outbox
from demaq.server.api import Api
from demaq.server.edge import Edge
from demaq.server.guard import Guard
from demaq.server.metrics import metrics_text
from demaq.server.openapi import openapi
from demaq.server.operations import OPERATIONS
from demaq.server.problems import Problem, not_found, problem, store_away, told
from demaq.server.receiving import Receiving
from demaq.server.tracing import Continuing
from demaq.store import Conflict, StoreError, StoreUnavailable

_METRICS = "text/plain; version=0.0.4; charset=utf-8"


def application(edge: Edge, outbox: Outbox) -> ASGIApp:
    receiving, api, watching = Receiving(edge), Api(edge), Watching(edge, outbox)
    routes = [
        Route("/health", watching.health),
        Route("/ready", watching.ready),
        Route("/metrics", watching.metrics),
        Route("/api/openapi.json", watching.openapi),
        Route("/gateways/{queue}", receiving.post, methods=["POST"]),
        Route("/gateways/{queue}", receiving.describe, methods=["GET"]),
        Route("/gateways/{queue}/replies/{connection}", receiving.late_reply),
        *(Route(operation.path, getattr(api, operation.name), methods=[operation.method]) for operation in OPERATIONS),
    ]
    handlers = {
        Problem: told,
        HTTPException: not_found,
        StoreUnavailable: _unavailable,
        Conflict: _refused,
        StoreError: _failed,  # its words are those of a database
        DemaqError: _refused,
        Exception: _failed,
    }
    app: ASGIApp = Starlette(routes=routes, exception_handlers=handlers)
    return Guard(
        app if edge.node.tracing is None else Continuing(app),
        edge.settings.server,
        is_public=lambda path: _is_public(path, edge),
        is_stopping=lambda: edge.is_stopping,
    )


def _is_public(path: str, edge: Edge) -> bool:
    parts = path.split("/")
    return len(parts) > 2 and parts[1] == "gateways" and edge.settings.gateway(parts[2]).public


def _unavailable(request: Request, _error: Exception) -> Response:
    return told(request, store_away())


def _refused(_request: Request, error: Exception) -> Response:
    return problem(409, str(error))


def _failed(_request: Request, error: Exception) -> Response:
    return problem(500, f"something is wrong inside the node: {type(error).__name__}")


class Watching:
    """What a load balancer, an orchestrator or Prometheus asks for."""

    def __init__(self, edge: Edge, outbox: Outbox) -> None:
        self._edge = edge
        self._outbox = outbox

    async def health(self, _request: Request) -> Response:
        """Does the process live?"""
        return PlainTextResponse("ok\n")

    async def ready(self, _request: Request) -> Response:
        """Are messages taken, and is the store there?"""
        if self._edge.is_stopping:
            return PlainTextResponse("stopping\n", 503)
        await self._edge.read(lambda store: store.position())
        return PlainTextResponse("ready\n")

    async def metrics(self, _request: Request) -> Response:
        ledger = reduce(both, await self._edge.read_layers(lambda store: store.ledger()))
        text = metrics_text(ledger, self._outbox.counts, self._outbox.failing(), len(self._edge.connections))
        return Response(text, media_type=_METRICS)

    async def openapi(self, _request: Request) -> Response:
        return JSONResponse(openapi())
