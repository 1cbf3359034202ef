"""Messages that the schema of their queue refuses, and conditions that a schema rules out."""

from lxml import etree

from demaq.diagnostics import Report, listing
from demaq.language import codes
from demaq.language import tree as t
from demaq.language.analysis.condition import possible_roots
from demaq.language.analysis.facts import RuleFacts
from demaq.language.analysis.writes import Write
from demaq.language.examined import Examined
from demaq.language.files import Schema
from demaq.language.symbols import symbol
from demaq.xquery.printer import to_text
from demaq.xquery.tree import DirectElement, Enclosed, walk


def check(examined: Examined, report: Report) -> None:
    for facts in examined.facts:
        for write in facts.writes.messages:
            schema = _schema(examined, write.queue)
            if schema is not None:
                _check_root(write, schema, report)
        _check_constant_messages(facts, examined, report)
        _check_condition(facts, examined, report)


def _schema(examined: Examined, queue_name: str) -> Schema | None:
    queue = examined.symbols.queues.get(queue_name)
    schema = None if queue is None or queue.schema is None else examined.files.schema(queue.schema)
    return schema if isinstance(schema, Schema) else None


def _check_root(write: Write, schema: Schema, report: Report) -> None:
    roots = write.shape.roots
    if roots and not roots & schema.roots:
        report.say(
            codes.SCHEMA_REFUSES,
            write.span,
            f"the schema of the queue `{write.queue}` has no element {listing(roots)}",
            help=f"its messages begin with {listing(schema.roots)}",
        )


def _check_constant_messages(facts: RuleFacts, examined: Examined, report: Report) -> None:
    """A message written down whole can be validated now."""
    for node in facts.rule.nodes:
        if not isinstance(node, t.Enqueue) or not isinstance(node.body, DirectElement):
            continue
        schema = _schema(examined, symbol(node.queue, facts.rule.module.context))
        if schema is None or any(isinstance(part, Enclosed) for part in walk(node.body)):
            continue
        if node.body.name.expanded not in schema.roots:
            continue  # said already
        try:
            document = etree.fromstring(to_text(node.body))
        except etree.XMLSyntaxError:
            continue  # prefixes declared outside the element
        if not schema.validator.validate(document):
            reason = schema.validator.error_log[0].message
            report.say(
                codes.SCHEMA_REFUSES,
                node.body.span,
                f"the schema of the queue `{node.queue}` refuses this message: {reason}",
            )


def _check_condition(facts: RuleFacts, examined: Examined, report: Report) -> None:
    rule = facts.rule
    schemas = [_schema(examined, queue) for queue in rule.input_queues]
    known = [schema for schema in schemas if schema is not None]
    if not schemas or len(known) != len(schemas):
        return
    roots = frozenset().union(*(schema.roots for schema in known))
    required = possible_roots(facts.skip)
    if required and not required & roots:
        report.say(
            codes.NEVER_TRUE,
            rule.span,
            f"the rule `{rule.name}` waits for the root element {listing(required, 'or')}, "
            "which the schema does not have",
            help=f"messages in {listing(rule.input_queues)} begin with {listing(roots)}",
        )
