"""Properties: section 4 of the semantics."""

import pytest

from demaq.model import Value
from running import Start, text_values

HOPS = """
create queue inbox kind basic mode persistent
create queue next kind basic mode persistent
create queue last kind basic mode persistent
create queue out kind basic mode persistent
create property fix as xs:integer fixed queue inbox, next value count(/*/*)
create property plain as xs:string queue inbox, next, last value "default"
create property travels as xs:string inherited queue inbox, next, last value "computed"
create property none as xs:string inherited queue next, last
create rule forward for inbox if (/m) then do enqueue <n><a/></n> into next
create rule set for inbox
if (/set) then do enqueue <n/> into next with plain value "set" with travels value /set/@to with none value "here"
create rule on for next if (/n) then do enqueue <l/> into last
"""


def test_defaults_are_computed_on_the_new_message(start: Start) -> None:
    running = start(HOPS)
    running.play("inbox", "<m><x/><x/><x/></m>")
    (first,), (second,) = running.messages("inbox"), running.messages("next")
    assert first.properties["fix"] == Value("xs:integer", "3")
    assert second.properties["fix"] == Value("xs:integer", "1")
    assert second.properties["plain"] == Value("xs:string", "default")
    assert "none" not in second.properties
    assert "fix" not in running.messages("last")[0].properties


def test_explicit_goes_before_inherited_and_that_before_computed(start: Start) -> None:
    running = start(HOPS)
    running.send("inbox", "<m/>", plain=Value("xs:string", "sent"), travels=Value("xs:string", "sent"))
    running.send("inbox", '<set to="far"/>', travels=Value("xs:string", "sent"))
    running.run()
    assert text_values(running.messages("inbox"), "plain") == ["sent", "default"]
    assert text_values(running.messages("next"), "plain") == ["default", "set"]
    assert text_values(running.messages("last"), "plain") == ["default", "default"]
    assert text_values(running.messages("next"), "travels") == ["sent", "far"]
    assert text_values(running.messages("last"), "travels") == ["sent", "far"]
    assert text_values(running.messages("last"), "none") == [None, "here"]


def test_a_fixed_property_cannot_be_set_from_outside(start: Start) -> None:
    running = start(HOPS)
    answers = running.send("inbox", "<m/>", fix=Value("xs:integer", "99"))
    running.run()
    if isinstance(answers[0], int):
        assert text_values(running.messages("inbox"), "fix") == ["0"]
    else:
        assert "fix" in answers[0].reason


@pytest.mark.parametrize(
    ("type_", "text", "stored"),
    [
        ("xs:integer", " 007 ", "7"),
        ("xs:decimal", "1.50", "1.5"),
        ("xs:boolean", "1", "true"),
        ("xs:double", "100", "100"),
        ("xs:date", "2007-01-10Z", "2007-01-10Z"),
        ("xs:dateTime", "2007-01-10T12:00:00.500Z", "2007-01-10T12:00:00.5Z"),
        ("xs:dayTimeDuration", "PT36H", "P1DT12H"),
        ("xs:token", " a  b ", "a b"),
        ("xs:hexBinary", "ab", "AB"),
        ("xs:string", " a ", " a "),
    ],
)
def test_values_are_cast_to_the_declared_type(start: Start, type_: str, text: str, stored: str) -> None:
    running = start(
        f"""
create queue inbox kind basic mode persistent
create queue next kind basic mode persistent
create queue out kind basic mode persistent
create property p as {type_} queue inbox, next value /m/@p
create rule set for inbox if (/m) then do enqueue <n/> into next with p value /m/@p
create rule tell for next if (/n) then do enqueue <is>{{qs:property("p") instance of {type_}}}</is> into out
"""
    )
    running.play("inbox", f'<m p="{text}"/>')
    assert running.errors() == []
    assert running.messages("inbox")[0].properties["p"] == Value(type_, stored)
    assert running.messages("next")[0].properties["p"] == Value(type_, stored)
    assert running.bodies("out") == ["<is>true</is>"]


def test_a_value_that_cannot_be_cast_is_a_property_error(start: Start) -> None:
    running = start(
        """
create queue inbox kind basic mode persistent
create queue next kind basic mode persistent
create property p as xs:integer queue next value /n/@p
create property two as xs:string queue next value /n/two
create rule make for inbox if (/make) then do enqueue <n p="{/make/@p}">{/make/two}</n> into next
create rule set for inbox if (/set) then do enqueue <n/> into next with p value /set/@p
"""
    )
    running.play("inbox", '<make p="ten"/>', '<make p="1"><two/><two/></make>', "<make/>", '<set p="ten"/>')
    assert [error.rule for error in running.errors()] == ["make", "make", "make", "set"]
    assert [error.kind for error in running.errors()[:3]] == ["property"] * 3
    assert "`p`" in running.errors()[0].description
    assert "`two`" in running.errors()[1].description
    assert running.bodies("next") == []


def test_a_message_from_outside_whose_property_cannot_be_computed_is_refused(start: Start) -> None:
    running = start(
        """
create queue inbox kind basic mode persistent
create property p as xs:integer fixed queue inbox value /m/@p
create slicing ps on p
create rule forget for ps if (/end) then do reset
"""
    )
    refusal = running.refused("inbox", '<m p="ten"/>')
    assert refusal.kind == "property"
    assert "`p`" in refusal.reason
    (error,) = running.errors()
    assert (error.kind, error.queue, error.message, error.initial) == ("property", "inbox", "", '<m p="ten"/>')


@pytest.mark.parametrize("text", ["ten", "", "1.5", "\x00", "a\x01b", "\ud800"])
def test_a_property_from_outside_has_a_value_of_its_type(start: Start, text: str) -> None:
    running = start(
        """
create queue inbox kind basic mode persistent
create property p as xs:integer queue inbox
create rule use for inbox if (qs:property("p") gt 1) then do enqueue <m/> into inbox
"""
    )
    refusal = running.refused("inbox", "<m/>", p=Value("xs:integer", text))
    assert refusal.kind == "property"
    assert running.bodies("inbox") == []


@pytest.mark.parametrize("text", ["\x00", "a\x01b", "\ud800"])
def test_a_text_that_xml_cannot_hold_is_no_value(start: Start, text: str) -> None:
    running = start(
        """
create queue inbox kind basic mode persistent
create property p as xs:string queue inbox
create rule use for inbox if (qs:property("p") = "x") then do enqueue <m/> into inbox
"""
    )
    assert running.refused("inbox", "<m/>", p=Value("xs:string", text)).kind == "property"
    assert running.bodies("inbox") == []


def test_a_value_from_outside_is_cast_to_the_declared_type(start: Start) -> None:
    running = start(
        """
create queue inbox kind basic mode persistent
create property p as xs:integer queue inbox
create slicing ps on p
create rule forget for ps if (/end) then do reset
"""
    )
    running.send("inbox", "<m/>", p=Value("xs:string", "007"))
    running.send("inbox", "<m/>", p=Value("xs:integer", "07"))
    running.run()
    assert [message.properties["p"] for message in running.messages()] == [Value("xs:integer", "7")] * 2
    assert running.members("ps", "7") == [1, 2]


SYSTEM = """
create queue inbox kind basic mode persistent
create queue next kind basic mode persistent
create queue out kind outgoingGateway mode persistent
create property key as xs:string fixed queue inbox value /m/@key
create slicing keys on key
create rule forget for keys if (/end) then do reset
create rule make for inbox if (/m) then do enqueue <n/> into next with Sender value "me" with To value "you"
create rule tell for next
if (/n) then do enqueue
  <p id="{qs:property("sys:id")}" queue="{qs:property("sys:queue")}" rule="{qs:property("sys:rule")}"
     cause="{qs:property("sys:cause")}" created="{qs:property("sys:created")}" size="{qs:property("sys:size")}"
     sender="{qs:property("sys:sender")}" connection="{qs:property("sys:connection")}" to="{qs:property("To")}"/>
into out
create rule first for inbox
if (/first) then do enqueue
  <f rule="{empty(qs:property("sys:rule"))}" cause="{empty(qs:property("sys:cause"))}"
     id="{qs:property("sys:id") instance of xs:integer}" at="{qs:property("sys:created") instance of xs:dateTime}"/>
into out
"""


def test_properties_of_the_system(start: Start) -> None:
    running = start(SYSTEM)
    running.play("inbox", '<m key="1"/>', "<first/>")
    assert running.bodies("out") == [
        '<p id="2" queue="next" rule="make" cause="1" created="2007-01-10T12:00:00Z" size="4" sender="me"'
        ' connection="" to="you"/>',
        '<f rule="true" cause="true" id="true" at="true"/>',
    ]


def test_the_connection_is_inherited_always_and_others_only_if_they_say_so(start: Start) -> None:
    running = start(SYSTEM)
    given = {"sys:connection": Value("xs:string", "c1"), "ReplyTo": Value("xs:string", "r")}
    running.send("inbox", '<m key="1"/>', **given)
    running.run()
    assert text_values(running.messages(), "sys:connection") == ["c1"] * 3
    assert text_values(running.messages(), "ReplyTo") == ["r", None, None]
    assert 'connection="c1"' in running.bodies("out")[0]
    assert running.messages("next")[0].properties["To"] == Value("xs:string", "you")


def test_the_connection_is_inherited_by_error_messages_and_through_timers(start: Start) -> None:
    running = start(
        """
create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create queue later kind echo mode persistent
create rule fail for inbox if (/fail) then error()
create rule wait for inbox
if (/wait) then do enqueue <w/> into later with timeout value xs:dayTimeDuration("PT1H") with target value "out"
"""
    )
    given = {"sys:connection": Value("xs:string", "c1")}
    running.send("inbox", "<fail/>", "<wait/>", **given)
    running.run()
    running.advance(hours=1)
    assert text_values(running.messages("systemErrors"), "sys:connection") == ["c1"]
    assert text_values(running.messages("out"), "sys:connection") == ["c1"]


@pytest.mark.parametrize("batch", [1, 256])
def test_properties_of_other_messages_by_their_nodes(start: Start, batch: int) -> None:
    running = start(
        """
create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create property key as xs:string fixed queue inbox value /*/@key
create slicing keys on key
create rule forget for keys if (/end) then do reset
create rule slice for keys
if (/tell) then do enqueue
  <s>{for $m in qs:slice()
      return (qs:property("key", $m/*), qs:property("sys:id", $m), qs:property("To", $m//@key))}</s>
into out
create rule queue for inbox
if (/tell) then do enqueue <q>{qs:queue("inbox")/*/@key/qs:property("sys:id", .)}</q> into out
create rule foreign for inbox
if (/tell) then do enqueue <x>{qs:property("key", <m key="1"/>), qs:property("sys:id", /tell)}</x> into out
""",
        batch=batch,
    )
    running.send("inbox", '<m key="a"/>', To=Value("xs:string", "there"))
    running.send("inbox", '<m key="b"/>', '<m key="a"/>', '<tell key="a"/>')
    running.run()
    assert running.bodies("out") == ["<s>a 1 there a 3 a 4</s>", "<q>1 2 3 4</q>", "<x>4</x>"]


def test_a_property_can_be_computed_from_what_the_system_knows(start: Start) -> None:
    running = start(
        """
create queue inbox kind basic mode persistent
create queue next kind basic mode persistent
create property q as xs:string queue inbox, next value qs:property("sys:queue")
create property c as xs:integer queue inbox, next value qs:property("sys:cause")
create property s as xs:integer queue inbox, next value qs:property("sys:size")
create property t as xs:dateTime queue inbox, next value qs:property("sys:created")
create property r as xs:string queue inbox, next, problems value qs:property("sys:rule")
create queue problems kind basic mode persistent
create rule make for inbox errorqueue problems
if (/m) then do enqueue <next/> into next else do enqueue <next>{1 div 0}</next> into next
"""
    )
    running.play("inbox", "<m/>", "<n/>")
    (first, _), (second,), (third,) = map(running.messages, ("inbox", "next", "problems"))
    assert third.properties["r"].text == "make"
    assert {name: value.text for name, value in first.properties.items()} == {
        "q": "inbox",
        "s": "4",
        "t": "2007-01-10T12:00:00Z",
    }
    assert {name: value.text for name, value in second.properties.items()} == {
        "q": "next",
        "c": "1",
        "r": "make",
        "s": "7",
        "t": "2007-01-10T12:00:00Z",
    }
