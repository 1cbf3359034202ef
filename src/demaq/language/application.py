"""An application as it lies on disk: a folder with modules and `demaq.toml`, or a single module."""

import difflib
from dataclasses import dataclass
from pathlib import Path

from demaq.diagnostics import Report, Source
from demaq.language import codes
from demaq.language.configuration import Configuration, read_configuration
from demaq.language.errors import ApplicationNotFound

SUFFIX = ".demaq"


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """The texts of an application; `root` is the folder that its file names are relative to."""

    name: str
    root: Path
    sources: tuple[Source, ...]
    complete: bool = True  # whether every file could be read
    configuration: Configuration


def load(path: Path | str, report: Report) -> Application:
    """Read the texts of an application. What cannot be read is reported."""
    place = Path(path)
    if not place.exists():
        raise ApplicationNotFound(f"there is no file or folder `{place}`{_similar(place)}")
    root = place if place.is_dir() else place.parent
    files = _modules(place)
    sources = [source for file in files if (source := _read(file, report)) is not None]
    configuration = read_configuration(root, report) if place.is_dir() else Configuration()
    name = configuration.name or (place.resolve().name if place.is_dir() else place.stem)
    complete = len(sources) == len(files)
    return Application(name=name, root=root, sources=tuple(sources), complete=complete, configuration=configuration)


def _modules(place: Path) -> list[Path]:
    if place.is_file():
        if place.suffix != SUFFIX:
            raise ApplicationNotFound(f"`{place}` is no `{SUFFIX}` file; an application is one, or a folder with some")
        return [place]
    files = sorted(file for file in place.rglob(f"*{SUFFIX}") if not _hidden(file.relative_to(place)))
    if not files:
        raise ApplicationNotFound(f"the folder `{place}` has no `{SUFFIX}` files; `demaq init {place}` makes one")
    return files


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _similar(place: Path) -> str:
    if not place.parent.is_dir():
        return ""
    close = difflib.get_close_matches(place.name, [entry.name for entry in place.parent.iterdir()], n=1)
    return f"; did you mean `{place.parent / close[0]}`?" if close else ""


def _read(file: Path, report: Report) -> Source | None:
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        report.say(
            codes.UNREADABLE,
            None,
            f"`{file}` is not UTF-8: byte {error.start} cannot be read",
            help="save it as UTF-8",
        )
        return None
    except OSError as error:
        report.say(codes.UNREADABLE, None, f"`{file}` cannot be read: {error.strerror}")
        return None
    return Source(str(file), text)
