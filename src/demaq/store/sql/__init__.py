"""Named queries and numbered migrations, read from the files beside this one."""

import re
from functools import cache
from importlib import resources

_HEADING = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)
_MIGRATION = re.compile(r"(\d{4})_\w+\.sql")

COLUMNS = (
    "id, queue, body, cast(properties as text), created, origin, cause, rule, rank, priority, due, position,"
    " processed, version, failed, retained, held, keys"
)
_LIGHT = COLUMNS.replace("body", "''")  # without what makes them large


@cache
def queries(dialect: str) -> dict[str, str]:
    """The queries of a dialect, by name."""
    return {**_read("common.sql"), **_read(f"{dialect}.sql")}


def _read(file: str) -> dict[str, str]:
    text = resources.files(__package__).joinpath(file).read_text(encoding="utf-8")
    parts = _HEADING.split(text)[1:]
    found = {}
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        assert name not in found, name
        found[name] = (
            _COMMENT.sub("", body).replace("{columns}", COLUMNS).replace("{light}", _LIGHT).strip().rstrip(";")
        )
    return found


@cache
def migrations(dialect: str) -> dict[int, str]:
    """The steps that bring a store up to date, by number."""
    folder = resources.files(__package__).joinpath("migrations", dialect)
    found = {}
    for file in folder.iterdir():
        match = _MIGRATION.fullmatch(file.name)
        if match is not None:
            found[int(match[1])] = file.read_text(encoding="utf-8")
    return dict(sorted(found.items()))


def newest(dialect: str) -> int:
    """The number of the last migration: the version of the schema that this program writes."""
    return max(migrations(dialect))
