"""Mail is read in time that grows with its size, whatever is in its headers; and messages are written as mail."""

import time
from collections.abc import Callable

import pytest

from demaq.gateways.mail import MailInvalid, mail_of, read_mail
from gateways.parcels import parcel

_SMALL, _TIMES = 30_000, 10
_GROWTH = 3 * _TIMES  # in quadratic time, it would be the square of that
_NOISE = 0.05  # seconds


def seconds(data: bytes) -> float:
    """Of this thread, for one letter, when nothing comes between."""
    took = []
    for _ in range(3):
        start = time.thread_time()
        assert b"<text>" in read_mail(data, "ada@example.org").body
        took.append(time.thread_time() - start)
    return min(took)


def grows_with_size(make: Callable[[int], bytes]) -> bool:
    return seconds(make(_SMALL * _TIMES)) < _GROWTH * seconds(make(_SMALL)) + _NOISE


def folded(name: str, piece: str, size: int) -> bytes:
    """A header with lines that are not too long."""
    line = piece * (700 // len(piece))
    return f"{name}: {chr(13) + chr(10) + ' '}".encode() + "\r\n ".join([line] * (size // len(line))).encode() + b"\r\n"


@pytest.mark.parametrize("piece", ["a@b.cd,", "(", '"x" <a@b', "=?utf-8?q?a?= ", ";", 'a="', "<", "\\"])
@pytest.mark.parametrize("name", ["To", "Cc", "Subject", "Reply-To", "Message-ID", "Date", "Content-Type"])
def test_the_time_for_headers_grows_with_their_size(name: str, piece: str) -> None:
    assert grows_with_size(lambda size: folded(name, piece, size) + b"\r\nhello")


def test_the_time_for_a_type_whose_parameters_do_not_end_does_so_too() -> None:
    endless = 'multipart/mixed; a="' + ";" * 680
    assert grows_with_size(lambda size: folded("Content-Type", endless, size) + b"\r\nhello")


@pytest.mark.parametrize(
    "data",
    [
        b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"--b\r\n\r\n" * 50_000,
        b"Content-Type: message/rfc822\r\n\r\n" * 50_000,
    ],
)
def test_mail_of_too_many_parts_is_refused(data: bytes) -> None:
    with pytest.raises(MailInvalid, match="more than 100 parts"):
        read_mail(data, "ada@example.org")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("plain", "plain"),
        ("=?utf-8?q?An_ord=C3=A9r?=", "An ordér"),
        ("=?utf-8?b?QW4=?=\r\n =?iso-8859-1?q?_ord=E9r?=", "An ordér"),
        ("An ordér", "An ordér"),
        ("see =?utf-8?q?ord=C3=A9r?= né 5", "see ordér né 5"),
        ("=?nothing?q?a=C3=A9?=", "aé"),
        ("=?utf-8?q?=FF?=", "\N{REPLACEMENT CHARACTER}"),
        ("=?utf-8?b?a?=", None),
    ],
)
def test_headers_are_decoded(written: str, read: str | None) -> None:
    letter = read_mail(f"Subject: {written}\r\n\r\nhello".encode(), "ada@example.org")
    if read is not None:
        assert letter.properties["Action"].text == read
    assert letter.properties["Sender"].text == "ada@example.org"


def test_addresses_are_read_as_they_are_written() -> None:
    data = 'To: "Lovelace, Ada" <a@x.org>,\r\n =?utf-8?q?b=40x=2Eorg=2C?= <c@x.org>\r\nReply-To: Bo <r@x.org>\r\n\r\n'
    letter = read_mail(data.encode(), "ada@example.org")
    assert b"<to>a@x.org</to><to>c@x.org</to><subject" in letter.body
    assert letter.properties["ReplyTo"].text == "r@x.org"
    assert letter.properties["To"].text.startswith('"Lovelace, Ada" <a@x.org>')


def test_xml_may_be_written_as_the_mail_says() -> None:
    head = b"Content-Type: text/xml; charset=iso-8859-1\r\nContent-Transfer-Encoding: 8bit\r\n\r\n"
    assert read_mail(head + b"<a>\xe9</a>", "ada@example.org").body == "<a>é</a>".encode()


def test_ids_that_are_long_are_different_still() -> None:
    keys = {read_mail(f"Message-ID: <{'x' * size}>\r\n\r\n".encode(), "").key for size in (500, 20_000, 20_001)}
    assert len(keys) == 3
    assert all(key is not None and len(key) < 1000 for key in keys)


def test_names_of_elements_are_subjects_whatever_their_length() -> None:
    message = parcel("mailto:ada@example.org", body=f"<{'a' * 50_001}/>").message
    assert mail_of(message, "ada@example.org", "shop@example.org", "urn:uuid:1")["Subject"] == "a" * 200


def test_keys_are_text_and_those_of_other_ids_are_others() -> None:
    ids = [
        b"<ab@x>",
        b"<a\x00b@x>",
        b"<a\x01b@x>",
        b"<a\xffb@x>",
        b"<" + b"a" * 2000 + b"@x>",
        b"<" + b"b" * 2000 + b"@x>",
    ]
    keys = [read_mail(b"Message-ID: " + id_ + b"\r\n\r\nhello", "ada@example.org").key for id_ in ids]
    assert keys[0] == "<ab@x>"
    assert len(set(keys)) == len(ids)
    assert all(key is not None and key.isprintable() for key in keys)
