"""Errors are messages: section 5 of the semantics."""

from collections.abc import Sequence
from unittest.mock import patch

import pytest

from demaq.engine.errors import KINDS, error_body, kind_of
from demaq.engine.records import Batch, Failure, Outcome
from demaq.engine.xml import MessageRefused
from demaq.model import Limits, MessageState, NewMessage, Origin
from running import START, Start, problem

FAILING = """\
create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create property key as xs:string fixed queue inbox value /*/@key
create slicing keys on key
create rule forget for keys if (/end) then do reset
create rule before for inbox if (/m) then (do enqueue <before/> into out, do reset keys key "other")
create rule divide for inbox
if (/m/@by) then
  let $by := xs:integer(/m/@by)
  return do enqueue <q>{
    10 idiv $by
  }</q> into out
create rule slow for keys if (/m/@slow) then error(xs:QName("slow"), "too slow")
create rule after for inbox if (/m) then do enqueue <after/> into out
"""


def test_a_rule_that_fails_undoes_all_actions_of_the_message(start: Start) -> None:
    running = start(FAILING)
    running.play("inbox", '<x key="other"/>', '<m key="1" by="0"/>')
    assert running.bodies("out") == []
    assert running.members("keys", "other") == [1]
    failed = running.messages("inbox")[1]
    assert (failed.state, failed.position) == (MessageState.FAILED, 2)


def test_there_is_one_error_message_for_each_rule_that_failed(start: Start) -> None:
    running = start(FAILING)
    running.play("inbox", '<m key="1" by="zero" slow=""/>')
    assert [error.rule for error in running.errors()] == ["divide", "slow"]
    errors = running.messages("systemErrors")
    assert [(error.cause, error.rule, error.origin) for error in errors] == [
        (1, "divide", Origin.ERROR),
        (1, "slow", Origin.ERROR),
    ]


def test_an_error_message_tells_everything(start: Start) -> None:
    running = start(FAILING)
    running.play("inbox", '<m key="1" by="0"><a b="&lt;">ü</a></m>')
    (error,) = running.errors()
    assert (error.kind, error.code, error.queue, error.rule) == ("evaluation", "FOAR0001", "inbox", "divide")
    assert "zero" in error.description
    assert (error.message, error.time) == ("1", "2007-01-10T12:00:00Z")
    assert error.initial == '<m key="1" by="0"><a b="&lt;">ü</a></m>'
    assert (error.file, error.line, error.column) == ("main.demaq", "11", "5")


@pytest.mark.parametrize(
    ("expression", "column"),
    [
        ("<r>{xs:integer(/m/@a)}</r>", 46),
        ("<r>{1, 2, error()}</r>", 41),
        ("<r>{local:deep(/m)}</r>", None),
    ],
)
def test_errors_tell_the_place_in_the_source(start: Start, expression: str, column: int | None) -> None:
    line = f"if (/m) then       do enqueue {expression} into out"
    running = start(
        f"""create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
declare function local:deep($m) {{ $m/@a cast as xs:integer }};
(: a comment
   of two lines :)
create rule other for inbox if (/other) then do enqueue <o/> into out
create rule r for inbox
{line}
"""
    )
    running.play("inbox", '<m a="x"/>')
    (error,) = running.errors()
    assert error.file == "main.demaq"
    if column is None:
        assert int(error.line) in (3, 7, 8)
    else:
        assert (error.line, error.column) == ("8", str(column))


@pytest.mark.parametrize("rules", [1, 2])
def test_errors_of_messages_that_a_rule_makes_are_at_the_rule(start: Start, rules: int) -> None:
    """The place where the system noticed is no place of the rule, however long that is."""
    actions = ",\n".join(["do enqueue <q/> into typed"] * 400)
    running = start(
        "create queue inbox kind basic mode persistent\ncreate queue typed kind basic mode persistent\n"
        "create property p as xs:integer fixed queue typed value /q/@p\n"
        + "create rule other for inbox if (/m) then do enqueue <q/> into typed\n" * (rules - 1)
        + f"create rule r for inbox\nif (/m) then (\n{actions},\ndo enqueue <q p='x'/> into typed)"
    )
    running.play("inbox", "<m/>")
    (error,) = running.errors()
    assert (error.kind, error.rule, error.line) == ("property", "r", str(3 + rules))
    assert running.bodies("typed") == []


def test_errors_of_several_modules_name_their_files(start: Start) -> None:
    text = "create queue {0} kind basic mode persistent\ncreate rule r{0} for {0}\nif (/m) then error()\n"
    running = start(
        text.format("a") + "create queue out kind basic mode persistent\n",
        files={"second.demaq": text.format("b"), "more/third.demaq": "\n\n" + text.format("c")},
    )
    for queue in "abc":
        running.play(queue, "<m/>")
    assert [(error.file, error.line) for error in running.errors()] == [
        ("main.demaq", "3"),
        ("second.demaq", "3"),
        ("third.demaq", "5"),
    ]


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        ("do enqueue <q>{1 idiv 0}</q> into out", "evaluation"),
        ("do enqueue <q>{error(xs:QName('own'), 'mine')}</q> into out", "evaluation"),
        ("do enqueue <q>{xs:integer('x')}</q> into out", "evaluation"),
        ("do enqueue <q>{(1, 'a') ! (. + 1)}</q> into out", "type"),
        ("do enqueue <q>{exactly-one(/m/b)}</q> into out", "evaluation"),
        ("do enqueue /m/a into out", "type"),
        ("do enqueue <q p='x'/> into typed", "property"),
        ("do enqueue <right>{string(/m/a[1])}</right> into valid", "schema"),
        ("do enqueue <q>{string-join((1 to 2000) ! 'x')}</q> into out", "resource"),
        ("for $n in 1 to 11 return do enqueue <q/> into out", "resource"),
        ("do enqueue local:nested(60) into out", "resource"),
        ("do enqueue <q>{(1 to 60) ! element {'n' || .} {}}</q> into out", "resource"),
        (
            "do enqueue <w/> into later with timeout value xs:dayTimeDuration('PT1S') with target value 'nowhere'",
            "property",
        ),
        ("do enqueue <w/> into later with timeout value xs:date('2007-01-10') with target value 'out'", "property"),
    ],
)
def test_kinds_of_errors(start: Start, action: str, kind: str) -> None:
    running = start(
        f"""
create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create queue typed kind basic mode persistent
create queue valid kind basic mode persistent schema "valid.xsd"
create queue later kind echo mode persistent
create property p as xs:integer queue typed value /q/@p
declare function local:nested($n) {{ if ($n eq 0) then <n/> else <n>{{local:nested($n - 1)}}</n> }};
create rule before for inbox if (/m) then do enqueue <before/> into out
create rule bad for inbox if (/m) then {action}
""".replace("'nowhere'", "'no' || 'where'").replace("xs:date('2007-01-10')", "(xs:date('2007-01-10'), 1)[1]"),
        files={"valid.xsd": SCHEMA},
        limits=Limits(message_size=1000, messages=10, depth=50, names=50),
    )
    running.play("inbox", "<m><a/><a/><b/><b/></m>")
    (error,) = running.errors()
    assert (error.kind, error.rule, error.file) == (kind, "bad", "main.demaq")
    assert error.description
    assert running.bodies("out") == running.bodies("typed") == running.bodies("valid") == []


SCHEMA = """
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:element name="right" type="xs:integer"/>
</xs:schema>
"""

LEVELS = """
module main errorqueue ofModule;
create queue plain kind basic mode persistent
create queue own kind basic mode persistent errorqueue ofQueue
create queue ofRule kind basic mode persistent
create queue ofQueue kind basic mode persistent
create queue ofModule kind basic mode persistent
create rule named for own errorqueue ofRule if (/named) then error()
create rule unnamed for own if (/unnamed) then error()
create rule bare for plain if (/bare) then error()
"""


def test_the_most_specific_error_queue_takes_the_error(start: Start) -> None:
    running = start(LEVELS)
    running.play("own", "<named/>", "<unnamed/>")
    running.play("plain", "<bare/>")
    assert [error.rule for error in running.errors("ofRule")] == ["named"]
    assert [error.rule for error in running.errors("ofQueue")] == ["unnamed"]
    assert [error.rule for error in running.errors("ofModule")] == ["bare"]
    assert running.errors() == []


def test_an_error_in_an_error_queue_goes_one_level_up_and_ends_at_the_system(start: Start) -> None:
    running = start(
        LEVELS
        + """
create rule worse for ofRule if (/error) then error()
create rule worst for ofModule if (/error) then error()
create rule end for systemErrors if (/error) then error()
"""
    )
    running.play("own", "<named/>")
    queues = [message.queue for message in running.messages()]
    assert queues[:2] == ["own", "ofRule"]
    assert queues.count("ofRule") == 1
    assert queues.count("ofModule") == 1
    assert queues[-2:] == ["systemErrors"] * 2
    assert len(queues) == 5
    assert all(message.state is MessageState.FAILED for message in running.messages())


@pytest.mark.parametrize("queue", ["ofQueue", "ofRule", "ofModule", "systemErrors"])
def test_errors_about_messages_from_outside_in_error_queues_end(start: Start, queue: str) -> None:
    running = start(
        LEVELS
        + """
create rule a for ofRule if (/*) then error()
create rule b for ofQueue if (/*) then error()
create rule c for ofModule if (/*) then error()
create rule d for systemErrors if (/*) then error()
"""
    )
    running.play(queue, "<x/>")
    assert len(running.messages()) <= 5
    running.refused(queue, "<x")
    running.run()


def test_error_queues_that_name_each_other_do_not_go_round(start: Start) -> None:
    running = start(
        """
create queue inbox kind basic mode persistent errorqueue one
create queue one kind basic mode persistent
create queue two kind basic mode persistent
create rule first for inbox if (/m) then error()
create rule a for one errorqueue two if (/error) then error()
create rule b for two errorqueue one if (/error) then error()
"""
    )
    running.play("inbox", "<m/>", "<m>" + "<a>" * 89 + "</a>" * 89 + "</m>")
    assert len(running.errors()) == 2
    assert len(running.messages()) < 50


def test_an_error_queue_can_be_sliced_and_read(start: Start) -> None:
    running = start(
        """
create queue inbox kind basic mode persistent errorqueue problems
create queue problems kind basic mode persistent
create queue out kind basic mode persistent
create property about as xs:string fixed queue problems value /error/rule
create slicing abouts on about
create rule forget for abouts if (count(qs:slice()) eq 3) then do reset
create rule r for inbox if (/m) then error()
create rule tell for abouts
if (/error) then do enqueue <p rule="{qs:slicekey()}" kind="{/error/*[1]/local-name()}">{count(qs:slice())}</p> into out
"""
    )
    running.send("inbox", *["<m/>"] * 4)
    running.run()
    assert running.bodies("out") == [f'<p rule="r" kind="evaluation">{n}</p>' for n in (1, 2, 3, 1)]


def test_an_error_message_without_its_property_is_better_than_none(start: Start) -> None:
    running = start(
        """
create queue inbox kind basic mode persistent errorqueue problems
create queue problems kind basic mode persistent
create property wrong as xs:integer queue problems value /error/rule
create rule r for inbox if (/m) then error()
create rule use for problems if (qs:property("wrong") = 1) then do enqueue <a/> into inbox
"""
    )
    running.play("inbox", "<m/>")
    assert [error.rule for error in running.errors("problems")] == ["r"]


@pytest.mark.parametrize("levels", range(80, 91))
def test_an_error_about_a_deep_message_is_processed(start: Start, levels: int) -> None:
    running = start(LEVELS + "create rule read for ofRule if (/error) then error()\n")
    running.play("own", "<named>" + "<a>" * (levels - 1) + "</a>" * (levels - 1) + "</named>", "<named/>")
    assert len(running.errors("ofRule")) == 2
    assert len(running.errors("ofModule")) == 2


def test_an_error_about_a_large_message_is_processed(start: Start) -> None:
    running = start(FAILING, limits=Limits(message_size=1000))
    running.play("inbox", f'<m by="0">{"x" * 980}</m>', '<m by="0"/>')
    assert [error.rule for error in running.errors()] == ["divide"] * 2


def test_messages_after_a_failed_one_are_processed(start: Start) -> None:
    running = start(FAILING)
    running.send("inbox", *['<m by="0"/>', '<m by="5"/>'] * 20)
    running.run()
    assert running.bodies("out").count("<q>2</q>") == 20
    assert len(running.errors()) == 20


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_its_message(kind: str) -> None:
    failure = Failure(kind=kind, description="a\x00b\x1b\ud800\ufffe", rule="r", line=3, column=4, file="f.demaq")
    found = problem(error_body(failure, "q", START, None, "raw < & \x00 ]]>"))
    assert (found.kind, found.rule, found.line, found.column, found.file) == (kind, "r", "3", "4", "f.demaq")
    assert found.initial.startswith("raw ")
    assert "\x00" not in found.description


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("err:XPTY0004", "type"),
        ("XQTY0105", "type"),
        ("Q{http://www.w3.org/2005/xqt-errors}FORG0006", "type"),
        ("err:FORG0001", "evaluation"),
        ("demaq:property", "property"),
        ("demaq:resource", "resource"),
        ("", "evaluation"),
    ],
)
def test_codes_of_the_engine_have_kinds(code: str, kind: str) -> None:
    assert kind_of(code) == kind


def test_a_message_whose_queue_is_gone_is_an_error_of_the_system(start: Start) -> None:
    """A client may have put it in while a version without its queue was put into force."""
    running = start(FAILING)
    running.base.append([NewMessage(queue="gone", body="<m/>")], START)
    running.run()
    (error,) = running.errors()
    assert (error.kind, error.queue, error.message) == ("system", "gone", "1")
    assert "no queue `gone` any more" in error.description
    running.check_ledger()


def test_refused_messages_beside_a_batch_are_no_alarm(start: Start) -> None:
    running = start(FAILING)
    evaluate = running.executor.evaluate

    def meanwhile(batch: Batch) -> Sequence[Outcome]:
        if batch.tasks[0].message.queue == "inbox":
            assert isinstance(running.refused("inbox", "<!DOCTYPE a []><a/>"), MessageRefused)
        return evaluate(batch)

    with patch.object(running.executor, "evaluate", meanwhile):
        running.play("inbox", "<fine/>")
    assert [error.kind for error in running.errors()] == ["malformed"]


def test_an_error_does_not_tell_where_the_node_runs(start: Start) -> None:
    rule = "create rule r for inbox if (/m) then do enqueue <x>text{attribute a { 1 }}</x> into out"
    running = start(
        f"create queue inbox kind basic mode persistent create queue out kind outgoingGateway mode persistent\n{rule}"
    )
    running.play("inbox", "<m/>")
    (error,) = running.errors()
    assert error.code == "XQTY0024"
    assert "file:" not in error.description
