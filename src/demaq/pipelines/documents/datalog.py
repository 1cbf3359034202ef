"""Facts as they stand in a pipeline: nothing is converted but numbers that are wider in the relation."""

from collections.abc import Mapping

from demaq.diagnostics import Report, Source
from demaq.pipelines import tree as t
from demaq.pipelines.documents.shapes import Collector, Found, Shape
from demaq.pipelines.parser import parse_pipeline
from demaq.pipelines.values import Value
from demaq.pipelines.vocabulary import META


def read_datalog(document: str | bytes, shapes: tuple[Shape, ...], _options: Mapping[str, Value]) -> Found:
    """Facts of other relations are passed over. Meta facts say in which order the parameters stand."""
    assert isinstance(document, str)
    source, report = Source("document", document), Report()
    parsed = parse_pipeline(source, report)
    collector = Collector(shapes)
    for diagnostic in report:
        line = None if diagnostic.span is None else source.line_column(diagnostic.span.start)[0]
        collector.problem(diagnostic.message, line)
    facts = [statement for statement in parsed.syntax.statements if isinstance(statement, t.Fact)]
    for statement in parsed.syntax.statements:
        if not isinstance(statement, t.Fact):
            line = source.line_column(statement.span.start)[0]
            collector.problem("only facts can stand here", line)
    orders = _orders(facts)
    for fact in facts:
        _add(fact, collector, orders, source.line_column(fact.span.start)[0])
    return collector.found


def _orders(facts: list[t.Fact]) -> dict[str, dict[int, str]]:
    """What meta facts say: the names of parameters by their positions, from 1 on."""
    found: dict[str, dict[int, str]] = {}
    for fact in facts:
        if fact.atom.relation.text == META:
            values = [each.value.value for each in fact.atom.arguments if isinstance(each.value, t.Literal)]
            if len(values) == 3 and isinstance(values[2], int):
                found.setdefault(str(values[0]), {})[values[2]] = str(values[1])
    return found


def _add(fact: t.Fact, collector: Collector, orders: dict[str, dict[int, str]], line: int) -> None:
    name = fact.atom.relation.text
    shape = collector.shape(name)
    if name == META or shape is None:
        return
    arguments = fact.atom.arguments
    if len(arguments) != len(shape.names) and name not in orders:
        collector.problem(f"`{name}` has {len(shape.names)} parameters, and not {len(arguments)}", line)
        return
    values = {}
    for position, argument in enumerate(arguments, 1):
        if not isinstance(argument.value, t.Literal):
            collector.problem(f"facts have values, and no variables: `{argument.value.span.text}`", line)
            return
        by_position = orders.get(name, {}).get(position) or shape.names[min(position, len(shape.names)) - 1]
        values[by_position if argument.name is None else argument.name.text] = argument.value.value
    collector.add(shape, values, line=line)
