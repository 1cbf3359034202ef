"""Secrets in URIs: where they stand, and how the URI is shown without them."""

import re
from collections.abc import Iterator

from demaq.diagnostics import Span
from demaq.pipelines.tree import Uri

_WORDS = r"password|passwd|pwd|pass|secret|token|api[-_]?key|access[-_]?key|client[-_]?secret|sig(?:nature)?"
# What stands for something configured is no secret.
_SECRETS = (
    re.compile(r"//[^/?#@:$]*:(?P<secret>[^/?#@$]+)@"),  # http://user:secret@host
    re.compile(r"^jdbc:oracle:\w+:[^/@$]+/(?P<secret>[^@$]+)@", re.IGNORECASE),
    re.compile(rf"[?&;](?:{_WORDS})=(?P<secret>[^&;#$][^&;#]*)", re.IGNORECASE),
)
_HIDDEN = "***"


def secrets_in(uri: str) -> list[tuple[int, int]]:
    """Where secrets begin and end.

    >>> secrets_in("http://ann:s3cret@host/"), secrets_in("http://ann:$password@host/")
    ([(11, 17)], [])
    """
    found = {match.span("secret") for pattern in _SECRETS for match in pattern.finditer(uri)}
    return sorted(found)


def masked(uri: str) -> str:
    """The URI as it may be shown to anybody.

    >>> masked("jdbc:postgresql://host/db?user=ann&password=s3cret")
    'jdbc:postgresql://host/db?user=ann&password=***'
    """
    for start, end in reversed(secrets_in(uri)):
        uri = uri[:start] + _HIDDEN + uri[end:]
    return uri


def places_of_secrets(uri: Uri) -> Iterator[Span]:
    """Where secrets stand in the source; all of the URI if it has escapes."""
    begin = uri.span.text.find(uri.text)
    for start, end in secrets_in(uri.text):
        if begin < 0:
            yield uri.span
        else:
            first = uri.span.start + begin
            yield Span(uri.span.source, first + start, first + end)
