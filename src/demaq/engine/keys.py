"""The values of indexed paths in a message, found when it is made, and kept with it as a text."""

from collections.abc import Sequence
from json.encoder import encode_basestring as quoted

from demaq.model.texts import read_text

Values = Sequence[tuple[int, str]]
"""Each with the number of its path."""


def keys_text(of: str, values: Values) -> str:
    """`of` is the digest of the paths.

    >>> keys_text("1a", [(0, "ü"), (2, "")])
    '["1a", [0, "ü"], [2, ""]]'
    """
    return f"[{', '.join((quoted(of), *(f'[{number}, {quoted(value)}]' for number, value in values)))}]"


def keys_in(text: str | None, of: str) -> Values | None:
    """None if there are none, or those of other paths.

    >>> keys_in('["1a", [0, "ü"]]', "1a"), keys_in('["1a"]', "2b"), keys_in(None, "1a")
    (((0, 'ü'),), None, None)
    """
    if text is None or not text.startswith(f'["{of}"'):
        return None
    _, *values = read_text(text)
    return tuple([(number, value) for number, value in values])
