"""From statements to relations: what is defined where, and what the parameters are called."""

from collections.abc import Callable, Mapping
from functools import singledispatchmethod

from demaq.diagnostics import Note, Report, Span, did_you_mean
from demaq.pipelines import codes
from demaq.pipelines import tree as t
from demaq.pipelines.program import Origin
from demaq.pipelines.symbols import PRODUCERS, Definition, Symbols
from demaq.pipelines.values import ValueType
from demaq.pipelines.vocabulary import AGGREGATED, META, SPLITTED, TYPES

Known = Mapping[tuple[str, str], ValueType]
"""Types that are known from the data, by relation and parameter."""


def define(pipeline: t.Pipeline, broken: frozenset[str], report: Report, known: Known) -> Symbols:
    """The relations of a pipeline. Definitions that exclude each other are reported, and the first one counts."""
    definer = _Definer(Symbols(broken=broken), report, known)
    for statement in pipeline.statements:
        definer.define(statement)
    for statement in pipeline.statements:
        if isinstance(statement, t.Fact) and statement.atom.relation.text == META:
            definer.meta(statement.atom)
    return definer.symbols


class _Definer:
    def __init__(self, symbols: Symbols, report: Report, known: Known) -> None:
        self.symbols = symbols
        self._report = report
        self._known = known

    @singledispatchmethod
    def define(self, statement: t.Statement) -> None:
        """Queries and goals define nothing."""

    @define.register
    def _fact(self, statement: t.Fact) -> None:
        if statement.atom.relation.text != META:
            self._head(statement.atom, Origin.FACTS, statement)

    @define.register
    def _rule(self, statement: t.Rule) -> None:
        if statement.head.relation.text == META:
            self._report.say(
                codes.META,
                statement.head.span,
                "meta facts are written down, not computed",
                help='write `meta("rel", "param", 1).`, or take another name for the relation',
            )
        else:
            self._head(statement.head, Origin.RULES, statement)

    def _head(self, atom: t.Atom, origin: Origin, statement: t.Statement) -> None:
        columns = tuple(_column(argument) for argument in atom.arguments)
        self._add(
            atom.relation.text,
            Definition(origin=origin, place=atom.relation.span, statement=statement, columns=columns),
        )

    @define.register
    def _from(self, statement: t.From) -> None:
        for declaration in statement.declarations:
            self._declaration(declaration, Origin.SOURCE, statement)

    @define.register
    def _enrich(self, statement: t.Enrich) -> None:
        for declaration in statement.declarations:
            self._declaration(declaration, Origin.ENRICHER, statement)

    @define.register
    def _aggregate(self, statement: t.Aggregate) -> None:
        self._made(statement, statement.queries, Origin.AGGREGATION, AGGREGATED)

    @define.register
    def _split(self, statement: t.Split) -> None:
        self._made(statement, statement.queries, Origin.SPLIT, SPLITTED)

    def _declaration(self, declaration: t.Declaration, origin: Origin, statement: t.Statement) -> None:
        seen: dict[str, t.Column] = {}
        for column in declaration.columns:
            if column.name.text in seen:
                self._report.say(
                    codes.PARAMETER_TWICE,
                    column.name.span,
                    f"`{declaration.relation}` has two parameters `{column.name}`",
                    help="each parameter has a name of its own",
                )
            seen.setdefault(column.name.text, column)
        definition = Definition(
            origin=origin,
            place=declaration.relation.span,
            statement=statement,
            columns=tuple(column.name.text for column in declaration.columns),
            types=tuple(
                self._type(column.type) or self._known.get((declaration.relation.text, column.name.text))
                for column in declaration.columns
            ),
            places=tuple(column.span for column in declaration.columns),
        )
        self._add(declaration.relation.text, definition)

    def _type(self, name: t.Name | None) -> ValueType | None:
        if name is None:
            return None
        if name.text not in TYPES:
            meant = _MEANT.get(name.text.lower())
            help_ = f"did you mean `{meant}`?" if meant else did_you_mean(name.text, TYPES, "types")
            self._report.say(codes.UNKNOWN_TYPE, name.span, f"there is no type `{name}`", help=help_)
            return None
        found = TYPES[name.text]
        return None if found is ValueType.ANY else found

    def _made(self, statement: t.Statement, queries: tuple[t.Query, ...], origin: Origin, suffix: str) -> None:
        for query in queries:
            base = query.atom.relation
            definition = Definition(origin=origin, place=base.span, statement=statement, base=base.text)
            self._add(base.text + suffix, definition)

    # Several definitions of one relation

    def _add(self, name: str, definition: Definition) -> None:
        known = self.symbols.definitions.setdefault(name, [])
        other = next((earlier for earlier in known if _exclude(earlier, definition)), None)
        if other is None:
            if not any(_says_the_same(earlier, definition) for earlier in known):
                known.append(definition)
            return
        is_same = definition.origin is other.origin
        message = _TWICE[definition.origin] if is_same else f"{_BY[definition.origin]}, but {_BY[other.origin]} already"
        self._report.say(
            codes.DEFINED_TWICE,
            definition.place,
            f"`{name}` {message}",
            notes=[Note("the other definition is here", other.place)],
            help=_REMEDIES[definition.origin](name),
        )

    # Meta facts

    def meta(self, atom: t.Atom) -> None:
        values = [argument.value for argument in atom.arguments]
        named = any(argument.name is not None for argument in atom.arguments)
        types = [value.type if isinstance(value, t.Literal) else None for value in values]
        if named or types != [ValueType.TEXT, ValueType.TEXT, ValueType.INTEGER]:
            self._wrong_meta(atom.span, "a meta fact names a relation, a parameter, and its position")
            return
        relation, name, position = (value for value in values if isinstance(value, t.Literal))
        self._meta(relation, name, position)

    def _meta(self, relation: t.Literal, name: t.Literal, position: t.Literal) -> None:
        of, called, at = str(relation.value), str(name.value), position.value
        assert isinstance(at, int)
        if of in self.symbols.broken:
            return
        if of not in self.symbols:
            known = list(self.symbols)
            self._report.say(
                codes.UNKNOWN_RELATION,
                relation.span,
                f"there is no relation `{of}`",
                help=did_you_mean(of, known, "relations"),
            )
            return
        arity = self.symbols.arity(of)
        if arity is not None and not 1 <= at <= arity:
            self._wrong_meta(position.span, f"`{of}` has {arity} parameters: there is no position {at}")
            return
        self._name(of, called, at - 1, name.span)

    def _name(self, relation: str, name: str, position: int, place: Span) -> None:
        names = self.symbols.meta.setdefault(relation, {})
        declared = self.symbols.first(relation)
        known = names.get(position)
        if known is None and declared.types and position < len(declared.columns):
            known = declared.columns[position]
        elsewhere = next((at for at, other in names.items() if other == name and at != position), None)
        if known not in (None, name):
            what = f"parameter {position + 1} of `{relation}` is called `{known}` already"
            self._report.say(codes.PARAMETER_TWICE, place, what, help="a parameter has one name")
        elif elsewhere is not None:
            what = f"parameter {elsewhere + 1} of `{relation}` is called `{name}` already"
            self._report.say(codes.PARAMETER_TWICE, place, what, help="each parameter has a name of its own")
        else:
            names[position] = name

    def _wrong_meta(self, span: Span, message: str) -> None:
        self._report.say(codes.META, span, message, help='write `meta("rel", "param", 1).`; positions count from 1')


def _column(argument: t.Argument) -> str | None:
    """What the head of a rule calls a parameter: by its name, or by the variable that stands there."""
    if argument.name is not None:
        return argument.name.text
    return argument.value.name if isinstance(argument.value, t.Variable) else None


def _says_the_same(earlier: Definition, later: Definition) -> bool:
    """Of thousands of facts, the first says all that there is to be known of the relation."""
    is_plain = later.origin in (Origin.FACTS, Origin.RULES)
    return is_plain and earlier.origin is later.origin and earlier.columns == later.columns


def _exclude(earlier: Definition, later: Definition) -> bool:
    """Several queries of one annotation may be about the same relation, and several rules."""
    if earlier.origin in PRODUCERS and later.origin in PRODUCERS:
        is_one_maker = earlier.base is not None and earlier.statement is later.statement
        return not is_one_maker and not earlier.origin is later.origin is Origin.RULES
    return earlier.origin is later.origin is Origin.ENRICHER and earlier.statement is later.statement


# What types are called elsewhere.
_MEANT = {
    "int": "integer",
    "long": "integer",
    "bigint": "integer",
    "float": "double",
    "real": "double",
    "numeric": "decimal",
    "bool": "boolean",
    "str": "text",
    "varchar": "text",
    "timestamp": "datetime",
}

_BY = {
    Origin.SOURCE: "comes from a source",
    Origin.RULES: "is defined by rules",
    Origin.AGGREGATION: "comes from an aggregation",
    Origin.SPLIT: "comes from a split",
    Origin.FACTS: "is given by facts",
    Origin.ENRICHER: "is loaded by an `@enrich`",
}


_TWICE = {
    Origin.SOURCE: "comes from two sources",
    Origin.AGGREGATION: "comes from two aggregations",
    Origin.SPLIT: "comes from two splits",
    Origin.ENRICHER: "is loaded twice by one `@enrich`",
}


def _unite(name: str) -> str:
    return f"give one of them another name, and unite them by rules: `all(…) :- {name}(…).`"


_REMEDIES: dict[Origin, Callable[[str], str]] = {
    Origin.SOURCE: _unite,
    Origin.RULES: _unite,
    Origin.AGGREGATION: lambda _: "put all its queries into one `@aggregate`",
    Origin.SPLIT: lambda _: "put all its queries into one `@split`",
    Origin.ENRICHER: lambda _: "name each relation once",
}
