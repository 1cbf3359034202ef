"""Answers that say what is wrong, as `application/problem+json` (RFC 9457)."""

from collections.abc import Mapping
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from demaq.diagnostics import DemaqError

_TYPE = "application/problem+json"


class Problem(DemaqError):
    """A request cannot be answered as it was meant. `detail` says why, and what to do."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    body = {"title": HTTPStatus(status).phrase, "status": status, "detail": detail}
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
    return problem(error.status_code, details.get(error.status_code, error.detail), error.headers)
