"""Declarations of XQuery that cannot stand in the prolog of a module."""

from demaq.language.rewrite.runtime import RESERVED_PREFIXES
from demaq.xquery.tree import ContextItemDecl, Declaration, ImportDecl, NamespaceDecl, OptionDecl, Setter


def refusal(declaration: Declaration) -> tuple[str, str] | None:
    """Why a declaration cannot stand in a module, and what to do instead; None if it can."""
    if isinstance(declaration, ImportDecl):
        instead = "declare functions in the module that uses them"
        if declaration.kind == "schema":
            instead = "messages are validated by the schema of their queue: `create queue Q schema FILE`"
        return f"a module cannot import a {declaration.kind}", instead
    if isinstance(declaration, ContextItemDecl):
        return "the context item is always the message being processed", "take the declaration away"
    if isinstance(declaration, OptionDecl):
        return "options of the XQuery engine cannot be set", "take the declaration away"
    if isinstance(declaration, NamespaceDecl) and declaration.prefix in RESERVED_PREFIXES:
        return f"the prefix `{declaration.prefix}` is the system's own", "take another prefix"
    if isinstance(declaration, Setter) and declaration.feature in ("base-uri", "default collation"):
        return f"`{declaration.feature}` cannot be set", "it would depend on something outside the application"
    return None
