"""The generated XQuery does what the rule says: it is run here, by Saxon, on real messages."""

from pathlib import Path
from typing import Any

import pytest
from saxonche import PySaxonApiError, PySaxonProcessor

from applications import compile_text
from demaq.language.program import Program

VIEW = """
map {
  "queue" : function($name) { map { "work" : (parse-xml('<a><id>1</id></a>'), parse-xml('<b/>')) }($name) },
  "lookup" : function($queue, $path, $keys) {
    if (empty($keys)) then (parse-xml('<a><id>1</id></a>'), parse-xml('<no/>'))
    else parse-xml('<a><id>' || string-join(($queue, $path, $keys?*), " ") || '</id><id>1</id></a>')
  },
  "collection" : function($name) { parse-xml('<prices><price sku="x">3</price></prices>') },
  "property" : function($name) { map { "sys:queue" : "work", "sys:id" : 7, "flag" : true() }($name),
    if ($name = "sys:sender") then error(QName("http://demaq.org/runtime", "missing"), "more, please") else () },
  "property-of" : function($name, $root) { name($root/*) || "-" || $name }
}
"""


@pytest.fixture(scope="module")
def saxon() -> Any:
    return PySaxonProcessor(license=False)


def run(saxon: Any, program: Program, message: str, *, slice_: str = "()", key: str = "()") -> list[str]:
    """The pending actions of the last rule for a message, each serialised."""
    rule = program.rules[-1]
    query = (
        program.modules[rule.module].prolog
        + f"let $f := {rule.query.text} return "
        + f"for $action in $f(parse-xml('{message}'), {slice_}, {key}, {VIEW}, xs:dateTime(\"2007-01-10T12:00:00Z\"))"
        + ' return serialize($action, map { "method" : "adaptive", "indent" : false() })'
    )
    processor = saxon.new_xquery_processor()
    processor.set_query_content(query)
    result = processor.run_query_to_value()
    return [] if result is None else [str(item) for item in result]


def test_an_enqueue_is_a_pending_action(saxon: Any, tmp_path: Path) -> None:
    program = compile_text(
        tmp_path, 'create rule r for work if (//a) then do enqueue <x>{//id}</x> into outbox with To value "me"'
    )
    (action,) = run(saxon, program, "<a><id>1</id></a>")
    assert action == '["enqueue","outbox",<x><id>1</id></x>,map{"To":"me"},true()]'
    assert run(saxon, program, "<b/>") == []


def test_actions_keep_their_order(saxon: Any, tmp_path: Path) -> None:
    program = compile_text(
        tmp_path,
        "create rule r for slices if (/a) then let $n := 1 return "
        "do enqueue <one/> into outbox, do reset, do enqueue <two/> into outbox, do reset slices key 5",
    )
    actions = run(saxon, program, "<a/>", key='"k"')
    assert [("one" in a, "two" in a, "reset" in a) for a in actions] == [
        (True, False, False),
        (False, False, True),
        (False, True, False),
        (False, False, True),
    ]
    assert actions[1] == '["reset","slices","k"]'
    assert actions[3] == '["reset","slices","5"]'


@pytest.mark.parametrize(
    ("body", "is_built"),
    [
        ("do enqueue <x/> into outbox", True),
        ("do enqueue element x { //id } into outbox", True),
        ("let $x := <x/> return do enqueue $x into outbox", True),
        ("let $x := <x/> return (do enqueue $x into outbox, do enqueue $x into work)", True),
        ("for $n in //id let $x := <x>{$n}</x> return do enqueue $x into outbox", True),
        ("let $x := <x/> return do enqueue <y>{$x, $x/..}</y> into outbox", True),
        ("local:send()", True),
        ("do enqueue . into outbox", False),
        ("do enqueue /a/id into outbox", False),
        ("do enqueue (if (/a) then <x/> else <y/>) into outbox", False),
        ("let $x := <x/> return (do enqueue $x into outbox, do enqueue <y>{$x/..}</y> into outbox)", False),
        (
            "let $x := <x/> let $y := $x return (do enqueue $y into outbox, do enqueue <y>{$x/..}</y> into work)",
            False,
        ),
        ("let $x as element() := <x/> return do enqueue $x into outbox", False),
        ("for $n in //id let $x := <x/> group by $k := string($n) return do enqueue $x into outbox", False),
    ],
)
def test_an_element_that_is_only_enqueued_is_built_as_a_document(
    saxon: Any, tmp_path: Path, body: str, *, is_built: bool
) -> None:
    program = compile_text(
        tmp_path,
        """declare %updating function local:send() { let $x := <x/> return do enqueue $x into outbox };
        create rule other for work if (/other) then local:send()
        create rule r for work if (/a) then """
        + body,
    )
    first, *_ = run(saxon, program, "<a><id>1</id></a>")
    assert first.startswith('["enqueue","outbox",')
    assert first.endswith(",true()]") == is_built


@pytest.mark.parametrize("setting", ["construction preserve", "copy-namespaces no-preserve, no-inherit"])
def test_where_copies_differ_elements_are_not_built_as_documents(tmp_path: Path, setting: str) -> None:
    program = compile_text(
        tmp_path, f"declare {setting}; create rule r for work if (/a) then do enqueue <x/> into outbox"
    )
    assert "document {" not in program.rules[-1].query.text


def test_functions_get_what_they_need_as_hidden_parameters(saxon: Any, tmp_path: Path) -> None:
    program = compile_text(
        tmp_path,
        """
        declare function local:id() { qs:message()//id };
        declare function local:twice($n) { ($n, local:id()) };
        declare %updating function local:send($text as xs:string) {
          do enqueue <x key="{qs:slicekey()}">{$text, local:twice("n"), count(qs:slice())}</x> into outbox
        };
        create rule r for slices if (/a) then local:send(string(current-dateTime()))
        """,
    )
    (action,) = run(saxon, program, "<a><id>1</id></a>", slice_="(parse-xml('<m/>'), parse-xml('<m/>'))", key='"k"')
    assert '<x key="k">2007-01-10T12:00:00Z n<id>1</id>2</x>' in action


def test_references_to_functions_with_hidden_parameters(saxon: Any, tmp_path: Path) -> None:
    program = compile_text(
        tmp_path,
        """
        declare function local:add($n as xs:integer) as xs:integer { $n + count(qs:message()//id) };
        create rule r for work
        if (/a) then
          do enqueue <x>{(1, 2) ! local:add(.), for-each((3, 4), local:add#1), 5 => local:add()}</x> into outbox
        """,
    )
    (action,) = run(saxon, program, "<a><id/></a>")
    assert "<x>2 3 4 5 6</x>" in action


def test_queues_properties_collections_and_time(saxon: Any, tmp_path: Path) -> None:
    (tmp_path / "prices.xml").write_text("<prices/>")
    program = compile_text(
        tmp_path,
        """
        create collection prices from "prices.xml"
        create property flag as xs:boolean queue work value false
        create rule r for work
        if (qs:property("flag")) then
          do enqueue <x>{
            count(qs:queue()), count(qs:queue("work")[//id = "1"]), qs:property("sys:id"),
            qs:property("sys:rule", qs:queue("work")[2]/b), string(collection("prices")//price),
            current-date(), current-time()
          }</x> into outbox
        """,
    )
    (action,) = run(saxon, program, "<a/>")
    assert "<x>2 1 7 b-sys:rule 3 2007-01-10Z 12:00:00Z</x>" in action


@pytest.mark.parametrize(
    ("condition", "given"),
    [
        ('qs:queue("work")[//id = "1"]', "work //id 1"),
        ('qs:queue("work")[//id = (qs:message()//id, "1")]', "work //id 7 1"),
        ("qs:queue()[.//id = ('1', 1)[1]]", "work //id 1"),
        ('let $q := qs:queue("work") let $n := $q/a return $n[id = "1"]', "work /a/id 1"),
        ('for $k in /a/id[1] return qs:queue("work")[/a/id = ($k, "1")]', "work /a/id 7 1"),
        ('for $m in qs:queue("work")/a where $m/id = (/a/id, "1") return $m', "work /a/id 7 1"),
        ('for $k in /a/id for $m in qs:queue("work") where ($k, "1") = $m/a/id return $m', "work /a/id 7 1"),
    ],
)
def test_messages_are_looked_up_by_key(saxon: Any, tmp_path: Path, condition: str, given: str) -> None:
    program = compile_text(
        tmp_path,
        "create rule r for work if (/a) then do enqueue <x>{"
        f"let $found := ({condition}) return $found//text()[not(. = '1')]}}</x> into outbox",
    )
    (action,) = run(saxon, program, "<a><id>7</id></a>")
    assert f"<x>{given}</x>" in action


def test_a_key_that_cannot_be_computed_leaves_the_error_to_the_predicate(saxon: Any, tmp_path: Path) -> None:
    program = compile_text(
        tmp_path,
        "create rule r for work if (/a) then "
        'do enqueue <x>{qs:queue("work")[/never and //id = xs:integer(qs:message()//id)]}</x> into outbox',
    )
    (action,) = run(saxon, program, "<a><id>none</id></a>")
    assert "<x/>" in action


def test_what_the_view_asks_for_is_not_caught(saxon: Any, tmp_path: Path) -> None:
    program = compile_text(
        tmp_path,
        "create rule r for work if (/a) then do enqueue <x>{"
        'try { qs:property("sys:sender") } catch * { "caught" }, try { 1 div 0 } catch err:FOAR0001 { "own" }}</x>'
        " into outbox",
    )
    with pytest.raises(PySaxonApiError, match="more, please"):
        run(saxon, program, "<a/>")
    text = program.rules[-1].query.text
    assert text.count("try") == 2


def test_explicit_properties_are_cast_to_their_type(saxon: Any, tmp_path: Path) -> None:
    program = compile_text(
        tmp_path,
        """
        create property n as xs:integer queue other
        create property b as xs:boolean queue other
        create rule r for work if (/a and qs:property("n") or true()) then
          do enqueue <x/> into other with n value //id with b value true
        create rule s for other if (qs:property("n") and qs:property("b")) then do enqueue <y/> into outbox
        create rule t for work if (/a) then
          do enqueue <x/> into other with n value //id with b value true
        """,
    )
    (action,) = run(saxon, program, "<a><id> 42 </id></a>")
    assert '"n":42' in action
    assert '"b":true()' in action


def test_an_absent_else_gives_nothing(saxon: Any, tmp_path: Path) -> None:
    program = compile_text(
        tmp_path,
        "create rule r for work if (/a) then (if (//b) then do enqueue <b/> into outbox, "
        "switch (//c) case 'x' return do enqueue <c/> into outbox default return ())",
    )
    assert run(saxon, program, "<a/>") == []
    assert len(run(saxon, program, "<a><b/><c>x</c></a>")) == 2


def test_prefixes_that_elements_redefine_do_no_harm(saxon: Any, tmp_path: Path) -> None:
    program = compile_text(
        tmp_path,
        'create rule r for work if (/a) then do enqueue <x xmlns:demaq="urn:1" xmlns:xs="urn:2" xmlns:fn="urn:3">'
        '{string(qs:message()//id)}</x> into outbox with To value "t"',
    )
    (action,) = run(saxon, program, "<a><id>1</id></a>")
    assert ">1</x>" in action


def test_computed_properties_are_functions_of_the_message(saxon: Any, tmp_path: Path) -> None:
    program = compile_text(
        tmp_path,
        """
        create property total as xs:decimal fixed queue work value sum(//n/xs:decimal(.))
        create property none as xs:date queue work value //nothing
        create slicing t on total create slicing n on none
        create rule r for t if (/a) then do reset
        create rule s for n if (/a) then do reset
        """,
    )
    (total,) = [value for value in program.values if value.property == "total"]
    (none,) = [value for value in program.values if value.property == "none"]
    for value, expected in ((total, "3.5"), (none, "")):
        processor = saxon.new_xquery_processor()
        processor.set_query_content(
            program.modules["main"].prolog
            + f"string(({value.query.text})(parse-xml('<a><n>1</n><n>2.5</n></a>'), map {{}}, current-dateTime()))"
        )
        assert str(processor.run_query_to_value()) == expected
