"""Which name a person may have meant."""

import difflib
from collections.abc import Collection, Iterable

_SHOWN = 12


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one, if one is like it at all.

    >>> nearest("orderID", ["orderId", "customer"])
    'orderId'
    >>> nearest("zebra", ["orderId", "customer"])
    """
    names = sorted(set(known))
    for candidate in names:
        if candidate.casefold() == name.casefold():
            return candidate
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.65)
    begun = (candidate for candidate in names if len(name) >= 4 and candidate.casefold().startswith(name.casefold()))
    return close[0] if close else next(begun, None)


def did_you_mean(name: str, known: Collection[str], what: str) -> str:
    """The help for an unknown name: the nearest one, and the names there are.

    >>> did_you_mean("crn", ["crm", "legal"], "queues")
    'did you mean `crm`? The queues are `crm` and `legal`'
    """
    if not known:
        return f"there are no {what}"
    close = nearest(name, known)
    if len(known) == 1:
        return f"did you mean `{close}`?" if close is not None else f"there is only {listing(known)}"
    question = f"did you mean `{close}`? The" if close else "the"
    return f"{question} {what} are {listing(known)}"


def listing(names: Iterable[str], last: str = "and") -> str:
    """Names as a person would list them; of very many only the first.

    >>> listing(["b", "a", "c"])
    '`a`, `b` and `c`'
    """
    quoted = [f"`{name}`" for name in sorted(set(names))]
    if len(quoted) > _SHOWN:
        return f"{', '.join(quoted[:_SHOWN])} {last} {len(quoted) - _SHOWN} more"
    if len(quoted) < 2:
        return "".join(quoted)
    return f"{', '.join(quoted[:-1])} {last} {quoted[-1]}"
