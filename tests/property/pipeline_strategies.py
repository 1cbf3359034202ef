"""Trees of pipelines by chance: everything that the grammar allows, whether it makes sense or not."""

from datetime import UTC, date, datetime
from decimal import Decimal

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from demaq.diagnostics import Source, Span
from demaq.pipelines import tree as t
from demaq.pipelines.values import ValueType
from demaq.pipelines.vocabulary import COMPARISONS, FUNCTIONS, RESERVED, TESTS

NOWHERE = Span(Source("nowhere.lila", ""), 0, 0)

_WORDS = ["x", "gE", "match-filtered", "a-b-c", "_hidden", "größe", "x1", "日本", "lines", "json", "from"]
relations = st.sampled_from(_WORDS)
variables = st.sampled_from([*_WORDS, *(word for word in RESERVED if word not in ("true", "false", "not"))])


def _name(words: SearchStrategy[str]) -> SearchStrategy[t.Name]:
    return st.builds(t.Name, st.just(NOWHERE), words)


def _literal(type_: ValueType, values: SearchStrategy[object]) -> SearchStrategy[t.Literal]:
    return values.map(lambda value: t.Literal(NOWHERE, value, type_))  # type: ignore[arg-type]


_integers = st.integers(-(2**63) + 1, 2**63 - 1)
_decimals = st.builds(lambda whole, part: Decimal(f"{whole}.{part:03d}"), st.integers(-999, 999), st.integers(0, 999))
_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_datetimes = st.datetimes(datetime(1, 1, 1), timezones=st.sampled_from([None, UTC]))
literals = st.one_of(
    _literal(ValueType.INTEGER, _integers),
    _literal(ValueType.DECIMAL, _decimals),
    _literal(ValueType.DOUBLE, st.floats(allow_nan=False, allow_infinity=False)),
    _literal(ValueType.TEXT, _texts),
    _literal(ValueType.BOOLEAN, st.booleans()),
    _literal(ValueType.DATE, st.dates(date(1, 1, 1))),
    _literal(ValueType.DATETIME, _datetimes),
)

_variable = st.builds(t.Variable, st.just(NOWHERE), variables)
_terms = st.one_of(_variable, st.just(t.Wildcard(NOWHERE)), literals)


@st.composite
def atoms(draw: st.DrawFn) -> t.Atom:
    """Arguments by position first, then those by name."""
    positional = [t.Argument(NOWHERE, None, term) for term in draw(st.lists(_terms, max_size=3))]
    named = [t.Argument(NOWHERE, name, draw(_terms)) for name in draw(st.lists(_name(relations), max_size=2))]
    found = (*positional, *named) or (t.Argument(NOWHERE, None, draw(_terms)),)
    return t.Atom(NOWHERE, draw(_name(relations)), found)


def _deeper(inner: SearchStrategy[t.Expr]) -> SearchStrategy[t.Expr]:
    operators = st.sampled_from(["+", "-", "*", "/", "div", "mod"])
    return st.one_of(
        st.builds(t.Arithmetic, st.just(NOWHERE), operators, inner, inner),
        st.builds(t.Negative, st.just(NOWHERE), inner),
    )


_functions = st.sampled_from(FUNCTIONS)
expressions: SearchStrategy[t.Expr] = st.recursive(
    st.one_of(
        _variable,
        literals,
        st.builds(t.AggregateValue, st.just(NOWHERE), _name(_functions), atoms()),
        st.builds(t.FactValue, st.just(NOWHERE), atoms()),
    ),
    _deeper,
    max_leaves=8,
)

_tests = st.builds(t.TextTest, st.just(NOWHERE), _name(st.sampled_from(TESTS)), expressions, expressions)
conditions: SearchStrategy[t.Condition] = st.one_of(
    atoms(),
    st.builds(t.Negation, st.just(NOWHERE), st.one_of(atoms(), _tests)),
    _tests,
    st.builds(t.Comparison, st.just(NOWHERE), st.sampled_from(COMPARISONS), expressions, expressions),
    st.builds(t.Assignment, st.just(NOWHERE), _variable, expressions),
)


def _several(part: SearchStrategy[object]) -> SearchStrategy[tuple[object, ...]]:
    return st.lists(part, min_size=1, max_size=3).map(tuple)


_uris = st.one_of(
    st.sampled_from(["file:a.json", "a.csv", "http://h/p?a=b&c=%20", "twitter:$config", "file:data/*", "%odd", "a,b"]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10).filter(str.strip),
).map(lambda text: t.Uri(NOWHERE, text))
_option_values = st.one_of(st.none(), literals, _name(relations))
_options = st.lists(st.builds(t.Option, st.just(NOWHERE), _name(relations), _option_values), max_size=2).map(tuple)
_columns = st.builds(t.Column, st.just(NOWHERE), _name(variables), st.one_of(st.none(), _name(relations)))
_declarations = _several(st.builds(t.Declaration, st.just(NOWHERE), _name(relations), _several(_columns)))
_queries = st.builds(t.Query, st.just(NOWHERE), atoms())


def _word(text: str) -> SearchStrategy[t.Name]:
    return st.just(t.Name(NOWHERE, text))


statements: SearchStrategy[t.Statement] = st.one_of(
    st.builds(t.Fact, st.just(NOWHERE), atoms()),
    st.builds(t.Rule, st.just(NOWHERE), atoms(), _several(conditions)),
    _queries,
    st.builds(t.From, st.just(NOWHERE), _word("from"), _options, _uris, _declarations),
    st.builds(t.Enrich, st.just(NOWHERE), _word("enrich"), _options, _uris, _declarations),
    st.builds(t.To, st.just(NOWHERE), _word("to"), _options, _uris, st.none() | _several(_name(relations))),
    st.builds(t.Aggregate, st.just(NOWHERE), _word("aggregate"), _options, _several(_queries)),
    st.builds(t.Split, st.just(NOWHERE), _word("split"), _options, _several(_queries)),
)
pipelines = st.lists(statements, max_size=4).map(lambda found: t.Pipeline(NOWHERE, tuple(found)))
