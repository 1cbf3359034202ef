"""What a rule reads, and by which keys."""

from pathlib import Path

import pytest

from applications import compile_rule
from demaq.language.analysis.lookups import Compared

# A condition, and the accesses to queues that it makes: queue, path, key, and whether the key is known early.
CASES: dict[str, list[tuple[str | None, str | None, str, bool]]] = {
    'qs:queue("work")[//id = qs:message()//id]': [("work", "//id", "qs:message()//id", True)],
    'qs:queue("work")[qs:message()//id = //id]': [("work", "//id", "qs:message()//id", True)],
    'qs:queue("work")[a/b eq "x"]': [("work", "/a/b", '"x"', True)],
    'qs:queue("work")[.//id = "x"]': [("work", "//id", '"x"', True)],
    'qs:queue("work")//order[@id = "x"]': [("work", "//order/@id", '"x"', True)],
    'qs:queue("work")/order[//id = "x"]/items': [("work", "//id", '"x"', True)],
    'qs:queue("work")[/a and //id = "x" and //b]': [("work", "//id", '"x"', True)],
    'qs:queue("work")[/a or //id = "x"]': [("work", None, "", False)],
    'qs:queue("work")[//id != "x"]': [("work", None, "", False)],
    'qs:queue("work")[//id = //other]': [("work", None, "", False)],
    'qs:queue("work")[//id = .]': [("work", None, "", False)],
    'qs:queue("work")': [("work", None, "", False)],
    'count(qs:queue("work")) > 1': [("work", None, "", False)],
    "qs:queue()[//id = 'x']": [("work", "//id", "'x'", True)],
    "qs:queue(string(/name))": [(None, None, "", False)],
    'let $q := qs:queue("work") return $q[//id = "x"]': [("work", "//id", '"x"', True)],
    'let $q := qs:queue("work") return ($q[//id = "x"], $q)': [("work", None, "", False)],
    'let $q := qs:queue("work")/order let $k := /a/id return $q[id = $k]': [("work", "/order/id", "$k", True)],
    'let $q := qs:queue("work") let $o := $q/order return $o[id = "x"]': [("work", "/order/id", '"x"', True)],
    'for $m in /a let $q := qs:queue("work") group by $k := $m return $q[id = $k]': [("work", None, "", False)],
    'for $k in /a/id return qs:queue("work")[//id = $k]': [("work", "//id", "$k", False)],
    'qs:queue("work")[//id = "x"], qs:queue("other")[/b = "y"]': [
        ("work", "//id", '"x"', True),
        ("other", "/b", '"y"', True),
    ],
    'qs:queue("work")[//id = "x"][//b = "y"]': [("work", "//id", '"x"', True)],
    # A position counts all messages, so that none may be left out before it.
    'qs:queue("work")[1][//id = "x"]': [("work", None, "", False)],
    '(qs:queue("work")/a)[last()][id = "x"]': [("work", None, "", False)],
    'let $q := qs:queue("work")[position() < 3] return $q[//id = "x"]': [("work", None, "", False)],
    'qs:queue("work")[//id = "x" and position() = 1]': [("work", None, "", False)],
    'qs:queue("work")[//id = "x"][1]': [("work", "//id", '"x"', True)],
    'qs:queue("work")/a[1][id = "x"]': [("work", "/a/id", '"x"', True)],
    # What a variable stands for is what it stood for where it was bound.
    'let $k := /a let $q := qs:queue("work")[//id = $k] let $k := /b return $q/c[d = $k]': [
        ("work", "//id", "$k", True)
    ],
    '/a/item ! (let $s := sku return qs:queue("work")[//id = $s])': [("work", "//id", "$s", False)],
    # Loops test their items as predicates do.
    'some $m in qs:queue("work") satisfies $m//id = "x"': [("work", "//id", '"x"', True)],
    'every $m in qs:queue("work") satisfies $m//id = "x"': [("work", None, "", False)],
    'for $o in qs:queue("work")/order where $o/id = /a/id and $o/x return $o': [("work", "/order/id", "/a/id", True)],
    'for $o in qs:queue("work")/order/id where $o = "x" return $o': [("work", "/order/id", '"x"', True)],
    'for $i in /a/i for $o in qs:queue("work") where $o/a/id eq $i/id return $o': [("work", "/a/id", "$i/id", False)],
    'for $o in qs:queue("work") let $k := $o/b/id where $o/a/id = $k return $o': [("work", None, "", False)],
    'for $o at $n in qs:queue("work") where $o/a/id = "x" return $n': [("work", None, "", False)],
    'for $o in qs:queue("work")[1] where $o/a/id = "x" return $o': [("work", None, "", False)],
    'for $o in qs:queue("work") count $n where $o/a/id = "x" return $n': [("work", None, "", False)],
    '/a ! (for $o in qs:queue("work") where $o/a/id = id return $o)': [("work", "/a/id", "id", False)],
    # A variable stands for a queue only if the queue is the same wherever the variable is used.
    'let $q := qs:queue(string(/a/name)) return $q[//id = "x"]': [(None, None, "", False)],
    'let $q as document-node()* := qs:queue("work") return $q[//id = "x"]': [("work", None, "", False)],
    # What counts messages in a roundabout way.
    'qs:queue("work")[//id = "x" and (position#0)() = 2]': [("work", None, "", False)],
    # Keys that look elsewhere.
    'qs:queue("work")[//id = qs:queue("other")[/a = "y"]//id]': [
        ("work", "//id", 'qs:queue("other")[/a = "y"]//id', False),
        ("other", "/a", '"y"', True),
    ],
    'qs:queue("work")[//id = id("x")/@k]': [("work", None, "", False)],
}


@pytest.mark.parametrize("condition", CASES)
def test_accesses_to_queues(condition: str, tmp_path: Path) -> None:
    rule = compile_rule(tmp_path, f"create rule r for work if ({condition}) then do enqueue <x/> into outbox")
    accesses = [(read.queue, read.path, read.key, read.early) for read in rule.reads.queues]
    assert accesses == CASES[condition]


def test_a_key_is_given_in_terms_of_the_message(tmp_path: Path) -> None:
    rule = compile_rule(
        tmp_path,
        "create rule r for slices if (/a) then let $a := /a let $k := ($a/id, qs:slicekey())[1]"
        ' return if (qs:queue("work")[//id = $k]) then do reset',
    )
    (lookup,) = rule.lookups
    assert (lookup.queue, lookup.path, lookup.compared) == ("work", "//id", Compared.OPEN)
    assert lookup.key.text.endswith("$demaq:message ! ((/a)/id, $demaq:slicekey)[1]\n}")


def test_properties_collections_time_and_functions(tmp_path: Path) -> None:
    (tmp_path / "c.xml").write_text("<c/>")
    rule = compile_rule(
        tmp_path,
        'declare function local:late() { current-date() > xs:date("2020-01-01") and exists(qs:queue("other")) };'
        'create collection c from "c.xml" create property p as xs:integer queue work value 1 '
        'create rule r for work if (qs:property("p") = 1 and qs:property("sys:id") and local:late())'
        ' then do enqueue <x>{collection("c")/c}</x> into outbox',
    )
    assert rule.reads.properties == ("p", "sys:id")
    assert rule.reads.collections == ("c",)
    assert rule.reads.time
    assert [read.queue for read in rule.reads.queues] == ["other"]
    assert not rule.reads.message
    assert not rule.reads.slice


def test_a_key_is_that_of_its_own_variable(tmp_path: Path) -> None:
    rule = compile_rule(
        tmp_path,
        'create rule r for slices if (/a) then let $k := /a/x let $q := qs:queue("work")[//id = $k] let $k := /a/y'
        " return if ($q and $k) then do reset",
    )
    (lookup,) = rule.lookups
    assert lookup.key.text.endswith("$demaq:message ! (/a/x)\n}")


# A condition of a rule on a slicing, and the root elements of the members that it looks into.
LOOKED_INTO: dict[str, set[str] | None] = {
    "qs:slice()/order": {"order"},
    "qs:slice()[/order]": {"order"},
    "qs:slice()[order/item]/order/item[2]": {"order"},
    "qs:slice()[/order or /refusal]": {"order", "refusal"},
    "qs:slice()/order[item = 3] and not(qs:slice()[/refusal])": {"order", "refusal"},
    "count(qs:slice()[/order]) > 2": {"order"},
    "qs:slice()[/order][last()]": {"order"},
    "qs:slice()[/order][/refusal]": {"order"},
    "qs:slice()[/order and //item = 3]": {"order"},
    "qs:slice()/Q{urn:x}order": {"Q{urn:x}order"},
    "let $found := qs:slice()/order return $found[2]": {"order"},
    "for $found in qs:slice()[/order] return $found/*": {"order"},
    "/order": None,
    "qs:slice()": None,
    "qs:slice()//order": None,
    "qs:slice()/*": None,
    "qs:slice()/*:order": None,
    "qs:slice()/..": None,
    "qs:slice()[//order]": None,
    "qs:slice()[/order or //item]": None,
    "qs:slice()[1]": None,
    "qs:slice()[last()][/order]": None,
    "count(qs:slice()) > 2 and qs:slice()/order": None,
    "let $all := qs:slice() return $all/order": None,
    "qs:slice()/position() = 3": None,
    # What depends on the place of a member, or on the message.
    "qs:slice()[/order and position() = 2]": None,
    "qs:slice()[/order and last() > 2]": None,
    "qs:slice()[/order and (position#0)() = 2]": None,
    "qs:slice()[qs:message()/order]": None,
    "qs:slice()[/order and not(qs:message()/refusal)]": None,
    "local:any()/order": None,
    "local:any()/order and qs:slice()/order": None,
}


@pytest.mark.parametrize("condition", LOOKED_INTO)
def test_members_of_the_slice(condition: str, tmp_path: Path) -> None:
    rule = compile_rule(
        tmp_path,
        "declare function local:any() { qs:slice() };"
        f"create rule r for slices if ({condition}) then do enqueue <x/> into outbox",
    )
    assert rule.reads.members == LOOKED_INTO[condition]
