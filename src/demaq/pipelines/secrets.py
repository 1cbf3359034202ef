"""Secrets that are written into pipelines: where they stand, and how a URI or an option is shown without them.

A secret is the value of a parameter whose name says so, and what stands before the host that lets somebody in. What
stands for something configured is none.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from demaq.diagnostics import Span
from demaq.pipelines.tree import Literal, Option, Uri
from demaq.pipelines.values import Value

HIDDEN = "***"
"""What is shown in place of a secret."""

CONFIGURED = re.compile(r"\$([^\W\d]\w*)")
"""What stands for something configured."""

Place = tuple[int, int]
"""Where a secret begins and ends in a text."""

_BEFORE_HOST = (
    # `user:secret@host`, up to the last `@`, but not the port in `host:80/a@b`.
    re.compile(r"//[^/?#@:\[]*:(?!(?:\d+|\$\w+)(?:[/?#,;]|$))(?P<secret>.+)@"),
    re.compile(r"https?://(?P<secret>[^/?#@:]+):?@", re.IGNORECASE),  # who needs no password is a token
    re.compile(r"^jdbc:oracle:\w+:[^/@]+/(?P<secret>.+)@", re.IGNORECASE),
)
# What stands before the name of a parameter says what ends its value; both are encoded in a URI inside of another.
_NAMED = r"(?P<name>[\w.-]+)"
_PARAMETERS = (
    re.compile(rf"[?&]{_NAMED}=(?P<secret>[^&]+)"),
    re.compile(rf"[;:]{_NAMED}=(?P<secret>\{{[^}}]*\}}|[^;]+)"),
    re.compile(rf"%(?:3F|26|3B){_NAMED}%3D(?P<secret>(?:(?!%26|%3B)[^&])+)", re.IGNORECASE),
)
_FRAGMENT = re.compile(r"^(https?:[^#]*)#", re.IGNORECASE)

_ANYWHERE = re.compile(r"password|passwd|passphrase|passcode|pwd|secret|credential", re.IGNORECASE)
_LAST = re.compile(r".*token|.*signature|sig|pass|pw|auth|authorization|bearer|jwt|sas|jaas")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_KEY = "key"
# What a key may be of that everybody can see, or nothing.
_OPEN = frozenset(("", _KEY, *"foreign kafka message partition primary public record routing row sort ssl".split()))


def is_secret(name: str) -> bool:
    """Does the name of a parameter say that its value is a secret? A key is one if it is said what it is a key of.

    >>> [is_secret(name) for name in ("sfPassword", "X-Amz-Signature", "fs.azure.account.key.me", "access_token")]
    [True, True, True, True]
    >>> [is_secret(name) for name in ("key", "primaryKey", "passenger", "tokenizer", "user")]
    [False, False, False, False, False]
    """
    if _ANYWHERE.search(name):
        return True
    before = ""
    for part in name.split("."):
        words = [before, *(word.lower() for word in _WORD.findall(part))]
        if _LAST.fullmatch(words[-1]) or _is_key(words):
            return True
        before = words[-1]
    return False


def _is_key(words: list[str]) -> bool:
    """Is the last word a key, and is it said what it is a key of? `account key` and `accountkey` say so."""
    return words[-1].endswith(_KEY) and (words[-1].removesuffix(_KEY) or words[-2:][0]) not in _OPEN


def secrets_in(uri: str) -> list[Place]:
    """Where secrets begin and end.

    >>> secrets_in("http://ann:s3cret@host/"), secrets_in("http://ann:$password@host/")
    ([(11, 17)], [])
    """
    fragment = _FRAGMENT.match(uri)
    text = uri if fragment is None else fragment[1]
    found = [match for pattern in _BEFORE_HOST for match in pattern.finditer(text)]
    found += [match for pattern in _PARAMETERS for match in pattern.finditer(text) if is_secret(match["name"])]
    return _apart(match.span("secret") for match in found if _is_literal(match["secret"]))


def _apart(places: Iterable[Place]) -> list[Place]:
    """Places that overlap are one."""
    found: list[Place] = []
    for start, end in sorted(places):
        if found and start < found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _is_literal(text: str) -> bool:
    """Is more written there than what stands for something configured?"""
    rest = CONFIGURED.sub("", text)
    return rest == text or re.search(r"\w", rest) is not None


def _secret_in_option(name: str, value: object) -> Place | None:
    """Where a secret stands in the value of an option: behind the word that says what kind it is, if there is one."""
    if not isinstance(value, str) or not value or not is_secret(name) or CONFIGURED.search(value):
        return None
    kind = re.match(r"[A-Za-z-]+\s+(?=\S)", value)
    return (kind.end() if kind else 0), len(value)


def masked(uri: str) -> str:
    """The URI as it may be shown to anybody.

    >>> masked("jdbc:postgresql://host/db?user=ann&password=s3cret")
    'jdbc:postgresql://host/db?user=ann&password=***'
    """
    for start, end in reversed(secrets_in(uri)):
        uri = uri[:start] + HIDDEN + uri[end:]
    return uri


def masked_options(options: Mapping[str, Value]) -> dict[str, Value]:
    """Options as they may be shown to anybody.

    >>> masked_options({"authorization": "Bearer s3cret", "key": "customer"})
    {'authorization': 'Bearer ***', 'key': 'customer'}
    """
    return {name: _masked_option(name, value) for name, value in options.items()}


def _masked_option(name: str, value: Value) -> Value:
    place = _secret_in_option(name, value)
    return value if place is None else f"{str(value)[: place[0]]}{HIDDEN}"


def secrets_of(uri: str, options: Mapping[str, Value]) -> list[str]:
    """The secrets themselves, which nobody may see."""
    places = [(name, value, _secret_in_option(name, value)) for name, value in options.items()]
    return [
        *(uri[start:end] for start, end in secrets_in(uri)),
        *(str(value)[place[0] :] for _, value, place in places if place is not None),
    ]


def places_of_secrets(uri: Uri) -> Iterator[Span]:
    """Where secrets stand in the source."""
    return _places(uri.span, uri.text, secrets_in(uri.text))


def places_in_option(option: Option) -> Iterator[Span]:
    """Where a secret stands in the value of an option in the source."""
    if isinstance(option.value, Literal):
        place = _secret_in_option(option.name.text, option.value.value)
        yield from _places(option.value.span, str(option.value.value), [] if place is None else [place])


def _places(span: Span, text: str, found: Iterable[Place]) -> Iterator[Span]:
    """Where parts of a text stand in the source; all of it if it has escapes."""
    begin = span.text.find(text)
    for start, end in found:
        if begin < 0:
            yield span
        else:
            first = span.start + begin
            yield Span(span.source, first + start, first + end)
