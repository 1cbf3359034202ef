"""In which order the conditions of a body can be evaluated, and which variables never get a value."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from demaq.pipelines import tree as t
from demaq.pipelines.linked import (
    Aggregated,
    Condition,
    LinkedRule,
    Lost,
    Negated,
    Positional,
    atom_variables,
    binders,
    condition_variables,
    variables,
)
from demaq.pipelines.symbols import Symbols


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A condition at its time. `binds` is the variable that an equation computes here, as `value`; None if the
    condition only has to hold."""

    condition: Condition
    binds: t.Variable | None = None
    value: t.Expr | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """A head variable that nothing binds, and that takes the constant which stands for the parameter of its name."""

    variable: t.Variable
    constant: t.Literal
    atom: Positional


@dataclass(frozen=True, slots=True)
class Safety:
    """`unbound` are variables that nothing binds, at their first place; others may depend on them. `only_negated` are
    those of them that stand behind `not`, and otherwise in the head at most. `body` is that of the rule, with an
    equation for each variable that takes a constant."""

    body: tuple[Condition, ...]
    order: tuple[Scheduled, ...]
    unbound: tuple[t.Variable, ...]
    only_negated: tuple[t.Variable, ...]
    taken: tuple[Taken, ...]

    @property
    def is_safe(self) -> bool:
        return not self.unbound and not self.only_negated


def safety(rule: LinkedRule, symbols: Symbols) -> Safety:
    """The order of a rule. What takes a constant (see `Taken`) counts as bound."""
    schedule = _Schedule(rule.body)
    if not isinstance(rule.head, Lost):
        missing = [found for found in schedule.missing(rule) if _is_in_head(found, rule)]
        taken = tuple(found for variable in missing for found in _constants(variable, rule.body, symbols))
        if taken:
            given = [t.Assignment(found.variable.span, found.variable, found.constant) for found in taken]
            body = (*rule.body, *given)
            return _safety(replace(rule, body=body), _Schedule(body), taken)
    return _safety(rule, schedule, ())


def _safety(rule: LinkedRule, schedule: "_Schedule", taken: tuple[Taken, ...]) -> Safety:
    missing = schedule.missing(rule)
    negated = {variable.name for found in rule.body if isinstance(found, Negated) for variable in _all(found)}
    otherwise = {variable.name for found in rule.body if not isinstance(found, Negated) for variable in _all(found)}
    return Safety(
        body=rule.body,
        order=tuple(schedule.order),
        unbound=tuple(found for found in missing if found.name not in negated - otherwise),
        only_negated=tuple(found for found in missing if found.name in negated - otherwise),
        taken=taken,
    )


def _all(condition: Condition) -> Iterator[t.Variable]:
    return condition_variables(condition)


def _is_in_head(variable: t.Variable, rule: LinkedRule) -> bool:
    return any(found.name == variable.name for found in atom_variables(rule.head))


def _constants(variable: t.Variable, body: Iterable[Condition], symbols: Symbols) -> Iterator[Taken]:
    """The constant that stands for the parameter of the variable's name, if there is exactly one."""
    found = [
        Taken(variable, term, atom)
        for atom in body
        if isinstance(atom, Positional)
        for name, term in zip(symbols.parameters(atom.relation), atom.terms, strict=True)
        if name == variable.name and isinstance(term, t.Literal)
    ]
    if len({(each.constant.value, each.constant.type) for each in found}) == 1:
        yield found[0]


class _Schedule:
    """Takes conditions as soon as what they need is bound: after the first relation, anything but a relation first,
    then relations that share a variable with what is bound."""

    def __init__(self, body: Iterable[Condition]) -> None:
        self.order: list[Scheduled] = []
        self.stuck = list(body)
        self._bound: set[str] = set()
        self._others = binders(self.stuck)
        while self._step():
            pass

    def missing(self, rule: LinkedRule) -> list[t.Variable]:
        """The variables that nothing binds, not even something that waits for another variable."""
        waiting = {variable.name for found in self.stuck for variable in _targets(found)}
        unbound: dict[str, t.Variable] = {}
        for variable in (*atom_variables(rule.head), *(each for found in self.stuck for each in _all(found))):
            if variable.name not in self._bound:
                unbound.setdefault(variable.name, variable)
        roots = [variable for name, variable in unbound.items() if name not in waiting]
        return roots or list(unbound.values())[:1]

    def _step(self) -> bool:
        relations = [found for found in self.stuck if isinstance(found, Positional | Lost)]
        if not relations or self.order:
            for condition in self.stuck:
                scheduled = None if isinstance(condition, Positional | Lost) else self._ready(condition)
                if scheduled is not None:
                    self._take(scheduled)
                    return True
        if not relations:
            return False
        joined = (found for found in relations if not self._bound.isdisjoint(v.name for v in atom_variables(found)))
        self._take(Scheduled(next(joined, relations[0])))
        return True

    def _take(self, scheduled: Scheduled) -> None:
        self.stuck = [found for found in self.stuck if found is not scheduled.condition]
        self.order.append(scheduled)
        condition = scheduled.condition
        if isinstance(condition, Positional | Lost):
            self._bound.update(variable.name for variable in atom_variables(condition))
        elif scheduled.binds is not None:
            self._bound.add(scheduled.binds.name)

    def _ready(self, condition: Condition) -> Scheduled | None:
        if isinstance(condition, t.Assignment):
            return self._equation(condition, condition.variable, condition.value)
        if isinstance(condition, t.Comparison) and condition.operator == "=":
            return self._equality(condition)
        if isinstance(condition, Aggregated):
            ready = self._has(variable for variable in atom_variables(condition.atom))
            return Scheduled(condition, binds=condition.variable) if ready else None
        return Scheduled(condition) if self._has(_all(condition)) else None

    def _equality(self, condition: t.Comparison) -> Scheduled | None:
        for target, value in ((condition.left, condition.right), (condition.right, condition.left)):
            if not (isinstance(target, t.Variable) and target.name in self._others - self._bound):
                scheduled = self._equation(condition, target, value)
                if scheduled is not None:
                    return scheduled
        return None

    def _equation(self, condition: Condition, target: t.Expr, value: t.Expr) -> Scheduled | None:
        """Computes the target if it is a variable without a value, else compares."""
        if not self._has(variables(value)):
            return None
        if isinstance(target, t.Variable) and target.name not in self._bound:
            return Scheduled(condition, binds=target, value=value)
        return Scheduled(condition) if self._has(variables(target)) else None

    def _has(self, needed: Iterable[t.Variable]) -> bool:
        return all(variable.name in self._bound for variable in needed)


def _targets(condition: Condition) -> Iterator[t.Variable]:
    """The variables that a condition could bind."""
    if isinstance(condition, t.Assignment | Aggregated):
        yield condition.variable
    elif isinstance(condition, t.Comparison) and condition.operator == "=":
        for side in (condition.left, condition.right):
            if isinstance(side, t.Variable):
                yield side
