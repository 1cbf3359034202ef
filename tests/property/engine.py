"""Saxon as the judge of what we read and print."""

import re
from functools import cache

from saxonche import PySaxonApiError, PySaxonProcessor

_CODE = re.compile(r"^\s+((?!SXWN)[A-Z]{4}\d{4})\b", re.MULTILINE)
SYNTAX = "XPST0003"


@cache
def _processor() -> PySaxonProcessor:
    return PySaxonProcessor(license=False)


def refusal(query: str) -> str | None:
    """The code of the error for which Saxon refuses a query, "" if it gives none, None if it does not refuse it."""
    return _run(query)[1]


def outcome(expression: str, prolog: str = "") -> str:
    """What an expression is worth, or the code of its error."""
    value, error = _run(f'{prolog}serialize((\n{expression}\n), map {{ "method" : "adaptive" }})')
    return f"error {error}" if error is not None else value


def _run(query: str) -> tuple[str, str | None]:
    compiler = _processor().new_xquery_processor()
    try:
        compiler.set_query_content(query)
        return str(compiler.run_query_to_value()), None
    except PySaxonApiError as error:
        code = _CODE.search(str(error))
        return "", code[1] if code else ""
