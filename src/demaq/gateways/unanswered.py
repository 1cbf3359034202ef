"""Requests to which no reply can come any more."""

import re

from demaq.engine.plan import Plan
from demaq.model import MessageState, Origin
from demaq.store import Selection, Store

_MOST = 200  # messages that are looked at
_KIND = re.compile(r"<error><(\w+)/>")  # as error messages begin


def failure_of(request: int, store: Store, plan: Plan) -> str | None:
    """The kind of the error because of which a request without a reply stays without one; None if one may come yet.

    That is certain if something of it failed, and nothing that came of it waits or is to be sent; what was tried again
    counts instead of what failed. What pipelines make of it comes when they have enough, which nobody knows: where
    there are some, a reply may always come.
    """
    if plan.pipelines:
        return None
    ahead, seen, has_failed, kind = [request], 0, False, None
    while ahead:
        number, seen = ahead.pop(), seen + 1
        again = store.retry_of(number)
        if again is not None:
            ahead.append(again)  # it takes its place
            continue
        message = store.messages([number], light=True).get(number)
        if message is None or message.state is MessageState.WAITING or message.held or seen > _MOST:
            return None
        effects = store.select(Selection(everything=True, caused_by=number, limit=_MOST))
        errors = [effect for effect in effects if effect.origin is Origin.ERROR]
        has_failed |= message.state is MessageState.FAILED or bool(errors)
        kinds = [found[1] for error in errors if (found := _KIND.match(error.body))]
        kind = kind or next(iter(kinds), None)
        ahead += [effect.id for effect in effects]
    return (kind or "system") if has_failed else None
