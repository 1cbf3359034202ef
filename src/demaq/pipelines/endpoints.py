"""The head of `@from`, `@enrich` and `@to`: where facts are, and how they are written down."""

import re
from pathlib import PurePosixPath

from demaq.diagnostics import Report, did_you_mean
from demaq.pipelines import codes
from demaq.pipelines import tree as t
from demaq.pipelines.program import Endpoint
from demaq.pipelines.secrets import masked
from demaq.pipelines.values import Value
from demaq.pipelines.vocabulary import AUTHORIZATION, ENDPOINT_OPTIONS, Format

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_CONFIGURED = re.compile(r"\$([^\W\d]\w*)")
_FORMATS = {format_.value: format_ for format_ in Format}
_ENDINGS = {
    ".json": Format.JSON,
    ".jsonl": Format.JSON,
    ".ndjson": Format.JSON,
    ".csv": Format.CSV,
    ".xml": Format.XML,
    ".datalog": Format.DATALOG,
    ".dl": Format.DATALOG,
    ".parquet": Format.PARQUET,
    ".pq": Format.PARQUET,
}
_OF_LINES = (".jsonl", ".ndjson")
_COMPRESSED = (".gz", ".bz2", ".zst")
_SCHEMES = {"jdbc": Format.ROWS, "spark": Format.ROWS, "queue": Format.XML}


def endpoint(annotation: t.From | t.Enrich | t.To, report: Report) -> Endpoint:
    """The endpoint of an annotation. Words that are not known are reported, and left out."""
    uri = annotation.uri.text
    scheme = _SCHEME.match(uri)
    path = uri[scheme.end() :] if scheme else uri
    format_, options = _Words(annotation, report).read()
    ending = _ending(path)
    if ending in _OF_LINES and format_ in (None, Format.JSON):
        options.setdefault("lines", True)
    name = scheme[1].lower() if scheme else "file"
    return Endpoint(
        uri=uri,
        shown=masked(uri),
        scheme=name,
        path=path.removeprefix("//") if name == "file" else path,
        format=format_ or _ENDINGS.get(ending) or _SCHEMES.get(name, Format.JSON),
        options=options,
        configured=tuple(dict.fromkeys(_CONFIGURED.findall(f"{uri} {options.get(AUTHORIZATION, '')}"))),
    )


def _ending(path: str) -> str:
    name = PurePosixPath(path.partition("?")[0])
    return (name.with_suffix("") if name.suffix in _COMPRESSED else name).suffix.lower()


class _Words:
    """The words after the URI: a format, if any, then options."""

    def __init__(self, annotation: t.From | t.Enrich | t.To, report: Report) -> None:
        self._annotation = annotation
        self._report = report
        self._format: Format | None = None
        self._options: dict[str, Value] = {}

    def read(self) -> tuple[Format | None, dict[str, Value]]:
        for option in self._annotation.options:
            self._option(option)
        return self._format, self._options

    def _option(self, option: t.Option) -> None:
        name = option.name.text
        if option.value is None and name in _FORMATS:
            self._take_format(option)
        elif name not in ENDPOINT_OPTIONS:
            self._unknown(option)
        elif name in self._options:
            self._report.say(codes.OPTION_VALUE, option.span, f"`{name}` is given twice", help="give it once")
        else:
            self._take_option(option)

    def _take_format(self, option: t.Option) -> None:
        if self._format is not None:
            message = f"there are two formats, `{self._format.value}` and `{option.name}`"
            self._report.say(codes.OPTION_VALUE, option.span, message, help="an endpoint has one format")
        self._format = _FORMATS[option.name.text]

    def _take_option(self, option: t.Option) -> None:
        name, value = option.name.text, option.value
        type_ = ENDPOINT_OPTIONS[name]
        if type_ is None and value is None:
            self._options[name] = True
        elif type_ is not None and isinstance(value, t.Literal) and value.type is type_:
            self._options[name] = value.value
        else:
            usage = name if type_ is None else f"{name}={_EXAMPLES[name]}"
            message = f"`{name}` {'stands alone' if type_ is None else f'has a value of type {type_.value}'}"
            self._report.say(codes.OPTION_VALUE, option.span, message, help=f"write `{usage}`")

    def _unknown(self, option: t.Option) -> None:
        """The first word is rather a format; what has a value, or follows one, an option."""
        name = option.name.text
        is_first = option is self._annotation.options[0]
        if is_first and option.value is None:
            known = [*_FORMATS]
            code, message, what = codes.UNKNOWN_FORMAT, f"there is no format `{name}`", "formats"
        else:
            known = [*ENDPOINT_OPTIONS]
            code, message, what = codes.UNKNOWN_OPTION, f"there is no option `{name}`", "options"
        self._report.say(code, option.name.span, message, help=did_you_mean(name, known, what))


_EXAMPLES = {
    "header": "false",
    "delimiter": '";"',
    "table": '"players"',
    "authorization": '"Bearer $token"',
    "every": "30",
}
