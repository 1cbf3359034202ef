"""Declarations that cannot stand in the prolog of a module, and declarations that nothing completes."""

from demaq.diagnostics import Report
from demaq.language import codes
from demaq.language.examined import Examined
from demaq.language.rewrite.refusals import refusal
from demaq.xquery.tree import Declaration, FunctionDecl, VarDecl


def check(examined: Examined, report: Report) -> None:
    for module in examined.linked.modules:
        for declaration in module.prolog:
            complaint = refusal(declaration) or _incomplete(declaration)
            if complaint is not None:
                message, help_ = complaint
                report.say(codes.PROLOG, declaration.span, message, help=help_)


def _incomplete(declaration: Declaration) -> tuple[str, str] | None:
    if isinstance(declaration, VarDecl) and declaration.external:
        return f"nothing can supply the external variable `${declaration.name}`", "give it a value with `:=`"
    if isinstance(declaration, FunctionDecl) and declaration.external:
        return f"nothing can supply the external function `{declaration.name}`", "give it a body"
    return None
