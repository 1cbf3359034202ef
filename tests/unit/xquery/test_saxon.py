"""What the engine says, as data; and every way out of it closed."""

import subprocess
import sys
from pathlib import Path

import pytest

from demaq.xquery.saxon import Saxon, SaxonError


@pytest.fixture(scope="module")
def saxon() -> Saxon:
    return Saxon()


def test_what_compiles_says_nothing(saxon: Saxon) -> None:
    saxon.check("function($m as document-node()) { $m ! //a }")


@pytest.mark.parametrize(
    ("query", "code", "line"),
    [
        ("function($m) {\n  $m,\n  $zz }", "XPST0008", 3),
        ("function($m) {\n  1 + 'a' }", "XPTY0004", 2),
        ("function($m) {\n  foo:bar($m) }", "XPST0081", 2),
        ("function($m) { local:bar($m) }", "XPST0017", None),
        (
            "function($m as document-node()) { let $d := xs:date('2001-13-01') return $d + 1 + upper-case(1) }",
            "XPTY0004",
            1,
        ),
    ],
)
def test_refusals_have_their_code_and_place(saxon: Saxon, query: str, code: str, line: int | None) -> None:
    with pytest.raises(SaxonError) as caught:
        saxon.check(query)
    assert (caught.value.code, caught.value.line) == (code, line)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    "way_out",
    [
        "doc('file://{file}')",
        "unparsed-text('file://{file}')",
        "unparsed-text-lines('file://{file}')",
        "json-doc('file://{file}')",
        "collection('file://{folder}?select=*.xml')",
        "uri-collection('file://{folder}')",
        "transform(map {{ 'stylesheet-location' : 'file://{file}', 'source-node' : parse-xml('<a/>') }})",
        "parse-xml('<!DOCTYPE a [<!ENTITY x SYSTEM \"file://{file}\">]><a>&amp;x;</a>')",
    ],
)
def test_ways_out_are_closed(saxon: Saxon, way_out: str, tmp_path: Path) -> None:
    file = tmp_path / "secret.xml"
    file.write_text("<secret/>")
    with pytest.raises(SaxonError):
        saxon.check(way_out.format(file=file, folder=tmp_path))


_ELSEWHERE = """
import threading
from demaq.xquery.saxon import Saxon

def elsewhere(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

engines = []
for _ in range(3):
    engines.append(Saxon())
    elsewhere(engines.clear)
    elsewhere(lambda: engines.append(Saxon()))
    engines.clear()
print(Saxon().items("1 + 1")[0])
"""


def test_whoever_gives_an_engine_up_need_not_have_made_it() -> None:
    done = subprocess.run([sys.executable, "-c", _ELSEWHERE], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr[:1000]
