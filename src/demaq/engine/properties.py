"""Which value each property of a new message has."""

from collections.abc import Mapping

from demaq.engine.driver import Made
from demaq.engine.plan import Plan, PlanProperty
from demaq.model import PropertyMode, Value

_INHERITED = ("sys:connection", "sys:trace")  # always


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
        inherited = [name for name in _INHERITED if name in cause]
        if not known and not made.given and not inherited:
            return {}
        found = {}
        for name, definition in known.items():
            value = _value(definition, made, cause)
            if value is not None:
                found[name] = value
        for name, given in made.given.items():
            if given is not None and name not in known and (not name.startswith("sys:") or name in _INHERITED):
                found[name] = given
        for name in inherited:
            found.setdefault(name, cause[name])
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
