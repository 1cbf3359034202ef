"""What atoms and relations are in a plan."""

from collections.abc import Iterable, Iterator, Sequence

from demaq.pipelines.plan.nodes import (
    Channels,
    Columns,
    Condition,
    Distinct,
    Node,
    Pair,
    Present,
    Project,
    Read,
    Select,
    Spread,
    Union,
    Values,
    Version,
)
from demaq.pipelines.program import Atom, Compare, Origin, Program, Relation, Variable
from demaq.pipelines.values import Constant

_WITH_NULLS = frozenset((Origin.SOURCE, Origin.ENRICHER, Origin.AGGREGATION, Origin.SPLIT))


class Relations:
    """The relations of a program, as a plan reads them."""

    def __init__(self, program: Program) -> None:
        self._relations = program.relations

    def columns(self, name: str) -> Columns:
        parameters = self._relations[name].parameters
        return tuple(Variable(parameter.name, parameter.type) for parameter in parameters)

    def channels(self, name: str) -> Channels:
        return self._relations[name].channels

    def read(self, name: str, version: Version = Version.ALL) -> Read:
        return Read(relation=name, columns=self.columns(name), channels=self.channels(name), version=version)

    def matching(self, atom: Atom, version: Version = Version.ALL) -> Node:
        """The facts that match an atom, whole."""
        found = tuple(self._conditions(atom))
        read = self.read(atom.relation, version)
        return Select(read, found) if found else read

    def _conditions(self, atom: Atom) -> Iterator[Condition]:
        """A variable that stands twice is compared with its first place, which implies that both are present."""
        columns = self.columns(atom.relation)
        for column, term in zip(columns, atom.terms, strict=True):
            if isinstance(term, Constant):
                yield Compare("=", column, term)
            elif isinstance(term, Variable):
                first, *others = places(atom, term, columns)
                if column is first and not others and may_lack_values(self._relations[atom.relation]):
                    yield Present(column)
                elif column is not first:
                    yield Compare("=", first, column)

    def variables(self, atom: Atom, version: Version = Version.ALL) -> Project:
        """The facts that match an atom, as values of its variables; a row for each fact."""
        columns = self.columns(atom.relation)
        items = tuple((variable, places(atom, variable, columns)[0]) for variable in atom.variables)
        return Project(self.matching(atom, version), items)


def may_lack_values(relation: Relation) -> bool:
    return not _WITH_NULLS.isdisjoint(relation.origins)


def places(atom: Atom, variable: Variable, columns: Columns) -> list[Variable]:
    """The columns in whose place a variable stands."""
    return [column for column, term in zip(columns, atom.terms, strict=True) if term == variable]


def renamed(node: Node, columns: Columns) -> Node:
    """The rows with other names and types of their columns."""
    return node if node.columns == columns else Project(node, tuple(zip(columns, node.columns, strict=True)))


def aligned(node: Node, channels: Channels) -> Node:
    """The rows as rows of messages that are made of these channels."""
    if node.channels == channels:
        return node
    return Pair(node, channels) if node.channels else Spread(node, channels)


def one_set(nodes: Iterable[Node]) -> Node:
    """Everything that nodes with the same columns give, each row once."""
    found = tuple(nodes)
    return Distinct(found[0] if len(found) == 1 else Union(found))


def nothing(columns: Columns, channels: Channels) -> Node:
    return aligned(Values(columns, ()), channels)


def all_channels(relations: Relations, names: Sequence[str]) -> Channels:
    return tuple(sorted({channel for name in names for channel in relations.channels(name)}))
