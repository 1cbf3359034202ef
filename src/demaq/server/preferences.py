"""The header `Prefer` (RFC 7240): whether a sender waits for a reply, and how long."""

import re

from starlette.requests import Request

LONGEST = 300.0  # seconds that anybody may wait
_WAIT = re.compile(r'\s*wait\s*=\s*"?(\d{1,9})"?\s*(;.*)?')


def preferred_wait(request: Request, usual: float) -> float:
    """Seconds that a sender wants to wait for a reply; 0 if not at all."""
    wanted = [part.strip() for line in request.headers.getlist("prefer") for part in line.split(",")]
    if any(part.partition(";")[0].strip().lower() == "respond-async" for part in wanted) and not any(
        _WAIT.fullmatch(part) for part in wanted
    ):
        return 0.0
    for part in wanted:
        match = _WAIT.fullmatch(part)
        if match is not None:
            return min(float(match[1]), LONGEST)
    return min(usual, LONGEST)
