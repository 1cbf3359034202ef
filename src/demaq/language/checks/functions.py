"""Functions of the node where they mean nothing, and functions that would leave the node."""

from demaq.diagnostics import Note, Report
from demaq.language import codes, qs
from demaq.language import tree as t
from demaq.language.analysis.calls import function_key
from demaq.language.analysis.focus import focus_uses
from demaq.language.examined import Examined
from demaq.language.linked import LinkedModule, LinkedRule, LinkedValue
from demaq.language.rewrite.implicit import NEEDS, Implicit, implicit_parameters
from demaq.xquery.analysis.codes import NO_CONTEXT_ITEM
from demaq.xquery.analysis.context import FN
from demaq.xquery.tree import (
    Expr,
    FunctionCall,
    InlineFunction,
    NamedFunctionRef,
    Node,
    Placeholder,
    String,
    Validate,
    VarDecl,
    walk,
)

_OUTSIDE = "reads from outside the node"
_WAYS_OUT: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("doc", "doc-available", "uri-collection", "json-doc"),
        (_OUTSIDE, 'put the document into a collection: `create collection C from …`, then `collection("C")`'),
    ),
    **dict.fromkeys(
        ("unparsed-text", "unparsed-text-lines", "unparsed-text-available"),
        (_OUTSIDE, "put what it reads into a message or, as XML, into a collection"),
    ),
    **dict.fromkeys(
        ("environment-variable", "available-environment-variables"),
        ("depends on the machine it runs on", "put the setting into a collection, or into the message"),
    ),
    "random-number-generator": (
        "gives another answer each time",
        'a result must be the same when it is computed again: use `qs:property("sys:id")` for a unique value',
    ),
    "generate-id": (
        "gives another answer in each process",
        'use `qs:property("sys:id")` for a unique value, and `is` to compare nodes',
    ),
    "transform": ("runs a stylesheet from outside", "write the transformation in XQuery"),
    "load-xquery-module": ("loads code from outside", "declare the functions in the module's prolog"),
    "function-lookup": ("may find any function", "name the function: `f#1`"),
    "trace": ("writes to the log of the process", "leave it away; `demaq explain` shows what a rule does"),
}
_SLICE_ONLY = (qs.SLICE, qs.SLICEKEY)


def check(examined: Examined, report: Report) -> None:
    for node, _ in examined.nodes():
        if isinstance(node, Validate):
            report.say(
                codes.REFUSED,
                node.span,
                "the XQuery engine knows no schemas, so that it cannot validate",
                help="messages are validated by the schema of their queue: `create queue Q schema FILE`",
            )
            examined.refuse(node)
        if _refuse_way_out(node, report) or _refuse_reference(node, report) or _refuse_name(node, report):
            examined.refuse(node)
        if isinstance(node, InlineFunction) and node.body is not None:
            _refuse_focus(node.body, examined, report)
    for rule in examined.linked.rules:
        if rule.queue is not None:
            _check_slices(rule, report)
    for value in examined.linked.values:
        _check_value(value, examined, report)
    for module in examined.linked.modules:
        _check_variables(module, examined, report)


def _refuse_way_out(node: Node, report: Report) -> bool:
    if not isinstance(node, FunctionCall | NamedFunctionRef) or node.name.uri != FN:
        return False
    if node.name.local not in _WAYS_OUT:
        return False
    why, instead = _WAYS_OUT[node.name.local]
    report.say(codes.WAY_OUT, node.name.span, f"`{node.name.local}` {why}", help=instead)
    return True


def _refuse_reference(node: Node, report: Report) -> bool:
    key = function_key(node)
    if key is None or (not key[0].startswith(f"Q{{{qs.QS}}}") and key[0] != qs.COLLECTION):
        return False
    partial = isinstance(node, FunctionCall) and any(isinstance(arg, Placeholder) for arg in node.args)
    as_value = isinstance(node, NamedFunctionRef) or partial
    if as_value:
        report.say(
            codes.QS_REFERENCE,
            node.span,
            "a function of the node cannot be used as a value",
            help='call it, in a function of your own if need be: `function($x) { qs:property("P", $x) }`',
        )
    return as_value


def _refuse_name(node: Node, report: Report) -> bool:
    if not isinstance(node, FunctionCall):
        return False
    if qs.is_call(node, qs.COLLECTION, 0):
        report.say(
            codes.LITERAL_NEEDED,
            node.span,
            "`collection()` needs the name of a collection",
            help='`collection("C")`',
        )
        return True
    named = qs.is_call(node, qs.COLLECTION, 1) or qs.is_call(node, qs.PROPERTY)
    if named and not isinstance(node.args[0], String | Placeholder):
        what = "collection" if qs.is_call(node, qs.COLLECTION) else "property"
        report.say(
            codes.LITERAL_NEEDED,
            node.args[0].span,
            f"the name of a {what} must be written down",
            help="what a rule reads is known before it runs: put the name in quotes",
        )
        return True
    return False


def _check_slices(rule: LinkedRule, report: Report) -> None:
    """A rule on a queue has no slice, and neither have the functions that it calls."""
    notes = [Note(f"the rule `{rule.name}` is for the queue `{rule.queue.name}`", rule.span)] if rule.queue else []
    for node in rule.all_nodes():
        key = function_key(node)
        if key is not None and key[0] in _SLICE_ONLY:
            report.say(
                codes.SLICE_OUTSIDE,
                node.span,
                f"`{node.span.text.split('(')[0]}()` stands outside a rule on a slicing",
                notes=notes,
                help="a message may belong to many slices: make the rule for the slicing that is meant",
            )
        elif isinstance(node, t.Reset) and node.slicing is None:
            report.say(
                codes.RESET_WITHOUT_SLICE,
                node.span,
                "there is no current slice to reset",
                notes=notes,
                help="name the slice: `do reset S key E`, or make the rule for a slicing",
            )


def _check_value(value: LinkedValue, examined: Examined, report: Report) -> None:
    """When a property is computed, there is the message and what the system says of it, and nothing else."""
    in_functions = [node for function in value.functions for node in function.nodes]
    for node in (*value.nodes, *in_functions):
        key = function_key(node)
        if key is None or key[0] not in NEEDS or not NEEDS[key[0]] - {"message", "now"}:
            continue
        name = qs.literal(node.args[0]) if isinstance(node, FunctionCall) and node.args else None
        if key[0] == qs.PROPERTY and name is not None and name.startswith("sys:") and key[1] == 1 and name != "sys:id":
            continue
        elsewhere = any(node is inner for inner in in_functions)
        report.say(
            codes.PROPERTY_CONTEXT,
            node.span,
            f"the value of the property `{value.property.name}` cannot depend on this",
            notes=[Note("the value is computed here", value.value.span)] if elsewhere else [],
            help="a message has no number yet when its properties are computed"
            if name == "sys:id"
            else "it is computed when a message is made, from the message and its `sys:` properties alone",
        )
        examined.refuse(node)


def _check_variables(module: LinkedModule, examined: Examined, report: Report) -> None:
    """Variables and functions of a module stand outside the processing of any message."""
    implicit = implicit_parameters(module)
    for declaration in module.prolog:
        if not isinstance(declaration, VarDecl) or declaration.value is None:
            continue
        calls = (node for node in walk(declaration.value) if _needs_message(node, implicit))
        for node in (*focus_uses(declaration.value), *calls):
            report.say(
                codes.GLOBAL_CONTEXT,
                node.span,
                f"the variable `${declaration.name}` of the module cannot depend on the message being processed",
                help="make it a function, or bind it with `let` in the rule",
            )
            examined.refuse(node)
    for function in module.functions.values():
        _refuse_focus(function.body, examined, report)


def _needs_message(node: Node, implicit: Implicit) -> bool:
    key = function_key(node)
    return key is not None and (key[0] in NEEDS or bool(implicit.get(key)))


def _refuse_focus(body: Expr, examined: Examined, report: Report) -> None:
    for node in focus_uses(body):
        report.say(
            NO_CONTEXT_ITEM,
            node.span,
            "a function has no context item",
            help="give it what it works on as a parameter, or start from `qs:message()`",
        )
        examined.refuse(node)
