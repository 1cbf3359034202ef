"""Lines with headings, and lists of names."""

from collections.abc import Iterable, Iterator, Sequence

from demaq.diagnostics import Paint

_WIDTH = 10
_SHOWN = 12


def headed(rows: Iterable[tuple[str, Iterable[str]]], paint: Paint) -> Iterator[str]:
    """Lines with a heading before the first of each kind. Kinds without lines are left out."""
    for heading, texts in rows:
        for number, text in enumerate(texts):
            label = heading if number == 0 else ""
            yield f"{paint(label.ljust(_WIDTH), 'hint')} {text}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """Names in their order; of very many only the first.

    >>> listed(["c", "a", "b"])
    'c, a and b'
    """
    if len(names) > _SHOWN:
        return f"{', '.join(names[:_SHOWN])} {last} {len(names) - _SHOWN} more"
    return f" {last} ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
