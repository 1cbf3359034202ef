"""`do enqueue`, `do reset` and `do raise`, as an extension of XQuery."""

from dataclasses import replace

from demaq.diagnostics import nearest
from demaq.language.tree import ACTIONS, Enqueue, EventParameter, Raise, Reset, WithProperty
from demaq.xquery.analysis.resolve import unknown
from demaq.xquery.parser import XQUERY, Kind, Parser, Token
from demaq.xquery.tree import Expr, Name, Path, Range, Sequence

VERBS = ("enqueue", "reset", "raise")
_OTHER_VERBS = ("insert", "delete", "replace", "rename", "send", "put", "push", "emit", "publish")


def action(p: Parser) -> Expr | None:
    if not _begins_action(p, 0):
        _refuse_other_verb(p)
        return None
    start = p.take().start
    verb = p.take().text
    if verb == "enqueue":
        return _enqueue(p, start)
    return _reset(p, start) if verb == "reset" else _raise(p, start)


def _refuse_other_verb(p: Parser) -> None:
    """`do` is an element as well; what is almost an action, or one of other update languages, is meant as one."""
    verb = p.peek(1)
    meant = nearest(verb.text, VERBS) if verb.kind is Kind.NAME else None
    if meant is not None or (verb.kind is Kind.NAME and verb.text in _OTHER_VERBS):
        p.take()
        p.fail_expected("`enqueue`, `reset` or `raise`", help=f"did you mean `do {meant or 'enqueue'}`?")


def _begins_action(p: Parser, distance: int) -> bool:
    return p.peek(distance).text == "do" and p.peek(distance + 1).text in VERBS


def branch(p: Parser) -> Expr:
    """What follows `then`, `else` and `return`: a list of actions belongs to it as a whole."""
    start = p.peek().start
    if p.at("else") and _begins_expression(p.peek(1)):
        p.fail_expected("an action, or `()`", help="for nothing, write `then ()`")
    if p.at("enqueue") and p.peek(1).text in ("<", "$", "(") and not p.source.text.startswith(" ", p.peek(1).end):
        p.fail("expected `do` before `enqueue`", p.peek(), help="an action begins with `do`: `do enqueue E into Q`")
    first = p.expr_single()
    if not isinstance(first, ACTIONS):
        return first
    actions: list[Expr] = [first]
    while p.at(",") and _begins_action(p, 1):
        p.take()
        actions.append(p.expr_single())
    return first if len(actions) == 1 else Sequence(p.span(start), tuple(actions))


def _begins_expression(token: Token) -> bool:
    return token.text in ("do", "if", "let", "for", "(", "$", "<")


def _enqueue(p: Parser, start: int) -> Expr:
    body = p.expr_single()
    slip = "; `to` makes a range of numbers" if isinstance(body, Range) else ""
    if isinstance(body, Path) and body.span.text.endswith("into"):
        slip = "; the path took the word `into` for an element: put it into parentheses, as in `(/)`"
    p.expect("into", help=f"an enqueue says where to: `do enqueue E into Q`{slip}")
    queue = _queue_name(p)
    properties = []
    while p.at("with"):
        clause = p.take().start
        name = p.name("the name of a property")
        p.expect("value", help="a property is set by `with P value E`")
        value = p.expr_single()
        properties.append(WithProperty(p.span(clause), name, value))
    return Enqueue(p.span(start), body, queue, tuple(properties))


def _queue_name(p: Parser) -> Name:
    if p.peek().kind is Kind.STRING:
        p.fail_expected("the name of a queue", help="queues are named without quotes")
    if p.at("$"):
        p.fail_expected("the name of a queue", help="the queue is known before the rule runs: write its name")
    return p.name("the name of a queue")


def _reset(p: Parser, start: int) -> Expr:
    """A name belongs to the reset only if `key` follows it: else it is what stands after the action."""
    name_length = 2 if p.peek().kind is Kind.BRACED else 1
    if p.peek().kind not in (Kind.NAME, Kind.BRACED) or p.peek(name_length).text != "key":
        return Reset(p.span(start), None, None)
    slicing = p.name("the name of a slicing")
    p.expect("key")
    key = p.expr_single()
    return Reset(p.span(start), slicing, key)


def _raise(p: Parser, start: int) -> Expr:
    p.expect("event", help="an event is raised by `do raise event N(P := E, …)`")
    event = p.name("the name of an event")
    paren = p.expect("(")
    parameters: list[EventParameter] = []
    while not p.at(")"):
        place = p.peek().start
        name = p.name("the name of a parameter")
        p.expect(":=")
        value = p.expr_single()
        parameters.append(EventParameter(p.span(place), name, value))
        if not p.accept(","):
            break
        if p.at(")"):
            p.fail_expected("another parameter after the comma")
    p.close(")", paren)
    return Raise(p.span(start), event, tuple(parameters))


def _left_out(p: Parser) -> Expr:
    """`...` stands for something; that it must be written is said when the rest has been read."""
    return unknown(p.span_of(p.take()))


QML = replace(
    XQUERY,
    statements={**XQUERY.statements, "do": action},
    symbols={**XQUERY.symbols, "...": _left_out},
    branch=branch,
    else_is_optional=True,
)
"""XQuery with actions, and with `else` optional where actions are chosen."""
