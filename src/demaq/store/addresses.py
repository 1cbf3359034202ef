"""Addresses, as they may be shown."""

from urllib.parse import urlsplit


def shown(url: str) -> str:
    """An address without its password.

    >>> shown("postgresql://ada:secret@localhost/demaq")
    'postgresql://ada:…@localhost/demaq'
    """
    parts = urlsplit(url)
    return url.replace(f":{parts.password}@", ":…@") if parts.password else url
