"""Applications that come as archives. Nothing in one is trusted."""

import io
import lzma
import struct
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from demaq.diagnostics import DemaqError

_MOST_FILES = 10_000
_MOST_BYTES = 100 * 1024 * 1024  # of all files


_BROKEN = (  # what is raised for archives of which something is wrong
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(NotImplementedError, RuntimeError, EOFError, OSError, ValueError),
)


class ArchiveInvalid(DemaqError):
    """An archive cannot be taken."""


def unpacked(data: bytes, place: Path) -> Path:
    """The folder of the application in a ZIP archive, unpacked somewhere."""
    folder = place / "application"
    folder.mkdir()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _unpack(archive, folder)
    except _BROKEN as error:
        raise ArchiveInvalid(f"the archive cannot be read: {error}") from error
    inside = list(folder.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


def _unpack(archive: zipfile.ZipFile, folder: Path) -> None:
    files = [file for file in archive.infolist() if not file.filename.endswith("/")]
    if len(files) > _MOST_FILES:
        raise ArchiveInvalid(f"the archive has more than {_MOST_FILES:,} files")
    left = _MOST_BYTES
    for file in files:
        place = PurePosixPath(file.filename)
        if (
            not place.parts
            or place.is_absolute()
            or ".." in place.parts
            or "\\" in file.filename
            or (file.external_attr >> 28) == 0xA
        ):
            raise ArchiveInvalid(f"the archive has a file where none may be: {file.filename}")
        target = folder.joinpath(*place.parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(file) as source, open(target, "wb") as copy:
            while chunk := source.read(1024 * 1024):
                left -= len(chunk)
                if left < 0:
                    raise ArchiveInvalid(f"the archive has more than {_MOST_BYTES:,} bytes")
                copy.write(chunk)
