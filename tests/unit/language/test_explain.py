"""What people are told of an application and its rules."""

from pathlib import Path

from applications import compile_rule, compile_text
from demaq.language.explain import flow, plan, program_data, rule_data
from demaq.language.explain.names import Names
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
        assert "the queue p:desk, by index: //p:ticket = qs:message()//p:ticket (known before the rule runs)" in (
            explained(program, "reads")
        )
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
        data = rule_data(program.rules[-1])
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
