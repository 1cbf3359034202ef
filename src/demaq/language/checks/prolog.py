"""Declarations that cannot stand in the prolog of a module, and declarations that nothing completes."""

from demaq.diagnostics import Report
from demaq.language import codes
from demaq.language.analysis.calls import called
from demaq.language.examined import Examined
from demaq.language.linked import LinkedModule
from demaq.language.rewrite.refusals import refusal
from demaq.xquery.analysis.codes import CIRCULAR_VARIABLE
from demaq.xquery.tree import Declaration, FunctionDecl, VarDecl, VarRef, walk


def check(examined: Examined, report: Report) -> None:
    for module in examined.linked.modules:
        _check_cycles(module, examined, report)
        for declaration in module.prolog:
            complaint = refusal(declaration) or _incomplete(declaration)
            if complaint is not None:
                message, help_ = complaint
                report.say(codes.PROLOG, declaration.span, message, help=help_)


def _check_cycles(module: LinkedModule, examined: Examined, report: Report) -> None:
    """A variable whose value depends on itself, directly or through other variables and functions."""
    variables = {
        declaration.name.expanded: declaration
        for declaration in module.prolog
        if isinstance(declaration, VarDecl) and declaration.value is not None
    }
    uses = {name: _variables_used(declaration, module) & variables.keys() for name, declaration in variables.items()}
    for name, declaration in variables.items():
        reached: set[str] = set()
        pending = set(uses[name])
        while pending:
            reached |= pending
            pending = {other for used in pending for other in uses[used]} - reached
        if name in reached and declaration.value is not None:
            report.say(
                CIRCULAR_VARIABLE,
                declaration.name.span,
                f"the value of the variable `${declaration.name}` depends on itself",
                help="give it a value that can be computed without it",
            )
            examined.refuse(declaration.value)


def _variables_used(declaration: VarDecl, module: LinkedModule) -> set[str]:
    assert declaration.value is not None
    nodes = list(walk(declaration.value))
    nodes += [node for function in called(nodes, module) for node in function.nodes]
    return {node.name.expanded for node in nodes if isinstance(node, VarRef)}


def _incomplete(declaration: Declaration) -> tuple[str, str] | None:
    if isinstance(declaration, VarDecl) and declaration.external:
        return f"nothing can supply the external variable `${declaration.name}`", "give it a value with `:=`"
    if isinstance(declaration, FunctionDecl) and declaration.external:
        return f"nothing can supply the external function `{declaration.name}`", "give it a body"
    return None
