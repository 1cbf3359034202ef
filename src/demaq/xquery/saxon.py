"""Saxon, which compiles and evaluates XQuery. The only module that imports it.

Rules come from people we trust, messages from people we do not: every way out of the process is closed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from saxonche import PySaxonApiError, PySaxonProcessor

from demaq.diagnostics import DemaqError
from demaq.xquery.analysis.context import BASE

_CLOSED = {
    "http://saxon.sf.net/feature/allowedProtocols": "",
    "http://saxon.sf.net/feature/allow-external-functions": "false",
    "http://saxon.sf.net/feature/parserFeature?uri=http%3A//apache.org/xml/features/disallow-doctype-decl": "true",
}
# What messages may have is for us to say (`Limits`), and not for the parser.
_PARSER_LIMITS = {"elementAttributeLimit": 10**8, "maxXMLNameLimit": 10**8, "maxElementDepth": 10_000}
_PARSER_LIMIT = "http://saxon.sf.net/feature/parserProperty?uri=http%3A//www.oracle.com/xml/jaxp/properties/"
_FRESH = 10  # queries checked by one processor
_MESSAGE = re.compile(
    r"(?P<kind>Static error|Type error|Dynamic error|Error|Warning)\b"
    r"(?: in \{.*?\})?"
    r"(?: on line (?P<line>\d+)(?: at)? column (?P<column>\d+))?[^\n]*\n"
    r"\s+(?:(?P<code>[A-Z]{4}\d{4})\s+)?(?P<text>.*?)\s*(?=\n\S|\Z)",
    re.DOTALL,
)


Item = Any
"""A value of Saxon's: a node, a function, a map, an array or an atomic value."""


_EXHAUSTED = ("Too many distinct names in NamePool", "Internal error evaluating function")


class SaxonError(DemaqError):
    """The engine refused a query. Line and column are those of the query, or None where it does not say."""

    def __init__(self, message: str, *, code: str | None, line: int | None, column: int | None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.line = line
        self.column = column

    def __reduce__(self) -> tuple[Any, ...]:
        return _error, (type(self), self.message, self.code, self.line, self.column)


class SaxonExhausted(SaxonError):
    """The engine has seen so many names that it takes no more, or is broken. A new process can go on."""


@dataclass(frozen=True, slots=True)
class _Refusal:
    code: str | None
    message: str
    line: int | None
    column: int | None


class Saxon:
    """One processor. It is costly to make and cheap to keep; it cannot be shared between processes."""

    def __init__(self) -> None:
        self._checked = 0
        self._start()

    def _start(self) -> None:
        _kept()
        self._processor = PySaxonProcessor(license=False)
        for name, value in _CLOSED.items():
            self._processor.set_configuration_property(name, value)
        for name, limit in _PARSER_LIMITS.items():
            self._processor.set_configuration_property(f"{_PARSER_LIMIT}{name}", str(limit))
        self._builder = self._processor.new_document_builder()
        self._no_map, self._no_array = self.items("map { }, [ ]")

    @property
    def version(self) -> str:
        return str(self._processor.version)

    def check(self, query: str) -> None:
        """Compile a query whose evaluation does nothing (it gives back function items), or raise `SaxonError`.

        Saxon keeps all names that it ever saw, and compiles the slower the more there are: it starts afresh at times.
        """
        self._checked += 1
        if self._checked % _FRESH == 0:
            self._start()
        self._evaluate(query)

    def items(self, query: str) -> list[Item]:
        """What a query gives: functions that can be called many times, for example."""
        return _items(self._evaluate(query))

    def _evaluate(self, query: str) -> Any:
        compiler = self._processor.new_xquery_processor()
        compiler.set_query_base_uri(BASE)
        try:
            compiler.set_query_content(query)
            return compiler.run_query_to_value()
        except PySaxonApiError as error:
            raise _saxon_error(error) from error

    def call(self, function: Item, *arguments: Item) -> str:
        """Call a function that gives one string. (Other ways to get at a result leak memory, or are slow.)"""
        try:
            return str(function.call(list(arguments)))
        except PySaxonApiError as error:
            raise _saxon_error(error) from error

    def call_for_items(self, function: Item, *arguments: Item) -> tuple[str, list[Item]]:
        """Call a function that gives one string, and perhaps items after it."""
        try:
            value = function.call(list(arguments))
        except PySaxonApiError as error:
            raise _saxon_error(error) from error
        first, *others = _items(value)
        return str(first), others

    def called(self, function: Item, *arguments: Item) -> list[Item]:
        """What a function gives: functions, for example, that remember the arguments."""
        try:
            return _items(function.call(list(arguments)))
        except PySaxonApiError as error:
            raise _saxon_error(error) from error

    # Values

    def document(self, text: str) -> Item:
        """Parse a document that is known to be harmless: what is wrong with it goes to the error output as well."""
        try:
            return self._builder.parse_xml(xml_text=text)
        except PySaxonApiError as error:
            raise _saxon_error(error) from error

    def string(self, text: str) -> Item:
        return self._processor.make_string_value(text)

    def array(self, items: Sequence[Item]) -> Item:
        return self._processor.make_array(list(items)) if items else self._no_array

    def map(self, items: Mapping[str, Item]) -> Item:
        return self._processor.make_map2(dict(items)) if items else self._no_map


@cache
def _kept() -> PySaxonProcessor:
    """A processor that is never given up. The engine ends with the last one, and if whoever gives that up is another
    thread than had it made, as when garbage is collected, the whole process ends."""
    return PySaxonProcessor(license=False)


def _error(kind: type[SaxonError], message: str, code: str | None, line: int | None, column: int | None) -> SaxonError:
    return kind(message, code=code, line=line, column=column)


def _items(value: Any) -> list[Item]:
    return [] if value is None else [value.item_at(number) for number in range(value.size)]


def _saxon_error(error: PySaxonApiError) -> SaxonError:
    refusal = _refusal(str(error))
    is_exhausted = refusal.code is None and refusal.message.startswith(_EXHAUSTED)
    return (SaxonExhausted if is_exhausted else SaxonError)(
        refusal.message, code=refusal.code, line=refusal.line, column=refusal.column
    )


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
