"""The head of `@from`, `@enrich` and `@to`: where facts are, and how they are written down."""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from demaq.diagnostics import Report, did_you_mean, listing
from demaq.pipelines import codes
from demaq.pipelines import tree as t
from demaq.pipelines.program import Endpoint
from demaq.pipelines.secrets import CONFIGURED, HIDDEN, masked, secrets_of
from demaq.pipelines.values import Value
from demaq.pipelines.vocabulary import AUTHORIZATION, DELIMITER, ENDPOINT_OPTIONS, Format

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
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
_PACKED = (".gz", ".bz2")
_PACKED_OTHERWISE = (".zst", ".xz", ".lz4", ".lzma", ".zip")
_NO_DELIMITERS = '"\r\n\0'
_WITH_LINES = ("file", "http", "https", "twitter")  # schemes of documents that may have lines
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
    is_guessed = name == "file" and format_ is None and ending not in _ENDINGS
    if CONFIGURED.match(uri):
        _say_unknown_scheme(annotation, report)
    elif name == "file" and PurePosixPath(path).suffix.lower() in _PACKED_OTHERWISE:
        _say_unknown_packing(annotation, report)
    elif name == "file" and format_ is None and not _is_told(path):
        _say_unknown_ending(annotation, report)
    if isinstance(annotation, t.To) and name == "file" and is_pattern(path):
        _say_pattern(annotation, report)
    format_ = format_ or _ENDINGS.get(ending) or _SCHEMES.get(name, Format.JSON)
    if name in _WITH_LINES and not isinstance(annotation, t.To) and format_ is Format.CSV:
        _check_names_of_lines(annotation, options, report)
    return Endpoint(
        uri=uri,
        shown=masked(uri),
        scheme=name,
        path=path.removeprefix("//") if name == "file" else path,
        format=format_,
        options=options,
        configured=tuple(dict.fromkeys(CONFIGURED.findall(f"{uri} {options.get(AUTHORIZATION, '')}"))),
        is_guessed=is_guessed,
        hidden=tuple((secret, HIDDEN) for secret in secrets_of(uri, options)),
    )


def is_pattern(path: str) -> bool:
    """Does a name stand for others? Brackets may be those of a file."""
    return "*" in path or "?" in path


def words_of(path: str) -> tuple[str, ...]:
    """What the ending of a file says of its format, as it could be written behind the URI.

    >>> words_of("a.csv.gz"), words_of("a.jsonl"), words_of("a")
    (('csv',), ('json', 'lines'), ())
    """
    ending = _ending(path)
    if ending not in _ENDINGS:
        return ()
    return (_ENDINGS[ending].value, "lines") if ending in _OF_LINES else (_ENDINGS[ending].value,)


def _ending(path: str) -> str:
    name = PurePosixPath(path.partition("?")[0])
    return (name.with_suffix("") if name.suffix.lower() in _PACKED else name).suffix.lower()


def _is_told(path: str) -> bool:
    """Does the name of a file say its format? Without an ending, it is a folder, which has JSON."""
    return path.endswith("/") or not PurePosixPath(path).suffix or _ending(path) in _ENDINGS


def _say_unknown_ending(annotation: t.From | t.Enrich | t.To, report: Report) -> None:
    """What a word that is no format was meant to say is not known, and told already."""
    if any(option.value is None and option.name.text not in ENDPOINT_OPTIONS for option in annotation.options[:1]):
        return
    report.say(
        codes.UNKNOWN_ENDING,
        annotation.uri.span,
        f"the ending `{PurePosixPath(annotation.uri.text).suffix}` does not say in which format the file is",
        help=f"write the format behind it: {listing((format_.value for format_ in _ENDINGS.values()), 'or')}",
    )


def _say_unknown_scheme(annotation: t.From | t.Enrich | t.To, report: Report) -> None:
    """What is configured would be taken for the name of a file, whatever it is, and told as such."""
    name = CONFIGURED.match(annotation.uri.text)
    assert name is not None
    report.say(
        codes.UNKNOWN_SCHEME,
        annotation.uri.span,
        f"this URI begins with `{name[0]}`, so that nobody knows what is there: a file, a service or a database",
        help=f"write the scheme first, as in `file:{name[0]}`, `https:{name[0]}` or `jdbc:{name[0]}`",
    )


def _say_unknown_packing(annotation: t.From | t.Enrich | t.To, report: Report) -> None:
    suffix = PurePosixPath(annotation.uri.text).suffix
    report.say(
        codes.UNKNOWN_ENDING,
        annotation.uri.span,
        f"files that end with `{suffix}` can neither be unpacked nor be packed here",
        help=f"pack them with gzip or bzip2, and name them {listing(_PACKED, 'or')}",
    )


def _check_names_of_lines(annotation: t.From | t.Enrich, options: Mapping[str, Value], report: Report) -> None:
    """Each line would be taken for the one with the names, and have no facts."""
    if "lines" in options and options.get("header") is not False:
        (option, *_) = (option for option in annotation.options if option.name.text == "lines")
        report.say(
            codes.OPTION_VALUE,
            option.span,
            "each line would be a document of CSV of its own, and only the first one has the names",
            help="leave `lines` out; or write `header=false`, if there are no names",
        )


def _say_pattern(annotation: t.To, report: Report) -> None:
    report.say(
        codes.PATTERN,
        annotation.uri.span,
        "this goal is a pattern, which stands for files that are there, and not for one to be written",
        help="name a file, or a folder, as in `file:out/`, for a file with each message",
    )


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
            self._check_value(option, value.value)
        else:
            usage = name if type_ is None else f"{name}={_EXAMPLES[name]}"
            message = f"`{name}` {'stands alone' if type_ is None else f'has a value of type {type_.value}'}"
            self._report.say(codes.OPTION_VALUE, option.span, message, help=f"write `{usage}`")

    def _check_value(self, option: t.Option, value: Value) -> None:
        if option.name.text == DELIMITER and (len(str(value)) != 1 or str(value) in _NO_DELIMITERS):
            message = f"`{DELIMITER}` is one character, and no quotation mark or line end"
            self._report.say(
                codes.OPTION_VALUE, option.span, message, help=f"write `{DELIMITER}={_EXAMPLES[DELIMITER]}`"
            )

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
    DELIMITER: '";"',
    "table": '"players"',
    "authorization": '"Bearer $token"',
    "every": "30",
    "key": '"customer"',
}
