"""The application with all facts about it: what the checks read."""

from collections.abc import Iterator
from dataclasses import dataclass

from demaq.language.analysis.facts import RuleFacts
from demaq.language.files import Files
from demaq.language.linked import Linked, LinkedModule
from demaq.language.symbols import Symbols
from demaq.xquery.tree import Expr, FunctionDecl, VarDecl


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Examined:
    linked: Linked
    facts: tuple[RuleFacts, ...]
    files: Files

    @property
    def symbols(self) -> Symbols:
        return self.linked.symbols

    def expressions(self) -> Iterator[tuple[Expr, LinkedModule]]:
        """Every expression of the application: bodies of rules and functions, values of properties and variables."""
        for rule in self.linked.rules:
            yield rule.body, rule.module
        for value in self.linked.values:
            yield value.value, value.module
        for module in self.linked.modules:
            for declaration in module.prolog:
                if isinstance(declaration, FunctionDecl) and declaration.body is not None:
                    yield declaration.body, module
                elif isinstance(declaration, VarDecl) and declaration.value is not None:
                    yield declaration.value, module
