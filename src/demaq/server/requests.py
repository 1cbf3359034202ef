"""What handlers ask of a request."""

from starlette.requests import ClientDisconnect, Request

from demaq.server.problems import Problem


def media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def charset(request: Request) -> str | None:
    """How a text is written, if its sender says so."""
    for part in request.headers.get("content-type", "").split(";")[1:]:
        name, _, value = part.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip('"')
    return None


async def whole_body(request: Request) -> bytes:
    """What was sent, as it is: nobody knows how large it would become if it were unpacked."""
    packed = request.headers.get("content-encoding", "").strip().lower()
    if packed not in ("", "identity"):
        raise Problem(415, f"`{packed}` is not unpacked: send it without", {"accept-encoding": "identity"})
    try:
        return await request.body()
    except ClientDisconnect as error:
        raise Problem(400, "the sender has gone before all was sent") from error
