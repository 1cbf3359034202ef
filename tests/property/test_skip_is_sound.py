"""A rule that its skip condition excludes would have done nothing: no action, and no error."""

import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from saxonche import PySaxonApiError, PySaxonProcessor

from applications import check_text
from demaq.language import Program
from property.effort import scaled

NAMES = ("a", "b", "c")
VIEW = """map {
  "property" : function($name) { if ($name = "sys:id") then 1 else "work" },
  "queue" : function($name) { parse-xml("<a/>") }
}"""


def _paths() -> st.SearchStrategy[str]:
    step = st.sampled_from([*NAMES, "*", "@id", "text()", "..", "descendant::b", "self::a", "(b | c)", "(., b)[1]"])
    start = st.sampled_from(["/", "//", "qs:message()/", "qs:message()//", "./", ".//", ""])
    predicate = st.sampled_from(["", "[1]", "[b]", "[. = 'x']", "[//c]"])
    return st.builds(
        lambda begin, first, rest, filter_: begin + "/".join([first, *rest]) + filter_,
        start,
        st.sampled_from([*NAMES, "*"]),
        st.lists(step, max_size=2),
        predicate,
    )


def _slice_paths() -> st.SearchStrategy[str]:
    """Into the members of a slice, mostly by their root elements."""
    name = st.sampled_from(NAMES)
    test = st.one_of(
        st.builds("/{}".format, name),
        st.builds("/{} or {}".format, name, name),
        st.builds("/{} and //{}".format, name, name),
        st.builds("exists(/{}) or boolean({})".format, name, name),
        st.builds("not(/{})".format, name),
        st.builds("/{}/{}".format, name, name),
        st.builds("/{} = 1 or /{}".format, name, name),
        st.builds("xs:integer(/{}) = 1".format, name),
        st.builds("qs:message()/{}".format, name),
        st.builds("if (/{}) then 1 else 2".format, name),
        _paths(),
        st.sampled_from(["1", "last()", "2", "string(.)", "/*", "*/@id"]),
    )
    return st.builds(
        lambda tests, steps: "qs:slice()" + "".join(f"[{one}]" for one in tests) + steps,
        st.lists(test, max_size=2),
        st.one_of(
            st.just(""),
            st.builds("/{}".format, name),
            st.sampled_from(["//a", "/*/b", "/a/b", "/a[b]", "/a[xs:integer(.) = 1]", "/self::a", "/a/string()"]),
        ),
    )


def _slice_conditions() -> st.SearchStrategy[str]:
    return st.one_of(
        _slice_paths(),
        st.builds("not({})".format, _slice_paths()),
        st.builds("not(({} or {}))".format, _slice_paths(), _slice_paths()),
        st.builds("not(({} and {}))".format, _slice_paths(), _slice_paths()),
        st.builds("empty({} | {})".format, _slice_paths(), _slice_paths()),
        st.builds("empty({})".format, _slice_paths()),
        st.builds("not(empty({}))".format, _slice_paths()),
        st.builds("not(exists({}))".format, _slice_paths()),
        st.builds("{} = 'x'".format, _slice_paths()),
        st.builds("{} = {}".format, _slice_paths(), _paths()),
        st.builds("(some $x in {} satisfies $x/b)".format, _slice_paths()),
        st.builds("(let $v := {} return if ($v/a) then not($v) else $v)".format, _slice_paths()),
        st.builds("(let $v := {} return qs:slice()[$v])".format, _paths()),
    )


def _conditions(in_slices: bool = False) -> st.SearchStrategy[str]:
    return st.recursive(
        st.one_of(
            *(_slice_conditions(),) * (4 if in_slices else 0),
            _paths(),
            st.builds("{} = 'x'".format, _paths()),
            st.builds("{} = {}".format, _paths(), _paths()),
            st.builds("{} > 1".format, _paths()),
            st.builds("count({}) > 1".format, _paths()),
            st.builds("xs:integer(({})[1]) = 1".format, _paths()),
            st.builds("{}/string()".format, _paths()),
            st.builds("qs:property('sys:id') = {}".format, _paths()),
            st.sampled_from(["true()", "false()", "qs:property('sys:queue') = 'work'", "qs:queue('other')/a"]),
        ),
        lambda inner: st.one_of(
            st.builds("({} and {})".format, inner, inner),
            st.builds("({} or {})".format, inner, inner),
            st.builds("not({})".format, inner),
            st.builds("exists(({})[1])".format, _paths()),
            st.builds("not(empty({}))".format, _paths()),
            st.builds("(some $x in {} satisfies $x = 'x')".format, _paths()),
            st.builds("(if ({}) then {} else {})".format, inner, inner, inner),
            st.builds("(let $v := {} let $w := $v/b return $w = 'x' and $v)".format, _paths()),
            st.builds("(let $v := {} let $v := ($v, {}) return exists($v))".format, _paths(), _paths()),
            st.builds("(let $v as element()? := {} return {})".format, _paths(), inner),
            st.builds("(typeswitch ({}) case element(a) return {} default return {})".format, _paths(), inner, inner),
            st.builds("(switch (count({})) case 1 return {} default return false())".format, _paths(), inner),
        ),
        max_leaves=4,
    )


def _slice_bodies() -> st.SearchStrategy[str]:
    action = "do enqueue <x/> into outbox"
    conditions = st.one_of(_slice_conditions(), _slice_conditions(), _conditions(in_slices=True))
    return st.one_of(
        st.builds(f"if ({{}}) then {action}".format, conditions),
        st.builds(f"if ({{}} and {{}}) then {action}".format, conditions, conditions),
        st.builds(f"if ({{}}) then if ({{}}) then {action} else ()".format, conditions, conditions),
        st.builds(f"if ({{}}) then () else if ({{}}) then {action}".format, conditions, conditions),
        st.builds(f"if ({{}}) then (for $x in {{}} return {action})".format, conditions, _slice_paths()),
        st.builds(
            f"if ({{}}) then (let $x := {{}} return if (not($x) and {{}}) then {action})".format,
            conditions,
            _slice_paths(),
            conditions,
        ),
    )


def _bodies() -> st.SearchStrategy[str]:
    action = st.just("do enqueue <x/> into outbox")
    return st.recursive(
        st.builds("if ({}) then {}".format, _conditions(), action),
        lambda inner: st.one_of(
            st.builds("if ({}) then ({}) else ({})".format, _conditions(), inner, inner),
            st.builds("if ({}) then ({})".format, _conditions(), inner),
            st.builds(
                "if ({}) then (typeswitch ({}) case element(a) return ({}) default return ())".format,
                _conditions(),
                _paths(),
                inner,
            ),
            st.builds(
                "if ({}) then (let $x := {} let $y := $x/b return if ($y and {}) then ({}))".format,
                _conditions(),
                _paths(),
                _conditions(),
                inner,
            ),
            st.builds(
                "if ({}) then (for $x in {} let $y := $x where $y/b return {})".format, _conditions(), _paths(), action
            ),
            st.builds("if ({}) then (let $x as element()? := {} return ({}))".format, _conditions(), _paths(), inner),
            # Saxon evaluates what does not depend on $x before the loop, also when the loop is over nothing: an
            # error there is its own, so that nothing that may fail stands inside.
            st.builds("if ({}) then (for $x in {} return {})".format, _conditions(), _paths(), action),
            st.builds("if ({}) then (let $x := {} return ({}))".format, _conditions(), _paths(), inner),
            st.builds(
                "if ({}) then (let $x := xs:integer(({})[1]) return ({}))".format, _conditions(), _paths(), inner
            ),
        ),
        max_leaves=3,
    )


def _documents() -> st.SearchStrategy[str]:
    leaf = st.sampled_from(["x", "1", ""])
    return st.recursive(
        st.builds("<{0}>{1}</{0}>".format, st.sampled_from(NAMES), leaf),
        lambda inner: st.builds(
            lambda name, parts: f"<{name} id='1'>{''.join(parts)}</{name}>",
            st.sampled_from(NAMES),
            st.lists(inner, max_size=3),
        ),
        max_leaves=6,
    )


@pytest.fixture(scope="module")
def saxon() -> Any:
    return PySaxonProcessor(license=False)


_SETTINGS = settings(
    max_examples=scaled(400), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@_SETTINGS
@given(body=_bodies(), documents=st.lists(_documents(), min_size=1, max_size=4))
def test_what_is_skipped_does_nothing(body: str, documents: list[str], saxon: Any) -> None:
    program = _program(f"create rule r for work {body}")
    if program is None:
        return
    rule = program.rules[-1]
    for document in documents:
        if not rule.skip.holds(*_names(document)):
            _assert_does_nothing(program, [document], "(), ()", saxon)


@_SETTINGS
@given(body=_slice_bodies(), slices=st.lists(st.lists(_documents(), min_size=1, max_size=3), min_size=1, max_size=6))
def test_what_is_skipped_for_its_slice_does_nothing(body: str, slices: list[list[str]], saxon: Any) -> None:
    program = _program(f"create rule r for slices {body}")
    if program is None:
        return
    rule = program.rules[-1]
    for members in slices:
        roots = [_names(member)[0] for member in members]
        known = rule.skip.holds(*_names(members[-1]), frozenset(roots))
        if not known:
            event("skipped for its slice" if rule.skip.holds(*_names(members[-1])) else "skipped for its names")
            _assert_does_nothing(program, members, "$members, 'k'", saxon)
        for unknown in range(len(roots)):
            some = frozenset(None if number == unknown else root for number, root in enumerate(roots))
            assert rule.skip.holds(*_names(members[-1]), some) >= known


def _program(text: str) -> Program | None:
    """None if it has an error: a comparison that can never hold is one of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return check_text(Path(folder), text).program


def _names(document: str) -> tuple[str, frozenset[str]]:
    root = ElementTree.fromstring(document)
    return root.tag, frozenset(element.tag for element in root.iter())


def _assert_does_nothing(program: Program, members: list[str], slice_: str, saxon: Any) -> None:
    """The last rule, for the last of the members, given that slice and key."""
    rule = program.rules[-1]
    parsed = ", ".join(f'parse-xml("{member}")' for member in members)
    query = (
        program.modules["main"].prolog
        + f"let $members := ({parsed}) return "
        + f"count(({rule.query.text})($members[last()], {slice_}, {VIEW}, current-dateTime()))"
    )
    processor = saxon.new_xquery_processor()
    processor.set_query_content(query)
    told = f"{rule.query.text} is skipped on {members} ({rule.skip.describe()})"
    try:
        actions = str(processor.run_query_to_value())
    except PySaxonApiError as error:
        pytest.fail(f"{told}, but raises {error}")
    assert actions == "0", f"{told}, but acts"
