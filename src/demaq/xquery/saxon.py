"""Saxon, which compiles and evaluates XQuery. The only module that imports it.

Rules come from people we trust, messages from people we do not: every way out of the process is closed.
"""

import re
from dataclasses import dataclass

from saxonche import PySaxonApiError, PySaxonProcessor

from demaq.diagnostics import DemaqError

_CLOSED = {
    "http://saxon.sf.net/feature/allowedProtocols": "",
    "http://saxon.sf.net/feature/allow-external-functions": "false",
    "http://saxon.sf.net/feature/parserFeature?uri=http%3A//apache.org/xml/features/disallow-doctype-decl": "true",
}
_MESSAGE = re.compile(
    r"(?P<kind>Static error|Type error|Dynamic error|Error|Warning)\b"
    r"(?: in \{.*?\})?"
    r"(?: on line (?P<line>\d+)(?: at)? column (?P<column>\d+))?[^\n]*\n"
    r"\s+(?:(?P<code>[A-Z]{4}\d{4})\s+)?(?P<text>.*?)\s*(?=\n\S|\Z)",
    re.DOTALL,
)


class SaxonError(DemaqError):
    """The engine refused a query. Line and column are those of the query, or None where it does not say."""

    def __init__(self, message: str, *, code: str | None, line: int | None, column: int | None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class _Refusal:
    code: str | None
    message: str
    line: int | None
    column: int | None


class Saxon:
    """One processor. It is costly to make and cheap to keep; it cannot be shared between processes."""

    def __init__(self) -> None:
        self._processor = PySaxonProcessor(license=False)
        for name, value in _CLOSED.items():
            self._processor.set_configuration_property(name, value)

    @property
    def version(self) -> str:
        return str(self._processor.version)

    def check(self, query: str) -> None:
        """Compile a query whose evaluation does nothing (it gives back function items), or raise `SaxonError`."""
        compiler = self._processor.new_xquery_processor()
        try:
            compiler.set_query_content(query)
            compiler.run_query_to_value()
        except PySaxonApiError as error:
            refusal = _refusal(str(error))
            raise SaxonError(refusal.message, code=refusal.code, line=refusal.line, column=refusal.column) from error


def _refusal(text: str) -> _Refusal:
    """What the engine says in text, as data; warnings before the error are passed over."""
    for match in _MESSAGE.finditer(text):
        if match["kind"] != "Warning":
            line, column = match["line"], match["column"]
            return _Refusal(
                match["code"],
                " ".join(match["text"].split()),
                int(line) if line else None,
                int(column) if column else None,
            )
    return _Refusal(None, " ".join(text.split()), None, None)
