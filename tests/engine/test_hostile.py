"""Messages of people we do not trust. Each is refused with a reason, or taken in as what it is."""

import pytest

from demaq.engine.xml import MessageRefused, read_message
from demaq.model import Limits, NewMessage
from running import START, Start

QUEUE = """
create queue inbox kind basic mode persistent
create queue out kind basic mode persistent
create rule copy for inbox if (/*) then do enqueue <copy>{/*/node()}</copy> into out
"""
BOMB = (
    '<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in zip("abcdefgh", "bcdefghi", strict=True))
    + "]><b>&i;</b>"
)
HOSTILE = {
    "empty": ("", "malformed"),
    "white": (" \n ", "malformed"),
    "text": ("hello", "malformed"),
    "open": ("<a>", "malformed"),
    "two roots": ("<a/><b/>", "malformed"),
    "text behind": ("<a/>b", "malformed"),
    "unknown entity": ("<a>&b;</a>", "malformed"),
    "unbound prefix": ("<x:a/>", "malformed"),
    "attribute twice": ('<a b="1" b="2"/>', "malformed"),
    "less in an attribute": ('<a b="<"/>', "malformed"),
    "nul": ("<a>\x00</a>", "malformed"),
    "nul by number": ("<a>&#0;</a>", "malformed"),
    "control character": ("<a>\x0b</a>", "malformed"),
    "control by number": ("<a>&#x1b;</a>", "malformed"),
    "separator": ("<a>\x01</a>", "malformed"),
    "no character": ("<a>\ufffe</a>", "malformed"),
    "half a pair": ("<a>\ud800</a>", "malformed"),
    "half a pair by number": ("<a>&#xd800;</a>", "malformed"),
    "entity bomb": (BOMB, "malformed"),
    "entity bomb in an attribute": (BOMB.replace("<b>&i;</b>", '<b c="&i;"/>'), "malformed"),
    "quadratic blowup": (f'<!DOCTYPE a [<!ENTITY b "{"b" * 50_000}">]><a>{"&b;" * 50_000}</a>', "malformed"),
    "file": ('<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>', "malformed"),
    "network": ('<!DOCTYPE a SYSTEM "http://127.0.0.1:9/a.dtd"><a/>', "malformed"),
    "parameter entity": ('<!DOCTYPE a [<!ENTITY % b SYSTEM "file:///etc/passwd"> %b;]><a/>', "malformed"),
    "doctype": ("<!DOCTYPE a><a/>", "malformed"),
    "doctype behind a comment": ("<!-- - --><?p q?>\n<!DOCTYPE a><a/>", "malformed"),
    "doctype behind a mark": ("\ufeff<!DOCTYPE a><a/>", "malformed"),
    "doctype in small letters": ("<!doctype a><a/>", "malformed"),
    "xml 1.1": ('<?xml version="1.1"?><a/>', "malformed"),
    "xml 1.1 with controls": ("<?xml version='1.1'?><a>&#1;</a>", "malformed"),
    "xml 2.0": ('<?xml version="2.0"?><a/>', "malformed"),
    "comment that does not end": ("<!--" * 100_000, "malformed"),
    "instructions that do not end": ("<?a" * 100_000, "malformed"),
    "deep": ("<a>" * 91 + "</a>" * 91, "resource"),
    "very deep": ("<a>" * 1_000_000 + "</a>" * 1_000_000, None),
    "deep and open": ("<a>" * 1_000_000, None),
    "a million names": ("<a>" + "".join(f"<n{n}/>" for n in range(1_000_000)) + "</a>", "resource"),
    "a million attributes": ("<a " + " ".join(f'n{n}=""' for n in range(200_000)) + "/>", "resource"),
    "a million instructions": ("<a>" + "".join(f"<?n{n}?>" for n in range(200_000)) + "</a>", "resource"),
    "a million namespaces": ("<a>" + "".join(f'<b xmlns="u:{n}"/>' for n in range(20_000)) + "</a>", "resource"),
    "too long": (f"<a>{'x' * 17_000_000}</a>", "resource"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_messages_are_refused_with_a_reason(start: Start, name: str) -> None:
    body, kind = HOSTILE[name]
    running = start(QUEUE)
    refusal = running.refused("inbox", body)
    assert refusal.kind == kind or kind is None
    assert 10 < len(refusal.reason) < 1000
    assert "/etc" not in refusal.reason
    assert "root:" not in refusal.reason
    running.play("inbox", "<next>1</next>")
    (error,) = running.errors()
    assert (error.kind, error.queue, error.message) == (refusal.kind, "inbox", "")
    assert error.description == refusal.reason
    assert len(error.initial) <= 100_000
    assert running.bodies("out") == ["<copy>1</copy>"]


@pytest.mark.parametrize(
    "body",
    [
        b"<a>\xff</a>",
        b"\xff\xfe<\x00a\x00/\x00>",
        b'<?xml version="1.0" encoding="ascii"?><a>\xc3\xa4</a>',
        b'<?xml version="1.0" encoding="no-such-thing"?><a/>',
        b'<?xml version="1.0" encoding="undefined"?><a/>',
        b'<?xml version="1.0" encoding="idna"?><a/>',
        b'<?xml version="1.0" encoding="punycode"?><a/>',
        b'<?xml version="1.0" encoding="unicode_escape"?><a/>',
        b'<?xml version="1.0" encoding="zlib"?><a/>',
        b'<?xml version="1.0" encoding="utf-7"?><a/>',
        b'<?xml version="1.0" encoding="a\x00b"?><a/>',
        b'<?xml version="1.0" encoding="utf-16"?><a/>',
        b"\x00\x00\xfe\xff\x00\x00\x00<",
        b"\x1f\x8b\x08\x00",
    ],
)
def test_wrong_encodings_are_refused(start: Start, body: bytes) -> None:
    running = start(QUEUE)
    assert running.refused("inbox", body).kind == "malformed"
    assert len(running.errors()) == 1


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<a>ä</a>".encode(), "ä"),
        ("\ufeff<a>ä</a>".encode(), "ä"),
        ("<a>ä𝄞</a>".encode("utf-16"), "ä𝄞"),
        ('<?xml version="1.0" encoding="iso-8859-1"?><a>ä</a>'.encode("latin-1"), "ä"),
        ('<?xml version="1.0" encoding="windows-1252"?><a>€</a>'.encode("cp1252"), "€"),
        ("<?xml version='1.0' encoding='UTF-8' standalone='yes'?>\n<a>€</a>".encode(), "€"),
        ('<?xml version="1.0" encoding="utf-16"?><a>x</a>', "x"),
        ("\ufeff<?xml version='1.0'?><a>x</a>\n", "x"),
        ("<a><![CDATA[<!DOCTYPE a [<!ENTITY>]>]]></a>", "&lt;!DOCTYPE a [&lt;!ENTITY&gt;]&gt;"),
        ("<a><!-- <!DOCTYPE x> --></a>", "<!-- <!DOCTYPE x> -->"),
        ("<!-- a --><a>x</a><!-- b --><?c d?>", "x"),
        ('<?xml-stylesheet href="a.xsl"?><a>x</a>', "x"),
        ("<a>&#13;&#10;&#9;&lt;</a>", "&#xD;\n\t&lt;"),
        ("<a>]]&gt;</a>", "]]&gt;"),
    ],
)
def test_unusual_messages_are_taken_in(start: Start, body: str | bytes, text: str) -> None:
    running = start(QUEUE)
    answers = running.send("inbox", body)
    running.run()
    assert answers == [1]
    assert running.errors() == []
    assert running.bodies("out") == [f"<copy>{text}</copy>"]


def test_what_stands_before_the_root_stays() -> None:
    read = read_message('<?xml version="1.0"?>\n<?xml-stylesheet href="a.xsl"?><a/>', Limits())
    assert read.text == '<?xml-stylesheet href="a.xsl"?><a/>'


@pytest.mark.parametrize("levels", [1, 89, 90])
def test_messages_up_to_the_limit_are_processed(start: Start, levels: int) -> None:
    running = start(QUEUE)
    running.play("inbox", "<a>" * levels + "</a>" * levels)
    assert running.errors() == []
    assert len(running.bodies("out")) == 1


def test_a_refused_message_does_not_hold_up_those_beside_it(start: Start) -> None:
    running = start(QUEUE)
    answers = running.send("inbox", "<a>1</a>", "<a", "<a>2</a>", "<a>" * 200, "<a>3</a>")
    assert [isinstance(answer, MessageRefused) for answer in answers] == [False, True, False, True, False]
    running.run()
    assert running.bodies("out") == [f"<copy>{n}</copy>" for n in (1, 2, 3)]
    assert len(running.errors()) == 2


def test_a_queue_that_does_not_exist_is_told(start: Start) -> None:
    running = start(QUEUE)
    refusal = running.refused("nowhere", "<a/>")
    assert "`nowhere`" in refusal.reason
    assert running.messages() == []


def test_rules_are_held_to_the_same_limits(start: Start) -> None:
    running = start(QUEUE + "create rule wrap for inbox if (/deep) then do enqueue <a>{/deep}</a> into out\n")
    running.play("inbox", "<deep>" + "<a>" * 89 + "</a>" * 89 + "</deep>")
    (error,) = running.errors()
    assert (error.kind, error.rule) == ("resource", "wrap")
    assert "90" in error.description


def test_messages_of_rules_may_have_many_attributes_and_long_names(start: Start) -> None:
    running = start(
        """
create queue inbox kind basic mode persistent
create queue wide kind basic mode persistent
create queue out kind basic mode persistent
create property key as xs:string fixed queue wide value "k"
create slicing keys on key
create rule make for inbox
if (/a) then
  do enqueue element { QName("urn:x", "w") } {
    for $n in 1 to 1500 return attribute { "a" || $n } { $n },
    element { string-join((1 to 3000) ! "n") } { }
  } into wide
create rule end for keys if (/never) then do reset
"""
        + "".join(
            f"create rule r{n} for keys if (/*:w) then do enqueue <r{n}>{{count(qs:slice()//@*)}}</r{n}> into out\n"
            for n in range(10)
        ),
    )
    running.play("inbox", "<a/>", "<a/>")
    assert running.errors() == []
    assert running.bodies("out") == [f"<r{n}>{size}</r{n}>" for size in (1500, 3000) for n in range(10)]


def test_a_message_that_cannot_be_parsed_is_an_error_of_its_own(start: Start) -> None:
    """Nothing can put one into the log, as far as we know."""
    running = start(QUEUE)
    running.base.append(
        [NewMessage(queue="inbox", body="<a xmlns='urn:x'>"), NewMessage(queue="inbox", body="<a/>")], START
    )
    running.run()
    (error,) = running.errors()
    assert (error.kind, error.message) == ("resource", "1")
    assert len(running.bodies("out")) == 1
    running.check_ledger()


def test_only_the_declaration_at_the_beginning_is_one() -> None:
    inside = "<a><![CDATA[ <?xml version='1.0'?> ]]></a>"
    assert read_message(f'\n<?xml version="1.0"?>{inside}', Limits()).text == inside
    assert read_message(inside, Limits()).text == inside


def test_long_white_space_is_read_in_linear_time() -> None:
    text = f"<a>{' ' * 1_000_000}</a>"
    assert read_message(text, Limits()).text == text
