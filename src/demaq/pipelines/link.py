"""Every atom gets its relation, every argument its position. What cannot be resolved is reported, and is lost."""

from demaq.diagnostics import Report
from demaq.pipelines import codes
from demaq.pipelines import tree as t
from demaq.pipelines.bodies import link_body
from demaq.pipelines.linked import Linked, LinkedFact, LinkedGoal, LinkedMaker, LinkedQuery, LinkedRule
from demaq.pipelines.positions import Positions
from demaq.pipelines.symbols import Symbols
from demaq.pipelines.vocabulary import AGGREGATED, META, SPLITTED


def link(pipeline: t.Pipeline, symbols: Symbols, report: Report) -> Linked:
    positions = Positions(symbols, report)
    rules, facts, queries, makers, goals = [], [], [], [], []
    last: str | None = None  # the relation that was defined last
    for statement in pipeline.statements:
        if isinstance(statement, t.Rule) and statement.head.relation.text != META:
            head = positions.place(statement.head, is_whole=True)
            rules.append(LinkedRule(statement, head, link_body(statement, positions, report)))
        elif isinstance(statement, t.Fact) and statement.atom.relation.text != META:
            facts.append(LinkedFact(statement, positions.place(statement.atom, is_whole=True)))
        elif isinstance(statement, t.Query):
            queries.append(LinkedQuery(statement, positions.place(statement.atom)))
        elif isinstance(statement, t.Aggregate | t.Split):
            makers.append(_maker(statement, positions))
        elif isinstance(statement, t.From | t.Enrich):
            for declaration in statement.declarations:
                positions.check_declaration(declaration)
        elif isinstance(statement, t.To):
            goals.append(_goal(statement, last, positions, report))
        last = _defined(statement) or last
    return Linked(
        pipeline=pipeline,
        symbols=symbols,
        rules=tuple(rules),
        facts=tuple(facts),
        queries=tuple(queries),
        makers=tuple(makers),
        goals=tuple(goals),
    )


def _maker(statement: t.Aggregate | t.Split, positions: Positions) -> LinkedMaker:
    suffix = AGGREGATED if isinstance(statement, t.Aggregate) else SPLITTED
    queries = [
        (LinkedQuery(query, positions.place(query.atom)), query.atom.relation.text + suffix)
        for query in statement.queries
    ]
    return LinkedMaker(statement, tuple(queries))


def _defined(statement: t.Statement) -> str | None:
    """The last relation that a statement defines."""
    if isinstance(statement, t.Rule):
        return statement.head.relation.text
    if isinstance(statement, t.Fact):
        return None if statement.atom.relation.text == META else statement.atom.relation.text
    if isinstance(statement, t.From | t.Enrich):
        return statement.declarations[-1].relation.text
    if isinstance(statement, t.Aggregate):
        return statement.queries[-1].atom.relation.text + AGGREGATED
    if isinstance(statement, t.Split):
        return statement.queries[-1].atom.relation.text + SPLITTED
    return None


def _goal(statement: t.To, last: str | None, positions: Positions, report: Report) -> LinkedGoal:
    if statement.relations is not None:
        return LinkedGoal(statement, tuple(name for name in statement.relations if positions.is_known(name)))
    if last is None:
        report.say(
            codes.SYNTAX,
            statement.span,
            "this `@to` does not say which relations it sends, and none is defined before it",
            help="name them: `@to(…) { rel }`",
        )
        return LinkedGoal(statement, ())
    report.say(
        codes.BODY_MISSING,
        statement.span,
        f"this `@to` does not say which relations it sends: it gets `{last}`, which was defined last",
        help=f"write `{{ {last} }}` after it",
    )
    return LinkedGoal(statement, (t.Name(statement.span, last),))
