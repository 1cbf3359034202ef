"""Rules that are skipped for the root elements in their slice: nothing is read or parsed for them."""

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings

from demaq.engine.documents import Documents
from demaq.engine.executor import InlineExecutor
from demaq.engine.plan import Plan, plan_from_text
from demaq.engine.roots import root_in
from demaq.model import Message
from demaq.store import HEAD, MemoryStore
from engine.random_programs import Story, stories
from engine.test_differences import a_plan, played
from property.effort import scaled
from running import Running, Start, plan_from

JOIN = """
create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create property key as xs:string fixed queue inbox value /*/@k
create slicing byKey on key
create rule join for byKey
if (qs:slice()[/a] and qs:slice()[/b] and not(qs:slice()[/c or /d])) then
  do enqueue <joined>{qs:slice()/*/@n ! string(.)}</joined> into out
create rule end for byKey if (qs:slice()/c) then do reset
"""
KEYED = (
    JOIN
    + """
create rule find for inbox
if (/f) then do enqueue <f>{qs:queue("inbox")[//@k = qs:message()/*/@k]/*/@n ! string(.)}</f> into out
"""
)


class Watched(MemoryStore):
    """Notes what is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[int] = []
        self.looked_at: list[int] = []

    def messages(self, ids: Collection[int], *, light: bool = False) -> Mapping[int, Message]:
        self.read += [] if light else ids
        return super().messages(ids, light=light)

    def heads(self, ids: Collection[int]) -> Mapping[int, str]:
        self.looked_at += ids
        return super().heads(ids)


def watched(folder: Path, text: str, batch: int = 1) -> tuple[Running, Watched]:
    store = Watched()
    return Running(plan_from(folder, text), store, InlineExecutor(store), batch=batch), store


def messages(*tags: str) -> list[str]:
    return [f'<{tag} n="{n}" k="x"/>' for n, tag in enumerate(tags)]


def parsed_for(running: Running, *bodies: str) -> int:
    """How many documents of the inbox are made for messages."""
    running.send("inbox", *bodies)
    with patch.object(Documents, "_put", autospec=True, side_effect=Documents._put) as put:
        running.run()
    return sum('k="x"' in call.args[2] for call in put.call_args_list)


@pytest.mark.parametrize("batch", [1, 3, 256])
def test_a_join_is_done_when_the_slice_is_complete(start: Start, batch: int) -> None:
    running = start(JOIN, batch=batch)
    running.send("inbox", *messages("a", "z", "b", "c", "a", "b", "b", "d", "a"))
    running.run()
    assert running.bodies("out") == ["<joined>0 1 2</joined>", "<joined>4 5</joined>", "<joined>4 5 6</joined>"]


def test_a_slice_that_is_not_complete_is_neither_read_nor_parsed(tmp_path: Path) -> None:
    running, store = watched(tmp_path, JOIN)
    assert parsed_for(running, *messages("a", "a", "z")) == 0
    assert store.read == []
    assert parsed_for(running, *messages("b")) == 4
    assert running.bodies("out") == ["<joined>0 1 2 0</joined>"]


def test_root_elements_of_members_are_asked_for_once(tmp_path: Path) -> None:
    running, store = watched(tmp_path, JOIN)
    running.play("inbox", *messages("a", "z", "a"))
    assert store.looked_at == []  # all were processed here
    running.executor.load(running.engine.plan)
    running.play("inbox", *messages("z", "z"))
    assert store.looked_at == [1, 2, 3]
    assert store.read == []


def test_values_of_indexed_paths_are_found_nevertheless(tmp_path: Path) -> None:
    running, _ = watched(tmp_path, KEYED)
    running.play("inbox", *messages("z", "y", "f"))
    assert running.bodies("out") == ["<f>0 1 2</f>"]


@pytest.mark.parametrize(
    "first", ['<a xmlns="" n="0" k="x"/>', f'<a long="{"." * HEAD}" n="0" k="x"/>', '<!--c--><a n="0" k="x"/>']
)
def test_a_root_element_that_is_not_certain_may_be_any(start: Start, first: str) -> None:
    running = start(JOIN, batch=1)
    running.play("inbox", first, '<b n="1" k="x"/>')
    assert running.bodies("out") == ["<joined>0 1</joined>"]


def test_names_of_other_namespaces_are_other_names(start: Start) -> None:
    running = start(JOIN, batch=1)
    running.play("inbox", '<a xmlns="urn:u" n="0" k="x"/>', '<p:c xmlns:p="urn:u" n="1" k="x"/>', *messages("b", "a"))
    assert running.bodies("out") == ["<joined>0 1 0 1</joined>"]


def test_what_a_reset_in_the_batch_takes_away_counts_no_more(tmp_path: Path) -> None:
    """The second `a` and `b` are skipped for the `c` of before, until it is reset; so they are evaluated again."""
    tags = ("a", "c", "a", "b", "c", "b", "a", "d", "c", "a", "b")
    logs = [Running(plan_from(tmp_path, JOIN), batch=batch) for batch in (1, 2, 5, 256)]
    for running in logs:
        running.send("inbox", *messages(*tags))
        running.run()
    assert logs[0].bodies("out") == ["<joined>2 3</joined>", "<joined>5 6</joined>", "<joined>9 10</joined>"]
    assert all(running.log() == logs[0].log() for running in logs)


def test_a_plan_of_an_earlier_version_is_evaluated_as_it_was(tmp_path: Path) -> None:
    plan = plan_from(tmp_path, JOIN)
    assert plan_from_text(plan.text).rules == plan.rules
    earlier = plan_from_text(_without_skip(plan.text))
    logs: list[Any] = []
    for one in (plan, earlier):
        running = Running(one)
        running.play("inbox", *messages("a", "b", "c", "b", "a"))
        logs.append(running.log())
    assert logs[0] == logs[1]


def _without_skip(text: str) -> str:
    data = json.loads(text)
    data["rules"] = [{**rule, "skip": True} for rule in data["rules"]]
    return json.dumps(data)


@pytest.mark.parametrize(
    ("head", "root"),
    [
        ("<a/>", "a"),
        ("<a>", "a"),
        ("<a ><b", "a"),
        ("<a b='>' c=\"'/>\">", "a"),
        ("<a\n b = '1'\n/>", "a"),
        ("<ä.b-c>", "ä.b-c"),
        ("<a", None),
        ("<a b='1'", None),
        ("<a b='xx>", None),
        ("<p:a>", None),
        ("<a xmlns='urn:u'>", None),
        ("<a b='1' xmlns:p='urn:u'>", None),
        ("<?xml version='1.0'?><a/>", None),
        ("<!--<a>--><a/>", None),
        (" <a/>", None),
        ("", None),
    ],
)
def test_the_root_element_is_found_if_it_is_certain(head: str, root: str | None) -> None:
    assert root_in(head) == root


def test_a_rule_that_was_skipped_acts_after_a_reset_in_the_same_batch(tmp_path: Path) -> None:
    """No other rule on the slicing is evaluated for the message: the skipped one alone makes it depend on the slice."""
    text = """
create queue inbox kind basic mode persistent
create queue out kind outgoingGateway mode persistent
create property k as xs:string queue inbox value */@k
create slicing ks on k
create rule forget for ks if (/end) then do reset
create rule once for ks if (/m and not(qs:slice()[/done])) then do enqueue <fired/> into out
"""
    plan = plan_from(tmp_path, text)
    for batch in (1, 100):
        running = Running(plan, batch=batch)
        running.play("inbox", "<done k='1'/>", "<m k='1'/>")
        assert running.bodies("out") == []
        running.send("inbox", "<end k='1'/>", "<m k='1'/>")
        running.run()
        assert running.bodies("out") == ["<fired/>"]


# Members that no rule looks into

LOOKING = """
create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create property key as xs:string fixed queue inbox value /*/@k
create slicing byKey on key
create rule end for byKey if (qs:slice()/end) then do reset
create rule look for byKey if (qs:slice()/c) then do enqueue <found>{EXPRESSION}</found> into out
"""
EXPRESSIONS = (
    "qs:slice()/a/@n/string()",
    "qs:slice()[/a]/*/@n/string(), count(qs:slice()[/b or /a])",
    "qs:slice()[/a][2]/a/@n/string()",
    "(qs:slice()/a)[last()]/@n/string()",
    "for $c at $place in qs:slice()[/a] return ($place, $c/a/@n/string())",
    "qs:slice()[a/@n > 1]/a[1]/@n/string(), qs:slice()/c[../c]/root()/c/@n/string()",
    "qs:slice()[/a and position() = 2]/a/@n/string()",
    "qs:slice()[/b][qs:message()/c]/b/@n/string()",
    "qs:slice()[qs:message()/c]/*/@n/string()",
    "qs:slice()/a ! qs:property('sys:queue', .), count(qs:slice()/b/preceding::node())",
    "(qs:slice()/b | qs:slice()/a)/@n/string()",
)


def without_projection(plan: Plan) -> Plan:
    return replace(plan, rules=tuple(replace(rule, members=None) for rule in plan.rules))


def test_members_that_no_rule_looks_into_are_neither_read_nor_parsed(tmp_path: Path) -> None:
    running, store = watched(tmp_path, LOOKING.replace("EXPRESSION", EXPRESSIONS[0]))
    assert parsed_for(running, *messages("a", "b", "b", "z", "b")) == 0
    assert parsed_for(running, *messages("c")) == 2
    assert store.read == [1]
    assert running.bodies("out") == ["<found>0</found>"]


@pytest.mark.parametrize("batch", [1, 4, 256])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_nobody_can_tell_that_members_are_missing(expression: str, batch: int, tmp_path: Path) -> None:
    plan = plan_from(tmp_path, LOOKING.replace("EXPRESSION", expression))
    logs = []
    for one in (plan, without_projection(plan)):
        running = Running(one, batch=batch)
        for _ in range(2):
            running.play("inbox", *messages(*"abzabcacbbcz", "end", *"cabc"))
        logs.append(running.log())
    assert logs[0] == logs[1]
    assert any("<found>" in str(row) for row in logs[0]["messages"])


def test_random_programs_look_into_the_same_members() -> None:
    projected = 0

    @settings(max_examples=scaled(25))
    @given(stories())
    def same(story: Story) -> None:
        nonlocal projected
        with a_plan(story) as plan:
            projected += any(rule.members is not None for rule in plan.rules)
            logs = []
            for one in (plan, without_projection(plan)):
                running = Running(one)
                played(running, story)
                logs.append(running.log())
            assert logs[0] == logs[1]

    same()
    assert projected


def test_a_plan_of_an_earlier_version_has_no_projection(tmp_path: Path) -> None:
    plan = plan_from(tmp_path, JOIN)
    data = json.loads(plan.text)
    assert data["rules"][1]["members"] == ["c"]
    for rule in data["rules"]:
        del rule["members"]
    assert plan_from_text(json.dumps(data)) == without_projection(plan)
