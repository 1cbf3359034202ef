"""Rules as one function, with variables for what they have in common."""

from pathlib import Path

import pytest

from applications import compile_text
from demaq.language.explain.functions import rule_text
from demaq.language.rewrite.sharing import MOST_RULES, RuleText, groups, joined


def texts(folder: Path, *rules: str) -> list[RuleText]:
    """Of rules for these targets, with these bodies."""
    text = "".join(f"\ncreate rule r{number} for {rule}" for number, rule in enumerate(rules))
    return [rule_text(rule) for rule in compile_text(folder, text).rules if rule.name[1:].isdigit()]


@pytest.mark.parametrize(
    ("rules", "shared"),
    [
        (["work if (//a) then do enqueue <x>{//b}</x> into outbox"], []),
        (["work if (//a) then do enqueue <x>{//b, //b}</x> into outbox"], ["//b in 0"]),
        (["work if (//a) then do enqueue <x>{//a}</x> into outbox"], []),
        (["work if (//a) then do enqueue <x>{//b, qs:message()//b}</x> into outbox"], ["//b in 0"]),
        (["work if (/m) then for $i in /m/i return do enqueue <x>{//b}</x> into outbox"], ["//b in 0"]),
        (["work if (//a = 'x') then do reset slices key 'x'"] * 2, ['//a = "x" in 0, 1']),
        (
            [f"work if (//a = '{value}') then do reset slices key 'x'" for value in "xyx"],
            ['//a = "x" in 0, 2'],  # //a stands only once beside it
        ),
        ([f"work if (//a = '{value}') then do reset slices key 'x'" for value in "xy"], ["data(//a) in 0, 1"]),
        (
            ["work if (//a and //b) then do reset slices key 'x'", "slices if (//b) then do reset"],
            ["boolean(//b) in 0, 1"],
        ),
        (["slices if (qs:slice()[/m]) then do reset"] * 2, ["boolean($demaq:slice[/m]) in 0, 1"]),
    ],
)
def test_what_stands_in_several_places_becomes_a_variable(tmp_path: Path, rules: list[str], shared: list[str]) -> None:
    found = joined(texts(tmp_path, *rules))
    values = {"items": "{}", "truth": "boolean({})", "data": "data({})"}
    assert [
        f"{values[once.use.value].format(once.text)} in {', '.join(map(str, once.rules))}" for once in found.once
    ] == shared
    assigned = [line.partition(" := ")[0] for line in found.text.splitlines() if line.startswith("let $_")]
    assert assigned == [f"let {once.variable}" for once in found.once]


def test_variables_have_names_that_no_rule_uses(tmp_path: Path) -> None:
    (text,) = texts(tmp_path, "work if (/m) then let $_0 := 1 return do enqueue <x>{//a, //a, $_0}</x> into outbox")
    found = joined([text])
    assert [once.variable for once in found.once] == ["$__0"]
    assert "let $__0 := $demaq:message ! (//a)" in found.text
    assert "{ $__0, $__0, $_0 }" in found.text


def test_the_key_of_the_slice_has_its_type(tmp_path: Path) -> None:
    rules = texts(tmp_path, "work if (/a) then do enqueue <x/> into outbox", "slices if (/a) then do reset")
    head = "function($demaq:message as document-node(), $demaq:slice as document-node()*, $demaq:slicekey as"
    alone, together = (" ".join(joined(each).text.split()).replace("( $", "($") for each in (rules[:1], rules))
    assert alone.startswith(f"{head} xs:anyAtomicType?")
    assert together.startswith(f"{head} xs:string")


def of(module: str, slicing: str | None = None) -> RuleText:
    return RuleText(module=module, slicing=slicing, text="", shared=())


class TestGroups:
    def test_of_modules(self) -> None:
        assert list(groups([of("a"), of("b"), of("a")])) == [(0, 2), (1,)]

    def test_of_slicings(self) -> None:
        """Rules on a queue go with the first slicing of their module."""
        rules = [of("a"), of("a", "s"), of("a", "t"), of("a"), of("b", "t"), of("b"), of("c")]
        assert list(groups(rules)) == [(0, 1, 3), (2,), (4, 5), (6,)]

    def test_are_not_too_large(self) -> None:
        many = [of("a")] * (2 * MOST_RULES + 1)
        assert [len(group) for group in groups(many)] == [MOST_RULES, MOST_RULES, 1]
        assert [number for group in groups(many) for number in group] == list(range(len(many)))

    def test_of_nothing(self) -> None:
        assert list(groups([])) == []
