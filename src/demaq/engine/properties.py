"""Which value each property of a new message has."""

from collections.abc import Mapping

from demaq.engine.driver import Made
from demaq.engine.plan import Plan, PlanProperty
from demaq.model import PropertyMode, Value

_CONNECTION = "sys:connection"  # which is always inherited


class Properties:
    """By precedence: the fixed value, the one that is given, the inherited one, the computed one."""

    def __init__(self, plan: Plan) -> None:
        self._by_queue: dict[str, dict[str, PlanProperty]] = {
            queue: {known.name: known for known in plan.properties.values() if queue in known.queues}
            for queue in plan.queues
        }

    def values(self, made: Made, cause: Mapping[str, Value]) -> dict[str, Value]:
        """The properties of a message, in the order of their names. `cause` are those of the message that caused it."""
        known = self._by_queue.get(made.queue, {})
        if not known and not made.given and _CONNECTION not in cause:
            return {}
        found = {}
        for name, definition in known.items():
            value = _value(definition, made, cause)
            if value is not None:
                found[name] = value
        for name, given in made.given.items():
            if given is not None and name not in known and (not name.startswith("sys:") or name == _CONNECTION):
                found[name] = given
        if _CONNECTION in cause:
            found.setdefault(_CONNECTION, cause[_CONNECTION])
        return dict(sorted(found.items())) if len(found) > 1 else found


def _value(known: PlanProperty, made: Made, cause: Mapping[str, Value]) -> Value | None:
    name = known.name
    if known.mode is not PropertyMode.FIXED and name in made.given:
        given = made.given[name]
        return None if given is None else Value(known.type, given.text)
    if known.mode is PropertyMode.INHERITED and name in cause:
        return Value(known.type, cause[name].text)
    text = made.computed.get(name)
    return None if text is None else Value(known.type, text)
