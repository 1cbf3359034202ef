"""Lines of the log: one for each event, whatever is in it."""

import io
import json
import logging
import sys

import pytest

from demaq.logs import logger, tell, written

LOG = logger("test")
HOSTILE = 'a"b\n2026-01-01 info demaq.node: node stopped\r\x1b[2J\u2028\x85=é\ud800'


def _lines(form: str, **fields: object) -> list[str]:
    stream = io.StringIO()
    with written(form, stream):
        tell(LOG, "it happened", **fields)  # type: ignore[arg-type]
    return stream.getvalue().splitlines()


def test_json_has_an_object_for_each_event() -> None:
    (line,) = _lines("json", id=7, queue="orders", seconds=0.5, key=None)
    found = json.loads(line)
    assert found.pop("time").endswith("Z")
    assert found == {
        "level": "info",
        "logger": "demaq.test",
        "event": "it happened",
        "id": 7,
        "queue": "orders",
        "seconds": 0.5,
    }


def test_text_is_for_people() -> None:
    (line,) = _lines("text", id=7, queue="orders", reason="not so")
    assert line.endswith('Z info    demaq.test: it happened id=7 queue=orders reason="not so"')


@pytest.mark.parametrize("form", ["json", "text"])
def test_hostile_text_stays_in_its_line(form: str) -> None:
    (line,) = _lines(form, path=HOSTILE)
    assert line.isascii()
    assert line.isprintable()
    if form == "json":
        assert json.loads(line)["path"] == HOSTILE


@pytest.mark.parametrize("form", ["json", "text"])
def test_hostile_text_of_libraries_does_so_too(form: str) -> None:
    stream = io.StringIO()
    with written(form, stream):
        # Records of tests that fail are shown, and sent to whoever shows them: as UTF-8, which has no half of a pair.
        logging.getLogger("some.library").warning("took %s", HOSTILE.encode("utf-8", "replace").decode())
        logging.getLogger("some.library").info("not asked for")
    (line,) = stream.getvalue().splitlines()
    assert line.isprintable()


def test_what_is_long_is_cut() -> None:
    (line,) = _lines("json", key="k" * 10_000)
    assert len(line) < 1_000


def test_of_an_exception_the_place_is_told_and_not_what_it_says() -> None:
    stream = io.StringIO()
    with written("json", stream):
        try:
            raise ValueError("the body of a message")
        except ValueError:
            LOG.exception("it failed")
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["exception"] == "ValueError"
    assert "test_logs.py" in json.loads(line)["traceback"]
    assert "the body of a message" not in stream.getvalue().replace('raise ValueError(\\"the body of a message\\")', "")


def test_nothing_is_written_unless_somebody_asks(capfd: pytest.CaptureFixture[str]) -> None:
    with written("off"):
        tell(LOG, "it happened", level=logging.ERROR)
    assert capfd.readouterr() == ("", "")


def test_afterwards_all_is_as_before() -> None:
    before = logging.getLogger().handlers[:], logging.getLogger("demaq").level
    with written("json", sys.stderr):
        assert LOG.isEnabledFor(logging.INFO)
    assert (logging.getLogger().handlers[:], logging.getLogger("demaq").level) == before
    assert not LOG.isEnabledFor(logging.INFO)
