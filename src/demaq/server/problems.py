"""Answers that say what is wrong, as `application/problem+json` (RFC 9457)."""

from collections.abc import Mapping
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match

from demaq.diagnostics import DemaqError

_TYPE = "application/problem+json"


class Problem(DemaqError):
    """A request cannot be answered as it was meant. `detail` says why, and what to do."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})


def store_away() -> Problem:
    """Why is in the logs: it may say where the store is, and anybody may ask."""
    return Problem(503, "the store cannot be reached", {"retry-after": "5"})


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    told = detail.encode("utf-8", "replace").decode()  # what was sent may have been no Unicode
    body = {"title": HTTPStatus(status).phrase, "status": status, "detail": told}
    return JSONResponse(body, status, headers=dict(headers or {}), media_type=_TYPE)


def told(_request: Request, error: Exception) -> Response:
    """What a handler has raised, as an answer."""
    assert isinstance(error, Problem)
    return problem(error.status, error.detail, error.headers)


def not_found(request: Request, error: Exception) -> Response:
    """What the routes have raised."""
    assert isinstance(error, HTTPException)
    details = {
        404: f"there is nothing at {request.url.path}",
        405: f"{request.url.path} does not take {request.method}",
    }
    headers = (
        {"allow": ", ".join(_methods(request))} if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED else error.headers
    )
    return problem(error.status_code, details.get(error.status_code, error.detail), headers)


def _methods(request: Request) -> list[str]:
    """What may be done at a path, by all routes to it."""
    routes = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
    return sorted({method for route in routes for method in route.methods})
