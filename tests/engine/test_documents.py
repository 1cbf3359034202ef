"""The documents of new messages are kept until they are processed, and nobody can tell."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, settings

from demaq.engine.documents import Documents, _size
from demaq.engine.plan import Plan
from demaq.store import MemoryStore
from demaq.xquery.saxon import Saxon
from engine.random_programs import Story, stories
from engine.test_differences import a_plan, played
from property.effort import scaled
from running import Running, plan_from

QUEUES = """
declare namespace p = "http://example.org/p";
create queue inbox kind basic mode persistent
create queue work kind basic mode persistent
create queue out kind outgoingGateway mode persistent
create property k as xs:string queue work value */@k
create slicing ks on k
create rule forget for ks if (/end) then do reset
"""


@contextmanager
def every_message_parsed() -> Iterator[None]:
    with patch.object(Documents, "add"):
        yield


def parsed(plan: Plan, *bodies: str) -> list[str]:
    """The texts that are parsed while messages are processed."""
    found: list[str] = []
    document = Saxon.document

    def noted(self: Saxon, text: str) -> object:
        found.append(text)
        return document(self, text)

    with patch.object(Saxon, "document", noted):
        running = Running(plan)
        running.send("inbox", *bodies)
        found.clear()
        running.run()
    return found


@pytest.mark.parametrize(
    "body",
    [
        "<work k='1'><a>{//a/text()}</a></work>",
        ".",
        "/m",
        "//a",
        "(<work/>, <work k='2'/>)[2]",
        "document { <work k='2'/> }",
        "let $w := <work k='1'/> return $w",
    ],
)
def test_what_a_rule_makes_is_not_parsed(tmp_path: Path, body: str) -> None:
    rule = f"create rule r for inbox if (/m) then do enqueue {body} into work\n"
    look = "create rule look for work if (count(/*) = 1) then do enqueue <seen/> into out"  # it is never skipped
    plan = plan_from(tmp_path, QUEUES + rule + look)
    assert parsed(plan, "<m k='1'><a k='2'>x</a></m>") == []
    with every_message_parsed():
        assert len(parsed(plan, "<m k='1'><a k='2'>x</a></m>")) == 2


def test_what_would_be_parsed_as_something_else_is_parsed(tmp_path: Path) -> None:
    bodies = ("document { ' ', <w/>, ' ' }", "document { <!-- c -->, <w/> }", "document { <w/>, <?p i?> }")
    rules = "".join(
        f"create rule r{number} for inbox if (/m) then do enqueue {body} into work\n"
        for number, body in enumerate(bodies)
    )
    rules += "create rule c for work if (/w) then do enqueue <n>{count(/node())}</n> into out"
    plan = plan_from(tmp_path, QUEUES + rules)
    assert len(parsed(plan, "<m/>")) == len(bodies)
    running = Running(plan)
    running.play("inbox", "<m/>")
    assert running.bodies("out") == ["<n>1</n>", "<n>2</n>", "<n>2</n>"]


# What is made of a message, and what can be asked of it. Some of it tells built documents from parsed ones.
MADE = (
    "<work k='1'><a>{//a/text()}</a></work>",
    ".",
    "/m/w",
    "<work k='1' xmlns='http://example.org/d' xmlns:q='http://example.org/q'><q:a/>{/m}</work>",
    "<p:work k='1' xml:id='i'>{attribute xml:lang {'de'}, //a, text {''}, 'x', <b xml:id='j'> y&#13; </b>}</p:work>",
    "element work { attribute k { 1 }, //a/@*, ' &#9;', comment { 'c' }, processing-instruction pi { 'x' } }",
    "<work k='1' xml:base='http://example.org/b'><a>&lt;&amp;&#xA0;</a></work>",
    "let $same := <work k='1'>{//a}</work> return ($same, $same)[1]",
)
ASKED = (
    "base-uri(/)",
    "base-uri(/*)",
    "document-uri(/)",
    "count(/node())",
    "count(/*/node())",
    "sort(in-scope-prefixes(/*))",
    "/*/* ! string-join(sort(in-scope-prefixes(.)))",
    "id('i') ! name()",
    "path((//a)[1])",
    "lang('de', /*)",
    "/*/node() ! string-length(.)",
    "//@* ! concat(name(), '=', .)",
    "string-length(serialize(/))",
    "namespace-uri(/*)",
    "/*[name() = 'work'] ! namespace-uri-for-prefix('q', .)",
    "count(qs:slice() | ())",
    "qs:slice()/* ! name()",
    "(qs:slice()//a | qs:slice()//text()) ! name()",
    "for $s at $n in qs:slice() return every $t in qs:slice()[position() < $n] satisfies $t << $s",
    "qs:slice()[last()] is root(.)",
    "count(qs:queue('work')//a)",
)


@pytest.mark.parametrize(
    "asked", [ASKED, *((one,) for one in ASKED)], ids=lambda asked: asked[0] + "…" * len(asked[1:])
)
def test_nobody_can_tell(tmp_path: Path, asked: tuple[str, ...]) -> None:
    text = QUEUES
    for number, body in enumerate(MADE):
        text += f"\ncreate rule m{number} for inbox if (/m) then do enqueue ({body}) into work"
    text += "\ncreate rule twice for inbox if (/m) then let $w := <work k='1'/> return"
    text += " (do enqueue $w into work, do enqueue $w into work)"
    for number, expression in enumerate(asked):
        text += f"\ncreate rule a{number} for ks if (/*) then do enqueue <x n='{number}'>{{{expression}}}</x> into out"
    plan = plan_from(tmp_path, text)
    messages = [f"<m><a q='{n}'>{n}</a><w k='1'><a/></w></m>" for n in range(3)]
    logs = []
    for batch in (1, 100):
        running = Running(plan, batch=batch)
        running.send("inbox", *messages)
        running.run()
        logs.append(running.log()["messages"])
        with every_message_parsed():
            running = Running(plan, batch=batch)
            running.send("inbox", *messages)
            running.run()
            logs.append(running.log()["messages"])
    assert logs[0] == logs[1] == logs[2] == logs[3]
    assert any("<x n=" in str(row) for row in logs[0])


@settings(max_examples=scaled(15))
@given(stories())
def test_random_programs_give_the_same_log(story: Story) -> None:
    with a_plan(story) as plan:
        running = Running(plan)
        played(running, story)
        with every_message_parsed():
            expected = Running(plan)
            played(expected, story)
        assert running.log() == expected.log()


def test_documents_are_kept_for_the_messages_that_come_next() -> None:
    saxon = Saxon()
    documents = Documents(saxon.document, None, bound=80_000)
    documents.read_by(MemoryStore())
    bodies = [f"<m n='{number}'/>" for number in range(100, 130)]
    for body in bodies:
        documents.add(body, saxon.document(body))
    with patch.object(documents, "_parse", side_effect=AssertionError):
        documents.keep({1: bodies[0], 2: bodies[1]})
        with pytest.raises(AssertionError):
            documents.keep({3: bodies[-1]})  # there was no room for it
        with pytest.raises(AssertionError):
            documents.keep({4: bodies[0]})  # it is the document of message 1
        documents.add("<m>" + "x" * 10_000 + "</m>", None)
        documents.keep({5: bodies[2]})


def test_documents_of_messages_that_never_come_are_forgotten() -> None:
    saxon = Saxon()
    documents = Documents(saxon.document, None, bound=80_000)
    documents.read_by(MemoryStore())
    documents.add("<never/>", saxon.document("<never/>"))
    documents.trim()
    with patch.object(documents, "_parse", side_effect=AssertionError), patch("demaq.engine.documents._LATE", 3):
        for number in range(4):
            documents.add(f"<m n='{number}'/>", None)
        documents.trim()
        with pytest.raises(AssertionError):
            documents.keep({1: "<never/>"})


def test_documents_of_messages_that_no_rule_will_see_again_are_forgotten(tmp_path: Path) -> None:
    rules = "create rule go for inbox if (/m) then do enqueue <work k='{/m/@k}'/> into work"
    rules += "\ncreate rule end for inbox if (/last) then do enqueue <end k='{/last/@k}'/> into work"
    rules += "\ncreate rule look for ks if (/work/@never) then do enqueue <x/> into out"
    kept: list[Documents] = []
    made = Documents.__init__

    def noted(self: Documents, *given: object) -> None:
        kept.append(self)
        made(self, *given)  # type: ignore[arg-type]

    with patch.object(Documents, "__init__", noted):
        running = Running(plan_from(tmp_path, f"{QUEUES}\n{rules}"))
        running.send("inbox", "<m k='1'/>", "<m k='2'/>", "<m k='2'/>")
        running.run()
        (documents,) = kept
        assert documents.size == 3 * _size("<work k='1'/>")  # those of the slices, and not those of the inbox
        running.send("inbox", "<last k='2'/>")
        running.run()
        assert documents.size == _size("<work k='1'/>")
