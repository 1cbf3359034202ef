"""Trees of XQuery and of the application language, made by chance: every class of node, with awkward names.

`property.building` has a file per construct, as the parser has.
"""

from collections.abc import Mapping

from hypothesis import strategies as st

from demaq.xquery import tree as t
from property.building import actions, clauses, constructors, declarations, operators, types
from property.building.core import Build, Builder, Draw, Vocabulary

__all__ = ["Vocabulary", "expressions", "modules", "sequence_types"]

_XQUERY: Mapping[type[t.Expr], Builder] = {**operators.TABLE, **clauses.TABLE, **constructors.TABLE}
_WITH_ACTIONS: Mapping[type[t.Expr], Builder] = {**actions.TABLE, **_XQUERY}


def _build(draw: Draw[object], words: Vocabulary, size: int) -> Build:
    return Build(draw, words, _WITH_ACTIONS if words.actions else _XQUERY, size)


@st.composite
def expressions(draw: Draw[object], words: Vocabulary | None = None, size: int = 12) -> t.Expr:
    """An expression of at most `size` nodes that have parts."""
    return _build(draw, words or Vocabulary(), size).expr()


@st.composite
def modules(draw: Draw[object], words: Vocabulary | None = None, size: int = 12) -> t.Module:
    return declarations.module(_build(draw, words or Vocabulary(), size))


@st.composite
def sequence_types(draw: Draw[object], words: Vocabulary | None = None) -> t.SequenceType:
    return types.sequence_type(_build(draw, words or Vocabulary(), 0))
