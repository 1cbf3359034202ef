"""Files that applications name, in whatever encoding they are."""

from pathlib import Path

import pytest
from lxml import etree

from demaq.language.files import Problem, read_text, read_xml

TEXT = "<prices café='1'/>"


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [("utf-8", ""), ("utf-8-sig", ""), ("utf-8", "utf-8"), ("latin-1", "iso-8859-1"), ("utf-16", "utf-16")],
)
def test_text_is_read_in_the_encoding_that_it_names(tmp_path: Path, encoding: str, declared: str) -> None:
    file = tmp_path / "prices.xml"
    head = f'<?xml version="1.0" encoding="{declared}"?>\n' if declared else ""
    file.write_bytes((head + TEXT).encode(encoding))
    assert not isinstance(read_xml(file, file.name), Problem)
    assert read_text(file).endswith(TEXT)
    assert dict(etree.fromstring(read_text(file).encode()).attrib) == {"café": "1"}, "as all who use the text parse it"


def test_bytes_that_are_no_text_are_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "prices.xml"
    file.write_bytes(b"<prices/><!-- \xff -->")
    found = read_xml(file, file.name)
    assert isinstance(found, Problem)
    assert found.kind == "malformed"
