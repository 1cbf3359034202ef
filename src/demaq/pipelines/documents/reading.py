"""From a document to facts, in each format."""

from collections.abc import Callable, Iterable, Mapping

from demaq.pipelines.documents.csv import read_csv
from demaq.pipelines.documents.datalog import read_datalog
from demaq.pipelines.documents.json import read_json
from demaq.pipelines.documents.shapes import Found, Shape
from demaq.pipelines.documents.xml import read_xml
from demaq.pipelines.values import Value
from demaq.pipelines.vocabulary import Format

_READERS: dict[Format, Callable[[str | bytes, tuple[Shape, ...], Mapping[str, Value]], Found]] = {
    Format.JSON: read_json,
    Format.CSV: read_csv,
    Format.XML: read_xml,
    Format.DATALOG: read_datalog,
}


def read_document(
    document: str | bytes, format_: Format, shapes: Iterable[Shape], options: Mapping[str, Value] | None = None
) -> Found:
    """The facts of these relations in a document. What is no fact is told, and the rest is read."""
    if isinstance(document, bytes) and format_ is not Format.XML:  # XML says itself how it is encoded
        try:
            document = document.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = error.object.count(b"\n", 0, error.start) + 1
            return Found.broken(f"it is not UTF-8: byte {error.start} cannot be read", line)
    return _READERS[format_](document, tuple(shapes), options or {})
