"""The REST API: what the command line can do, for programs. What it takes and gives is in `operations.py`."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce, wraps
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from demaq.diagnostics import did_you_mean
from demaq.engine.incoming import PropertyInvalid, QueueUnknown, incoming_messages
from demaq.engine.log import Log, MessageUnknown
from demaq.engine.plan import PlanQueue
from demaq.engine.shown import (
    counts_json,
    delivery_json,
    message_json,
    status_json,
    trace_json,
    version_json,
)
from demaq.engine.transient import both
from demaq.engine.xml import MessageRefused
from demaq.gateways.fingerprints import fingerprint
from demaq.language import ApplicationInvalid
from demaq.model import Message, Slice
from demaq.node import DeploymentRefused, RetryRefused, retry
from demaq.server.archives import ArchiveInvalid, unpacked
from demaq.server.edge import Edge
from demaq.server.exchanges import key_of
from demaq.server.operations import OPERATIONS, Operation
from demaq.server.parameters import parameters
from demaq.server.problems import Problem
from demaq.server.requests import media_type, whole_body
from demaq.store import QueueCounts, Store

_BY_NAME = {operation.name: operation for operation in OPERATIONS}
_ZIP = ("application/zip", "application/x-zip-compressed")


class Handler(Protocol):
    async def __call__(self, api: "Api", request: Request, **values: Any) -> Any: ...


def operation(handler: Any) -> Any:
    """A method that is given the parameters of its operation, and gives what becomes JSON."""
    described: Operation = _BY_NAME[handler.__name__]

    @wraps(handler)
    async def handle(self: "Api", request: Request) -> Response:
        answer = await handler(self, request, **parameters(request, described))
        return JSONResponse(answer, described.status)

    return handle


class Api:
    def __init__(self, edge: Edge) -> None:
        self._edge = edge

    @operation
    async def status(self, _request: Request) -> dict[str, Any]:
        found, *others = await self._edge.read_layers(lambda store: Log(store).status())
        counts = reduce(both, ({one.queue: one for one in each.queues} for each in (found, *others)))
        return status_json(replace(found, queues=tuple(counts[queue] for queue in sorted(counts))))

    # Queues

    @operation
    async def queues(self, _request: Request) -> dict[str, Any]:
        counts = await self._counts()
        return {"queues": [_queue_json(queue, counts) for queue in self._edge.plan.queues.values()]}

    @operation
    async def queue(self, _request: Request, queue: str) -> dict[str, Any]:
        self._check_queue(queue)
        return _queue_json(self._edge.plan.queues[queue], await self._counts())

    async def _counts(self) -> Mapping[str, QueueCounts]:
        return reduce(both, await self._edge.read_layers(lambda store: {one.queue: one for one in store.counts()}))

    @operation
    async def send(self, request: Request, queue: str) -> dict[str, Any]:
        body, properties = await _new_message(request)
        self._check_queue(queue)
        try:
            (incoming,) = incoming_messages(self._edge.plan, queue, [body], properties, self._edge.now())
        except QueueUnknown as error:
            raise Problem(422, str(error)) from error
        except PropertyInvalid as error:
            raise Problem(422, str(error)) from error
        sent = fingerprint(body, json.dumps(properties, sort_keys=True))
        answer = await self._edge.take(replace(incoming, key=key_of(request), fingerprint=sent))
        if isinstance(answer, MessageRefused):
            raise Problem(422, answer.reason)
        return {"id": answer.message}

    # Messages

    @operation
    async def messages(
        self, _request: Request, limit: int, after: int, queue: str | None, **others: bool
    ) -> dict[str, Any]:
        if queue is not None:
            self._check_queue(queue)
        layers = await self._edge.read_layers(
            lambda store: Log(store).messages(queue, everything=others["all"], limit=limit + 1, after=after)
        )
        found = sorted((message for layer in layers for message in layer), key=lambda message: message.id)
        return _page(found[: limit + 1], limit)

    @operation
    async def message(self, _request: Request, id: int) -> dict[str, Any]:
        def find(store: Store) -> dict[str, Any]:
            delivery = store.deliveries([id]).get(id)
            found = {**message_json(Log(store).message(id)), "retriedAs": store.retry_of(id)}
            return {**found, "delivery": None if delivery is None else delivery_json(delivery)}

        found: dict[str, Any] = await self._found(find)
        return found

    @operation
    async def trace(self, _request: Request, id: int) -> Any:
        return await self._found(lambda store: trace_json(Log(store).trace(id)))

    @operation
    async def retry(self, _request: Request, id: int) -> dict[str, Any]:
        now = self._edge.now()
        try:
            number = await self._edge.call(lambda engine: retry(Log(engine.store).message(id), engine.store, now))
        except MessageUnknown as error:
            raise Problem(404, str(error)) from error
        except RetryRefused as error:
            raise Problem(409, str(error)) from error
        return {"id": number}

    # Slices, errors, timers

    @operation
    async def slices(self, _request: Request, slicing: str | None, limit: int, after: str) -> dict[str, Any]:
        if slicing is not None:
            self._check_slicing(slicing)
        first = _cursor(after)
        found = await self._edge.read(lambda store: store.slices(slicing, after=first, limit=limit + 1))
        shown = [{"slicing": one.slicing, "key": one.key, "members": size} for one, size in found[:limit]]
        last = found[limit - 1][0] if len(found) > limit else None
        return {"slices": shown, "next": None if last is None else json.dumps([last.slicing, last.key])}

    @operation
    async def slice(self, _request: Request, slicing: str, key: str, limit: int, after: int) -> dict[str, Any]:
        self._check_slicing(slicing)
        found = await self._edge.read(lambda store: Log(store).slice(slicing, key, limit=limit + 1, after=after))
        more = found[limit - 1].position if len(found) > limit else None
        return {"messages": [message_json(message) for message in found[:limit]], "next": more}

    @operation
    async def errors(self, _request: Request, limit: int, after: int) -> dict[str, Any]:
        return _page(await self._edge.read(lambda store: Log(store).errors(limit=limit + 1, after=after)), limit)

    @operation
    async def timers(self, _request: Request, limit: int, after: int) -> dict[str, Any]:
        return _page(await self._edge.read(lambda store: Log(store).timers(limit=limit + 1, after=after)), limit)

    # Versions

    @operation
    async def versions(self, _request: Request) -> dict[str, Any]:
        return {"versions": await self._edge.read(lambda store: [version_json(one) for one in store.versions()])}

    @operation
    async def deploy(self, request: Request) -> dict[str, Any]:
        if media_type(request) not in _ZIP:
            raise Problem(415, "send the folder of the application as a ZIP archive", {"accept-post": _ZIP[0]})
        data = await whole_body(request)
        place = Path(await asyncio.to_thread(mkdtemp, prefix="demaq-"))
        try:
            folder = await asyncio.to_thread(unpacked, data, place)
            version = await self._edge.call(lambda _engine: self._edge.node.deploy(folder))
        except ArchiveInvalid as error:
            raise Problem(400, str(error)) from error
        except ApplicationInvalid as error:
            raise Problem(422, str(error)) from error
        except DeploymentRefused as error:
            raise Problem(409, str(error)) from error
        finally:
            await asyncio.to_thread(rmtree, place, ignore_errors=True)
        return version_json(version)

    # What is asked for

    async def _found(self, find: Any) -> Any:
        """Beside the node; what is not there may be of a transient queue, which the node alone has."""
        try:
            try:
                return await self._edge.read(find)
            except MessageUnknown:
                if not self._edge.has_layer:
                    raise
                return await self._edge.call(lambda engine: find(engine.store))
        except MessageUnknown as error:
            raise Problem(404, str(error)) from error

    def _check_queue(self, name: str) -> None:
        queues = self._edge.plan.queues
        if name not in queues:
            raise Problem(404, f"there is no queue `{name}`: {did_you_mean(name, list(queues), 'queues')}")

    def _check_slicing(self, name: str) -> None:
        slicings = list(self._edge.plan.slicings)
        if name not in slicings:
            known = did_you_mean(name, slicings, "slicings") if slicings else "the application has none"
            raise Problem(404, f"there is no slicing `{name}`: {known}")


def _page(found: Sequence[Message], limit: int) -> dict[str, Any]:
    more = found[limit - 1].id if len(found) > limit else None
    return {"messages": [message_json(message) for message in found[:limit]], "next": more}


def _queue_json(queue: PlanQueue, counts: Mapping[str, QueueCounts]) -> dict[str, Any]:
    counted = counts_json(counts.get(queue.name, QueueCounts(queue=queue.name)))
    del counted["queue"]
    mode = "transient" if queue.transient else "persistent"
    return {"name": queue.name, "kind": queue.kind.value, "mode": mode, "priority": queue.rank, "counts": counted}


def _cursor(after: str) -> Slice | None:
    """Behind which slice a page begins."""
    if not after:
        return None
    try:
        slicing, key = json.loads(after)
    except (ValueError, TypeError) as error:
        raise Problem(400, "`after` is what the page before had as `next`") from error
    if not (isinstance(slicing, str) and isinstance(key, str)):
        raise Problem(400, "`after` is what the page before had as `next`")
    return Slice(slicing, key)


async def _new_message(request: Request) -> tuple[str | bytes, dict[str, Any]]:
    """The body of a message and its properties: in JSON, or XML without properties."""
    media, data = media_type(request), await whole_body(request)
    if media in ("application/xml", "text/xml"):
        return data, {}
    if media != "application/json":
        raise Problem(415, "send application/json or application/xml", {"accept-post": "application/json"})
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Problem(400, "this is not JSON") from error
    if not isinstance(value, dict) or not isinstance(value.get("body"), str):
        raise Problem(422, 'a message is an object: {"body": "<xml/>", "properties": {"name": "value"}}')
    unknown = sorted(value.keys() - {"body", "properties"})
    if unknown:
        raise Problem(422, f"a message has no `{unknown[0]}`: it has `body` and `properties`")
    properties = value.get("properties", {})
    if not isinstance(properties, dict) or not all(_is_value(one) for one in properties.values()):
        raise Problem(422, "`properties` are texts, numbers, and true or false, by their names")
    return value["body"], properties


def _is_value(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)
