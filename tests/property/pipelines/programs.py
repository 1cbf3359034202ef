"""Pipelines by chance, written down twice: in LiLa, and as a logic program of clingo, which is not ours.

There are two sources, an enricher and facts, and relations that rules define on three levels: what is negated or
aggregated is of a lower level, all else may be of the same, so that there is recursion of every kind. Values are small
integers and short texts, which both know.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import strategies as st

INTEGER, TEXT = "integer", "text"
Fact = tuple[int | str, ...]
Facts = dict[str, set[Fact]]
Signatures = dict[str, tuple[str, ...]]

SOURCES: dict[str, Signatures] = {"a": {"e": (INTEGER, INTEGER), "t": (TEXT, INTEGER)}, "b": {"f": (INTEGER,)}}
ENRICHED: Signatures = {"n": (INTEGER, TEXT)}
WRITTEN: Signatures = {"k": (INTEGER, INTEGER), "e": (INTEGER, INTEGER)}
LEVELS = (("p0", "p1"), ("p2", "p3"), ("p4",))
CLOSED: Signatures = {"q0": (INTEGER, INTEGER), "q1": (INTEGER, INTEGER)}
CLOSURES = (
    "q0(X1, X2) :- e(X1, X2).",
    "q1(X1, X2) :- e(X2, X1), f(X1).",
    "q1(X1, X2) :- k(X1, X2).",
    "q0(X1, X3) :- q0(X1, X2), e(X2, X3).",
    "q0(X1, X3) :- e(X1, X2), q0(X2, X3).",
    "q0(X1, X3) :- q0(X1, X2), q0(X2, X3).",
    "q1(X1, X3) :- q1(X1, X2), q0(X2, X3), q1(_, X1).",
    "q0(X1, X2) :- q1(X2, X1), not t(_, X1).",
    "q1(X1, X2) :- q0(X1, X1), q1(X1, X2).",
    "q0(X1, X4) :- q0(X1, X2), q1(X2, X3), q0(X3, X4).",
)

integers = st.integers(-2, 5)
texts = st.sampled_from(["a", "b", "ab", "B"])


@dataclass(frozen=True)
class Case:
    """A pipeline that sends the relations `sent`, what comes in, and the same rules for clingo."""

    lila: str
    logic: str
    sources: dict[str, list[Facts]]
    enriched: Facts
    sent: tuple[str, ...]


@dataclass
class _Rule:
    """A rule under way: its conditions in both languages, and what is bound, by type."""

    lila: list[str] = field(default_factory=list)
    logic: list[str] = field(default_factory=list)
    bound: dict[str, list[str]] = field(default_factory=lambda: {INTEGER: [], TEXT: []})
    made: int = 0

    def add(self, lila: str, logic: str | None = None) -> None:
        self.lila.append(lila)
        self.logic.append(lila if logic is None else logic)

    def fresh(self) -> str:
        self.made += 1
        return f"X{self.made}"


def constant(value: int | str) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _constants(type_: str) -> st.SearchStrategy[str]:
    return (integers if type_ == INTEGER else texts).map(constant)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    signatures = {name: types for relations in SOURCES.values() for name, types in relations.items()}
    signatures |= ENRICHED | WRITTEN
    kinds = st.lists(st.sampled_from([INTEGER, INTEGER, TEXT]), min_size=1, max_size=3)
    own = {name: tuple(draw(kinds)) for level in LEVELS for name in level}
    lila, logic = _written(draw)
    closures = draw(st.lists(st.sampled_from(CLOSURES[3:]), max_size=4, unique=True))
    lila += [*CLOSURES[:3], *closures]
    logic += [*CLOSURES[:3], *closures]
    below = [*signatures, *CLOSED]
    signatures |= CLOSED
    signatures |= own
    for level in LEVELS:
        for name in level:
            for _ in range(draw(st.integers(1, 3))):
                rule = _rule(draw, signatures, below, [*below, *level])
                head = _head(draw, rule, name, signatures[name])
                lila.append(f"{head} :- {', '.join(rule.lila)}.")
                logic.append(f"{head} :- {', '.join(rule.logic)}.")
        below += level
    sent = tuple(draw(st.lists(st.sampled_from([*own, *CLOSED]), min_size=1, unique=True)))
    lila.append(f"@to(file:out) {{ {' '.join(sent)} }}")
    return Case(
        lila="\n".join([*_annotations(), *lila]),
        logic="\n".join(logic),
        sources={name: draw(_messages(relations)) for name, relations in SOURCES.items()},
        enriched=draw(_message(ENRICHED)),
        sent=sent,
    )


def _annotations() -> list[str]:
    def declared(relations: Signatures) -> str:
        columns = {
            name: ", ".join(f"c{n}: {type_}" for n, type_ in enumerate(kinds)) for name, kinds in relations.items()
        }
        return " ".join(f"{name}({columns[name]})." for name in relations)

    sources = [f"@from(file:{name}) {{ {declared(relations)} }}" for name, relations in SOURCES.items()]
    return [*sources, f"@enrich(file:c) {{ {declared(ENRICHED)} }}"]


def _messages(relations: Signatures) -> st.SearchStrategy[list[Facts]]:
    """A source without messages is rare, for then nothing happens."""
    least = st.sampled_from([*[1] * 9, 0])
    return least.flatmap(lambda number: st.lists(_message(relations), min_size=number, max_size=3))


def _message(relations: Signatures) -> st.SearchStrategy[Facts]:
    values = {INTEGER: integers, TEXT: texts}
    return st.fixed_dictionaries(
        {name: st.sets(st.tuples(*(values[kind] for kind in kinds)), max_size=8) for name, kinds in relations.items()}
    )


def _written(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    facts = draw(_message(WRITTEN))
    facts["k"] |= {(0, 1)}
    lines = [f"{name}({', '.join(map(constant, fact))})." for name, rows in facts.items() for fact in sorted(rows)]
    return list(lines), list(lines)


# Rules


def _rule(draw: st.DrawFn, signatures: Signatures, below: list[str], reach: list[str]) -> _Rule:
    rule = _Rule()
    for name in draw(st.lists(st.sampled_from(reach), min_size=1, max_size=3)):
        rule.add(_atom(draw, rule, name, signatures[name], binds=True))
    for extra in draw(st.lists(st.sampled_from(_EXTRAS), max_size=2)):
        extra(draw, rule, signatures, below)
    return rule


def _atom(draw: st.DrawFn, rule: _Rule, name: str, types: tuple[str, ...], *, binds: bool) -> str:
    terms = []
    for type_ in types:
        kind = draw(st.integers(0, 9))
        if kind == 0:
            terms.append(draw(_constants(type_)))
        elif kind < 3:
            terms.append("_")
        elif rule.bound[type_] and (kind < 7 or not binds):
            terms.append(draw(st.sampled_from(rule.bound[type_])))
        elif binds:
            terms.append(rule.fresh())
            rule.bound[type_].append(terms[-1])
        else:
            terms.append("_")
    return f"{name}({', '.join(terms)})"


def _head(draw: st.DrawFn, rule: _Rule, name: str, types: tuple[str, ...]) -> str:
    terms = []
    for type_ in types:
        is_bound = bool(rule.bound[type_]) and draw(st.integers(0, 7)) < 7
        terms.append(draw(st.sampled_from(rule.bound[type_]) if is_bound else _constants(type_)))
    return f"{name}({', '.join(terms)})"


def _bound_or_constant(draw: st.DrawFn, rule: _Rule, type_: str) -> str:
    return (
        draw(st.sampled_from(rule.bound[type_]) | _constants(type_)) if rule.bound[type_] else draw(_constants(type_))
    )


# What a body may have besides relations


def _negation(draw: st.DrawFn, rule: _Rule, signatures: Signatures, below: list[str]) -> None:
    name = draw(st.sampled_from(below))
    rule.add("not " + _atom(draw, rule, name, signatures[name], binds=False))


def _comparison(draw: st.DrawFn, rule: _Rule, _signatures: object, _below: object) -> None:
    type_ = draw(st.sampled_from([INTEGER, INTEGER, TEXT]))
    left, right = (_bound_or_constant(draw, rule, type_) for _ in range(2))
    rule.add(f"{left} {draw(st.sampled_from(['<', '>', '<=', '>=', '=', '!=']))} {right}")


def _arithmetic(draw: st.DrawFn, rule: _Rule, _signatures: object, _below: object) -> None:
    """What is computed is kept small, so that every recursion ends."""
    left, right, third = (_bound_or_constant(draw, rule, INTEGER) for _ in range(3))
    operator = draw(st.sampled_from(["+", "-", "*", "div", "mod"]))
    name = rule.fresh()
    value = f"{left} {operator} {right}"
    if draw(st.booleans()):
        value = f"({value}) - {third}"
    rule.add(f"{name} := {value}", f"{name} = {value.replace('div', '/').replace('mod', chr(92))}")
    rule.add(f"{name} <= 9")
    rule.add(f"{name} >= -9")
    rule.bound[INTEGER].append(name)


def _aggregate(draw: st.DrawFn, rule: _Rule, signatures: Signatures, below: list[str]) -> None:
    """Each fact counts by itself: what is aggregated comes first, then all of the fact."""
    name = draw(st.sampled_from(below))
    over = [place for place, type_ in enumerate(signatures[name]) if type_ == INTEGER]
    function = draw(st.sampled_from(["max", "min", "sum", "count"] if over else ["count"]))
    place = draw(st.sampled_from(over)) if over else None
    grouped = [
        None
        if at == place or not rule.bound[type_] or draw(st.booleans())
        else draw(st.sampled_from(rule.bound[type_]))
        for at, type_ in enumerate(signatures[name])
    ]
    result, variables = rule.fresh(), [rule.fresh() for _ in grouped]
    own = "_" if function == "count" else variables[place or 0]
    lila = ", ".join(group or (own if at == place else "_") for at, group in enumerate(grouped))
    logic = [group or variable for group, variable in zip(grouped, variables, strict=True)]
    weights = ([variables[place or 0]] if function != "count" else []) + logic
    element = f"{', '.join(weights)} : {name}({', '.join(logic)})"
    rule.add(f"{result} := {function}({name}({lila}))", f"{result} = #{function} {{ {element} }}")
    if function in ("max", "min"):  # clingo has a value for nothing
        rule.logic.append(f"{name}({', '.join(group or '_' for group in grouped)})")
    rule.bound[INTEGER].append(result)


_EXTRAS: tuple[Callable[..., None], ...] = (_negation, _comparison, _arithmetic, _arithmetic, _aggregate)
