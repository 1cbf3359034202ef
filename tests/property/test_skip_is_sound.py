"""A rule that its skip condition excludes would have done nothing: no action, and no error."""

import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from saxonche import PySaxonApiError, PySaxonProcessor

from applications import check_text
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


def _conditions() -> st.SearchStrategy[str]:
    return st.recursive(
        st.one_of(
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


@settings(
    max_examples=scaled(400), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(body=_bodies(), documents=st.lists(_documents(), min_size=1, max_size=4))
def test_what_is_skipped_does_nothing(body: str, documents: list[str], saxon: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        checked = check_text(Path(folder), f"create rule r for work {body}")
    if checked.program is None:  # a comparison that can never hold is an error of its own
        return
    rule = checked.program.rules[-1]
    for document in documents:
        root = ElementTree.fromstring(document)
        names = frozenset(element.tag for element in root.iter())
        if rule.skip.holds(root.tag, names):
            continue
        query = (
            checked.program.modules["main"].prolog
            + f'count(({rule.query.text})(parse-xml("{document}"), (), (), {VIEW}, current-dateTime()))'
        )
        processor = saxon.new_xquery_processor()
        processor.set_query_content(query)
        try:
            actions = str(processor.run_query_to_value())
        except PySaxonApiError as error:
            pytest.fail(f"{body} on {document} is skipped ({rule.skip.describe()}), but raises {error}")
        assert actions == "0", f"{body} on {document} is skipped ({rule.skip.describe()}), but acts"
