"""Which expressions of a rule are evaluated once."""

from pathlib import Path

import pytest

from applications import compile_text

MESSAGE, SLICE = "$demaq:message", "$demaq:slice"

# What stands in a rule on a slicing, and the shareable expressions in it, larger ones first. `?` marks those of which
# only the truth counts, `=` those whose data count; `*` says that they may be evaluated many times.
CASES: dict[str, list[str]] = {
    # paths
    "if (/a) then do enqueue <x>{//id}</x> into outbox": ["//id"],
    "if (//a) then do enqueue <x>{/a/b, a/b, ./a/b, /a, a, .}</x> into outbox": ["//a?", "/a/b", "a/b", "./a/b"],
    "if (/a) then do enqueue <x>{qs:message()//id}</x> into outbox": [f"{MESSAGE}//id"],
    "if (/a) then do enqueue <x>{/a/b[1], /a[b]/c[d = 'x']}</x> into outbox": ["/a/b[1]", '/a[b]/c[d = "x"]'],
    "if (/a) then do enqueue <x>{(/a | /b)/c, /a[b]}</x> into outbox": ["(/a union /b)/c", "/a[b]"],
    # the slice
    "if (qs:slice()[/a]) then do reset": [f"{SLICE}[/a]?"],
    "if (qs:slice()/a) then do enqueue <x>{qs:slice()//id}</x> into outbox": [f"{SLICE}/a?", f"{SLICE}//id"],
    "if (count(qs:slice()[/a]) > 1) then do reset": [f"{SLICE}[/a]"],
    # truth
    "if (//a and not(//b)) then do reset": ["//a and not(//b)", "//a?", "not(//b)", "//b?"],
    "if (exists(//a) or empty(//b)) then do reset": ["exists(//a) or empty(//b)", "exists(//a)", "empty(//b)"],
    "if (/a or /b) then do reset": [],
    "if (//a = 'x') then do reset": ['//a = "x"', "//a="],
    "if (//a = //b) then do reset": ["//a = //b", "//a=", "//b="],
    "if (//a > 1) then do reset": ["//a="],
    "if (//a is //b) then do reset": ["//a", "//b"],
    # many times
    "if (/a) then for $i in //i return do enqueue <x>{//id}</x> into outbox": ["//i", "//id*"],
    "if (/a[b = qs:message()//id]) then do reset": [f"{MESSAGE}//id=*"],
    "if (/a/b[c > 1]/d) then do enqueue <x>{//i ! (qs:message()//id)}</x> into outbox": ["//i", f"{MESSAGE}//id*"],
    "if (some $i in //i, $j in //j satisfies //k = $i) then do reset": ["//i", "//j*", "//k=*"],
    "if (/a) then for $i in /a let $j := //j where //k order by //l return do reset": ["//j*", "//k?*", "//l*"],
    "if (/a) then let $j := //j return do reset slices key $j": ["//j"],
    # what may fail, or is another each time
    "if (//a[. > 1]) then do reset": [],
    "if (//a[xs:integer(.) = 1]) then do reset": [],
    "if (//a/string()) then do reset": [],
    "if (/a) then let $v := 'x' return if (//a[b = $v]) then do reset": [],
    "if (/a) then do enqueue <x>{<y><z/></y>/z}</x> into outbox": [],
    "if (qs:queue('work')//a) then do reset": [],
    "if (/a) then do enqueue <x>{try { //id } catch * { //id }}</x> into outbox": [],
    "if (/a) then do enqueue <x>{function() { qs:message()//id }()}</x> into outbox": [],
    "if (//a[last()]) then do reset": [],
}


@pytest.mark.parametrize("rule", CASES)
def test_shareable_expressions(tmp_path: Path, rule: str) -> None:
    program = compile_text(tmp_path, f"create rule r for slices {rule}")
    query = program.rules[-1].query
    marks = {"items": "", "truth": "?", "data": "="}
    found = [
        query.text[shared.start : shared.end] + marks[shared.use.value] + "*" * shared.is_repeated
        for shared in query.shared
    ]
    assert found == CASES[rule]


def test_a_key_stands_in_two_places(tmp_path: Path) -> None:
    """In the lookup, and in the predicate that is tested on what was found."""
    found = 'qs:queue("work")[//b = qs:message()//id]'
    program = compile_text(tmp_path, f"create rule r for work if ({found}) then do enqueue <x/> into outbox")
    query = program.rules[-1].query
    assert [query.text[shared.start : shared.end] for shared in query.shared] == [f"{MESSAGE}//id"] * 2
    first, second = query.shared
    assert first.end < second.start
