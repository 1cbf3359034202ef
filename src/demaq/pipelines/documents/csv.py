"""CSV: each line is a fact of the one relation that such a document has."""

import csv
import io
from collections.abc import Mapping

from demaq.diagnostics import listing
from demaq.pipelines.documents.shapes import PARENT, UID, Collector, Found, Shape
from demaq.pipelines.values import Value

csv.field_size_limit(16 * 1024 * 1024)


def read_csv(document: str | bytes, shapes: tuple[Shape, ...], options: Mapping[str, Value]) -> Found:
    """With names in the first line, unless the option `header` says that there are none."""
    assert isinstance(document, str)
    collector = Collector(shapes)
    if not collector.is_single:
        return Found.broken("CSV has the facts of one relation only")
    shape = collector.first
    reader = csv.reader(io.StringIO(document), delimiter=str(options.get("delimiter", ",")), strict=True)
    names: list[str] | None = list(shape.names) if options.get("header") is False else None
    begins = at = 1  # lines: where a record begins, and where the next one does
    try:
        for line in reader:
            begins, at = at, reader.line_num + 1
            if not line:
                continue
            if names is None:
                names = [name.strip() for name in line]
                wanted = [name for name in shape.names if name not in (UID, PARENT)]
                missing = [name for name in wanted if name not in names]
                if wanted and missing == wanted:
                    return Found.broken(_nothing(names, wanted, shape), begins)
                if missing:
                    collector.problem(_missing(names, missing, shape), begins)
                for name in (name for name in wanted if names.count(name) > 1):
                    collector.problem(f"there are several columns `{name}`: the last one is taken", begins)
                names = _last_ones(names)
            elif len(line) != len(names):
                collector.problem(f"the line has {_values(len(line))} instead of {len(names)}", begins)
            else:
                values = {name: value for name, value in zip(names, line, strict=True) if value != ""}
                collector.add(shape, values, line=begins)
    except csv.Error as error:
        collector.problem(f"it is no CSV from here on: {error}", at)
    return collector.found


def _values(number: int) -> str:
    return f"{number} value{'' if number == 1 else 's'}"


def _last_ones(names: list[str]) -> list[str]:
    """Columns by their names: of several that are called alike, only the last one has its name.

    >>> _last_ones(["id", "name", "id"])
    ['', 'name', 'id']
    """
    return ["" if name in names[after:] else name for after, name in enumerate(names, 1)]


def _missing(names: list[str], missing: list[str], shape: Shape) -> str:
    """Facts go on without these values: the column may be misspelt, or not."""
    what = "are no columns" if len(missing) > 1 else "is no column"
    return f"there {what} {listing(missing, 'and')} for `{shape.relation}`: there are {', '.join(names)}"


def _nothing(names: list[str], wanted: list[str], shape: Shape) -> str:
    return (
        f"no column has the name of a parameter of `{shape.relation}`: there are {', '.join(names)}, "
        f"and parameters are {', '.join(wanted)}; if the first line has no names, write header=false"
    )
