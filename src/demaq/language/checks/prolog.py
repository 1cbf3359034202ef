"""Declarations that cannot stand in the prolog of a module."""

from demaq.diagnostics import Report
from demaq.language import codes
from demaq.language.examined import Examined
from demaq.language.rewrite.runtime import RESERVED_PREFIXES
from demaq.xquery.tree import (
    ContextItemDecl,
    Declaration,
    FunctionDecl,
    ImportDecl,
    NamespaceDecl,
    OptionDecl,
    Setter,
    VarDecl,
)


def check(examined: Examined, report: Report) -> None:
    for module in examined.linked.modules:
        for declaration in module.prolog:
            complaint = _complaint(declaration)
            if complaint is not None:
                message, help_ = complaint
                report.say(codes.PROLOG, declaration.span, message, help=help_)


def _complaint(declaration: Declaration) -> tuple[str, str] | None:
    if isinstance(declaration, ImportDecl):
        return (
            f"a module cannot import a {declaration.kind}",
            "the modules of an application are the files in its folder; declare functions where they are used",
        )
    if isinstance(declaration, ContextItemDecl):
        return "the context item is always the message being processed", "take the declaration away"
    if isinstance(declaration, OptionDecl):
        return "options of the XQuery engine cannot be set", "take the declaration away"
    if isinstance(declaration, VarDecl) and declaration.external:
        return f"nothing can supply the external variable `${declaration.name}`", "give it a value with `:=`"
    if isinstance(declaration, FunctionDecl) and declaration.external:
        return f"nothing can supply the external function `{declaration.name}`", "give it a body"
    if isinstance(declaration, NamespaceDecl) and declaration.prefix in RESERVED_PREFIXES:
        return f"the prefix `{declaration.prefix}` is the system's own", "take another prefix"
    if isinstance(declaration, Setter) and declaration.feature in ("base-uri", "default collation"):
        return f"`{declaration.feature}` cannot be set", "it would depend on something outside the application"
    return None
