"""What people are told of an application and its rules."""

from pathlib import Path

import pytest

from applications import compile_rule, compile_text
from demaq.engine import evaluator
from demaq.language.explain import flow, plan, program_data, queue_data, queue_plan, rule_data
from demaq.language.explain.names import Names
from demaq.language.explain.queue import FETCHED
from demaq.language.program import ModuleProgram, Program


def explained(program: Program, heading: str) -> list[str]:
    """The lines under a heading in the plan of the last rule."""
    lines = plan(program.rules[-1], program).split("\n\n")[1].splitlines()
    headings = [line[:10].strip() for line in lines]
    first = headings.index(heading)
    rest = next((at for at, other in enumerate(headings[first + 1 :], first + 1) if other), len(lines))
    return [line[11:] for line in lines[first:rest]]


IN_NAMESPACES = """
declare namespace p = "urn:p"; declare default element namespace "urn:d";
create queue p:desk kind basic mode persistent
create property p:ticket as xs:string fixed queue p:desk value //p:ticket
create slicing p:tickets on p:ticket
create rule p:open for inbox if (/p:order) then do enqueue <p:order/> into p:desk
create rule p:close for p:tickets
if (/p:order//item or /p:done) then
  let $same := qs:queue("p:desk")[//p:ticket = qs:message()//p:ticket]
  return (do enqueue <p:closed>{$same}</p:closed> into outbox, do enqueue <item/> into outbox, do reset)
"""


class TestNames:
    def module(self, name: str, **namespaces: str) -> ModuleProgram:
        return ModuleProgram(name=name, prolog="", namespaces=namespaces, errorqueue=None)

    def test_prefixes_stand_for_namespaces(self) -> None:
        names = Names([self.module("a", p="urn:p", q="urn:q")])
        assert names("//Q{urn:p}a/Q{urn:p}* = Q{urn:x}b") == "//p:a/p:* = Q{urn:x}b"
        assert names("local, *:any, Q{}none") == "local, *:any, Q{}none"

    def test_only_what_was_used_is_told(self) -> None:
        names = Names([self.module("a", p="urn:p", q="urn:q", r="urn:r")])
        assert names.meanings() == ""
        names("Q{urn:q}x, Q{urn:p}y, Q{urn:z}z")
        assert names.meanings() == "p = urn:p, q = urn:q"

    def test_a_prefix_means_one_thing(self) -> None:
        first, second = self.module("a", p="urn:a"), self.module("b", p="urn:b")
        names = Names([first, second, self.module("c", p="urn:c", o="urn:c")])
        assert names("Q{urn:a}x Q{urn:b}x Q{urn:c}x") == "p:x Q{urn:b}x o:x"

    def test_the_module_of_a_rule_comes_first(self, tmp_path: Path) -> None:
        shop, rule = 'declare namespace p = "urn:{0}"; ', "create rule p:{0} for {1} if (/p:x) then do enqueue {2}\n"
        queues = "create queue a kind incomingGateway create queue b kind outgoingGateway\n"
        (tmp_path / "a.demaq").write_text(shop.format("a") + queues + rule.format("one", "a", "<p:y/> into b"))
        program = compile_text(tmp_path, shop.format("main") + rule.format("two", "a", "<p:y/> into b"), queues=False)
        for each, uri in zip(program.rules, ("urn:a", "urn:main"), strict=True):
            printed = plan(each, program)
            assert "the message has root element `p:x`" in printed
            assert f"prefixes   p = {uri}\n" in printed


class TestNamespaces:
    def test_of_a_plan(self, tmp_path: Path) -> None:
        program = compile_text(tmp_path, IN_NAMESPACES)
        assert plan(program.rules[-1], program).startswith("rule p:close  module main")
        assert explained(program, "trigger") == ["a message in a slice of p:tickets (by p:ticket; queues p:desk)"]
        assert explained(program, "skip") == [
            "not evaluated unless the message has (root element `p:order` and an element `Q{urn:d}item`)"
            " or root element `p:done`"
        ]
        assert (
            "the queue p:desk, by index: //p:ticket = qs:message()//p:ticket"
            " (known before the rule runs; fetched together for up to 1,000 messages of a batch)"
        ) in explained(program, "reads")
        assert explained(program, "writes")[:2] == ["<p:closed> into outbox", "<Q{urn:d}item> into outbox"]
        assert explained(program, "prefixes") == ["p = urn:p"]

    def test_of_the_flow(self, tmp_path: Path) -> None:
        printed = flow(compile_text(tmp_path, IN_NAMESPACES))
        assert "▣ p:desk  in slices of p:tickets" in printed
        assert "≡ p:tickets  slicing by p:ticket, of p:desk\n└─ p:close ──▶ outbox <p:closed>, " in printed
        assert printed.endswith("\n\nprefixes: p = urn:p")
        assert "Q{urn:p}" not in printed

    def test_without_any_nothing_is_said_of_prefixes(self, tmp_path: Path) -> None:
        program = compile_text(tmp_path, "")
        assert "prefixes" not in flow(program)
        assert "prefixes" not in plan(program.rules[-1], program)

    def test_data_has_full_names(self, tmp_path: Path) -> None:
        program = compile_text(tmp_path, IN_NAMESPACES)
        data = rule_data(program.rules[-1], program)
        assert data["name"] == "Q{urn:p}close"
        assert data["writes"][0]["roots"] == ["Q{urn:p}closed"]
        assert data["skipUnless"]["anyOf"][1] == {"root": "Q{urn:p}done"}
        assert program_data(program)["queues"][-1]["name"] == "Q{urn:p}desk"


class TestRetention:
    def test_what_goes_through_an_echo_queue_is_kept_where_it_ends(self, tmp_path: Path) -> None:
        later = "do enqueue <{0}/> into timer with timeout value xs:dayTimeDuration('PT1H') with target value {1}"
        actions = [later.format("a", "'work'"), later.format("b", "'outbox'"), later.format("c", "string(//queue)")]
        program = compile_text(tmp_path, f"create rule wait for inbox if (/late) then ({', '.join(actions)})")
        assert explained(program, "retention") == [
            "messages in inbox: gone once processed",
            "what it puts into timer: goes on to work after its timeout; there kept until reset in slices",
            "what it puts into timer: goes on to outbox after its timeout; there gone once processed",
            "what it puts into timer: goes on to its target after its timeout; there kept like other messages",
        ]

    def test_what_goes_elsewhere_is_kept_there(self, tmp_path: Path) -> None:
        actions = "do enqueue <a/> into work, do enqueue <b/> into outbox, do enqueue <b2/> into outbox"
        program = compile_text(tmp_path, f"create rule share for inbox if (/share) then ({actions})")
        assert explained(program, "retention") == [
            "messages in inbox: gone once processed",
            "what it puts into work: kept until reset in slices",
            "what it puts into outbox: gone once processed",
        ]


def test_alternatives_are_told_together(tmp_path: Path) -> None:
    rule = "create rule r for work if (/a or /b or (/b and //c)) then do enqueue <x/> into outbox"
    program = compile_text(tmp_path, rule)
    assert explained(program, "skip") == ["not evaluated unless the message has root element `a` or `b`"]
    assert program.rules[-1].skip.to_json() == {"anyOf": [{"root": "a"}, {"root": "b"}]}


def test_collections_are_told_from_queues(tmp_path: Path) -> None:
    (tmp_path / "prices.xml").write_text("<prices/>")
    text = (
        'create collection work from "prices.xml" create collection unread from "prices.xml"\n'
        'create rule price for work if (/item) then do enqueue <x>{collection("work")}</x> into outbox'
    )
    printed = flow(compile_text(tmp_path, text))
    assert "\n▣ work  in slices of slices\n" in printed
    assert "\n▤ work    collection, prices.xml, read by price\n▤ unread  collection, prices.xml" in printed
    assert "the collection work" in plan(compile_rule(tmp_path, text), compile_text(tmp_path, text))


SHARING = """
create rule one for work if (/a and //id = 'x') then do enqueue <x>{//name}</x> into outbox
create rule two for work
if (/a or /b) then do enqueue <x>{//name, qs:queue('other')[//id = qs:message()//id]}</x> into outbox
create rule three for slices
if (/b and count(qs:slice()//id) > 1 and qs:queue('other')[//id = 'x']) then
  do enqueue <x>{qs:slice()//id}</x> into outbox
create rule never for work if (/a and /b) then do enqueue <x/> into outbox
"""


class TestShared:
    @pytest.mark.parametrize(
        ("name", "lines"),
        [
            ("one", ["a function with forget and two", "data(//id), with two", "//name, with two"]),
            ("two", ["a function with forget, one and three", "data(//id), with one", "//name, with one"]),
            ("three", ["a function with forget, finish and two", "qs:slice()//id, which it may need several times"]),
            ("never", []),
            ("admit", []),
        ],
    )
    def test_of_a_rule(self, tmp_path: Path, name: str, lines: list[str]) -> None:
        program = compile_text(tmp_path, SHARING)
        rule = program.rule(name)
        assert rule is not None
        *_, told = plan(rule, program).split("\n\nXQuery\n")[0].partition("\nshares     ")
        assert [line.strip() for line in told.splitlines()] == lines

    def test_of_a_rule_as_data(self, tmp_path: Path) -> None:
        program = compile_text(tmp_path, SHARING)
        data = rule_data(program.rules[-3], program)
        assert data["name"] == "two"
        assert data["together"] == ["forget", "one", "three"]
        assert data["once"] == [
            {"expression": "//id", "value": "data", "rules": ["one", "two"]},
            {"expression": "//name", "value": "items", "rules": ["one", "two"]},
        ]
        (found,) = (each for each in program_data(program)["rules"] if each["name"] == "two")
        assert found == data

    def test_of_a_queue_as_data(self, tmp_path: Path) -> None:
        program = compile_text(tmp_path, SHARING)
        data = queue_data(program.queues["work"], program)
        assert (data["for"], data["onSlicing"]) == ("work", False)
        assert data["rules"] == [rule_data(rule, program) for rule in program.rules_for("work")]
        assert data["lookups"] == [{"queue": "other", "path": "//id", "rules": ["two", "three"]}]
        first, second = data["functions"]
        assert (first["rules"], first["roots"]) == (["forget", "one", "two"], ["a"])
        assert (second["rules"], second["roots"]) == (["forget", "two", "three"], ["b"])
        assert first["once"] == rule_data(program.rules[-3], program)["once"]
        assert (first["module"], first["slicing"], first["queues"], first["apart"]) == ("main", "slices", ["work"], [])
        assert first["xquery"].count("array {") > len(first["rules"])

    def test_documents_are_kept_unless_somebody_can_tell(self, tmp_path: Path) -> None:
        program = compile_text(tmp_path, SHARING)
        assert "\ndocuments  of messages that rules build, kept" in queue_plan(program.queues["work"], program)
        assert queue_data(program.queues["work"], program)["builtDocumentsKept"] is True
        telling = "create rule telling for work if (base-uri(/)) then do reset slices key 'x'"
        program = compile_text(tmp_path, SHARING + telling)
        printed = queue_plan(program.queues["work"], program)
        assert "\ndocuments  every message is parsed, since the rule telling may tell" in printed
        assert queue_data(program.queues["work"], program)["builtDocumentsKept"] is False

    def test_of_a_slicing_as_data(self, tmp_path: Path) -> None:
        program = compile_text(tmp_path, SHARING)
        data = queue_data(program.slicings["slices"], program)
        assert (data["for"], data["onSlicing"]) == ("slices", True)
        assert data["rules"] == [rule_data(rule, program) for rule in program.rules if rule.target == "slices"]
        assert {queue for function in data["functions"] for queue in function["queues"]} == {"work", "other"}

    def test_of_a_queue(self, tmp_path: Path) -> None:
        """See the golden cases for more."""
        program = compile_text(tmp_path, SHARING)
        printed = queue_plan(program.queues["work"], program)
        assert "\n           never   always skipped\n" in printed
        assert "\nindex      //id of the queue other, for two and three: fetched together for up to " in printed
        for function in queue_data(program.queues["work"], program)["functions"]:
            assert f"  {', '.join(function['rules'])}\n" in printed
            assert function["xquery"] in printed

    def test_for_how_many_messages_is_fetched_together(self) -> None:
        assert f" up to {evaluator._AT_ONCE:,} messages " in FETCHED
