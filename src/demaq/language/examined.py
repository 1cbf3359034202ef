"""The application with all facts about it: what the checks read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from demaq.language.analysis.facts import RuleFacts
from demaq.language.files import Files
from demaq.language.linked import Linked, LinkedModule, LinkedValue
from demaq.language.pipelines import PipelineFacts
from demaq.language.symbols import Symbols
from demaq.model import GatewaySettings
from demaq.xquery.tree import Node, VarDecl, walk


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Examined:
    linked: Linked
    facts: tuple[RuleFacts, ...]
    pipelines: tuple[PipelineFacts, ...]
    files: Files
    gateways: Mapping[str, GatewaySettings] = field(default_factory=dict)  # of `demaq.toml`
    _refused: set[int] = field(default_factory=set)
    _values: dict[str, list[LinkedValue]] = field(default_factory=dict)

    def refuse(self, node: Node) -> None:
        """An expression is wrong, and this is said: whatever else is found out about it would follow from that."""
        self._refused.add(id(node))

    @property
    def refused(self) -> frozenset[int]:
        """The identities of the refused nodes, which the linked application keeps alive."""
        return frozenset(self._refused)

    @property
    def symbols(self) -> Symbols:
        return self.linked.symbols

    def values_of(self, property_name: str) -> list[LinkedValue]:
        """The computed values of a property."""
        if not self._values:
            for value in self.linked.values:
                self._values.setdefault(value.property.name, []).append(value)
        return self._values.get(property_name, [])

    def nodes(self) -> Iterator[tuple[Node, LinkedModule]]:
        """Every node of every expression: bodies of rules and functions, values of properties and variables."""
        for rule in self.linked.rules:
            for node in rule.nodes:
                yield node, rule.module
        for value in self.linked.values:
            for node in value.nodes:
                yield node, value.module
        for module in self.linked.modules:
            for function in module.functions.values():
                for node in function.nodes:
                    yield node, module
            for declaration in module.prolog:
                if isinstance(declaration, VarDecl) and declaration.value is not None:
                    for node in walk(declaration.value):
                        yield node, module
