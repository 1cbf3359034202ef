"""Conditions on element names: simpler ones mean the same."""

from collections.abc import Iterator
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from demaq.language.analysis.condition import (
    ALWAYS,
    NEVER,
    AllOf,
    AnyOf,
    Condition,
    Contains,
    Members,
    Root,
    SliceHas,
    SliceLacks,
    all_of,
    any_of,
    condition_from_json,
)

NAMES = ("a", "b", "Q{urn:u}a", "Q{urn:u}b")
LITERALS = st.builds(
    lambda kind, name: kind(name),
    st.sampled_from([Root, Contains, SliceHas, SliceLacks]),
    st.sampled_from([*NAMES, "*:a", "*:b"]),
)


def _plain() -> st.SearchStrategy[Condition]:
    """Conditions as nobody has simplified them."""
    parts: st.SearchStrategy[Condition] = st.one_of(LITERALS, st.sampled_from([ALWAYS, NEVER]))
    return st.recursive(
        parts,
        lambda inner: st.builds(
            lambda kind, several: kind(tuple(several)), st.sampled_from([AllOf, AnyOf]), st.lists(inner, max_size=4)
        ),
        max_leaves=12,
    )


def _simple(condition: Condition) -> Condition:
    if isinstance(condition, AllOf):
        return all_of(_simple(part) for part in condition.parts)
    if isinstance(condition, AnyOf):
        return any_of(_simple(part) for part in condition.parts)
    return condition


def _messages() -> Iterator[tuple[str, frozenset[str], Members]]:
    """Root elements, elements, and the root elements in the slice."""
    for root in NAMES:
        for count in range(len(NAMES) + 1):
            for others in combinations(NAMES, count):
                yield root, frozenset({root, *others}), frozenset({root, "b"})
                yield root, frozenset({root, "a"}), frozenset({root, *others})
                yield root, frozenset({root, "a"}), frozenset({root, None, *others})


def _size(condition: Condition) -> int:
    return 1 + sum(map(_size, condition.parts)) if isinstance(condition, AllOf | AnyOf) else 1


@settings(deadline=None, max_examples=400)
@given(_plain())
def test_a_simpler_condition_holds_for_the_same_messages(condition: Condition) -> None:
    simple = _simple(condition)
    assert _size(simple) <= _size(condition)
    for root, names, members in _messages():
        assert simple.holds(root, names, members) == condition.holds(root, names, members), (simple, root, names)
    assert condition_from_json(condition.to_json()) == condition


def test_what_follows_from_the_rest_is_left_out() -> None:
    a, b, c = Contains("a"), Contains("b"), Contains("c")
    assert any_of([a, all_of([a, b])]) == a
    assert any_of([all_of([a, b]), a]) == a
    assert all_of([a, any_of([a, b])]) == a
    assert any_of([all_of([a, b, c]), all_of([c, a])]) == AllOf((c, a))
    assert any_of([Root("a"), a]) == a
    assert all_of([Root("a"), a]) == Root("a")
    assert any_of([Root("a"), Root("*:a")]) == Root("*:a")
    assert all_of([Root("a"), Root("*:a")]) == Root("a")


def test_the_message_is_in_its_slice() -> None:
    assert all_of([Root("a"), SliceHas("*:a")]) == Root("a")
    assert any_of([Root("a"), SliceHas("a")]) == SliceHas("a")
    assert all_of([SliceLacks("a"), SliceLacks("*:a")]) == SliceLacks("*:a")
    assert any_of([SliceHas("a"), SliceHas("*:a")]) == SliceHas("*:a")


def test_what_is_not_known_of_a_slice_may_be_so() -> None:
    for condition in (SliceHas("a"), SliceLacks("a"), AllOf((SliceHas("a"), SliceLacks("*:a")))):
        assert condition.holds("b", frozenset({"b"}))
    assert SliceHas("a").holds("b", frozenset({"b"}), frozenset({"b", None}))
    assert not SliceHas("a").holds("b", frozenset({"b"}), frozenset({"b"}))
    assert not SliceLacks("a").holds("b", frozenset({"b"}), frozenset({"a", None}))


def test_a_message_has_one_root() -> None:
    assert all_of([Root("a"), Root("b")]) == NEVER
    assert all_of([Root("a"), any_of([Root("b"), Root("c")])]) == NEVER
    assert all_of([Root("a"), any_of([Root("b"), Contains("c")])]) == AllOf((Root("a"), Contains("c")))


def test_what_is_different_is_kept() -> None:
    assert any_of([Root("a"), Contains("b")]) == AnyOf((Root("a"), Contains("b")))
    assert all_of([Contains("a"), Contains("Q{urn:u}a")]) == AllOf((Contains("a"), Contains("Q{urn:u}a")))
    assert any_of([Root("a"), Root("b")]) == AnyOf((Root("a"), Root("b")))


def test_names_are_shown_as_wanted() -> None:
    condition = all_of([any_of([Root("Q{u}a"), Root("b")]), Contains("c")])
    assert condition.describe(str.upper) == "(root element `Q{U}A` or `B`) and an element `C`"


def test_very_many_alternatives_are_left_as_they_are() -> None:
    """Comparing each with each would take longer than it is worth."""
    many = [all_of([Contains(f"a{n}"), Contains(f"b{n}")]) for n in range(2000)]
    assert any_of(many) == AnyOf(tuple(many))
