"""Files that the application names: there, readable, and what they should be."""

from collections.abc import Sequence

from demaq.diagnostics import Code, Report, Span, did_you_mean
from demaq.language import codes
from demaq.language import tree as t
from demaq.language.examined import Examined
from demaq.language.files import Files, Problem

_CODES: dict[str, Code] = {
    "missing": codes.FILE_MISSING,
    "outside": codes.FILE_OUTSIDE,
    "malformed": codes.FILE_MALFORMED,
    "invalid": codes.SCHEMA,
    "interface": codes.PORT,
}


_HELP: dict[str, str] = {
    "missing": "file names are relative to the folder of the application",
    "outside": "put it into the folder, so that the application is complete in it",
    "interface": "write it in WSDL 1.1: its root element is `definitions` of `http://schemas.xmlsoap.org/wsdl/`",
}


_OF_SCHEMAS, _OF_INTERFACES = (".xsd",), (".xsd", ".wsdl")


def check(examined: Examined, report: Report) -> None:
    files = examined.files
    for module in examined.linked.modules:
        for statement in module.syntax.statements:
            if isinstance(statement, t.QueueStatement):
                for option in statement.options:
                    _check_option(option, files, report)
            elif isinstance(statement, t.CollectionStatement):
                _check_collection(statement, files, report)


def _check_option(option: t.Option, files: Files, report: Report) -> None:
    if isinstance(option, t.FileOption):
        found = files.schema(option.file.path)
        _complain(found, option.file.span, report, "the schema")
        if not isinstance(found, Problem):
            _check_beside(_OF_SCHEMAS, option.file.span, files, report)
    elif isinstance(option, t.UsingOption):
        _complain(files.document(option.policy.path), option.policy.span, report, "the policy")
    elif isinstance(option, t.InterfaceOption):
        ports = files.ports(option.file.path)
        if isinstance(ports, Problem):
            _complain(ports, option.file.span, report, "the interface")
        elif option.port.local not in ports:
            report.say(
                codes.PORT,
                option.port.span,
                f"the interface `{option.file.path}` has no port `{option.port.local}`",
                help=did_you_mean(option.port.local, ports, "ports"),
            )
        else:
            _check_beside(_OF_INTERFACES, option.file.span, files, report)


def _check_beside(endings: Sequence[str], span: Span, files: Files, report: Report) -> None:
    """What lies beside a schema or an interface belongs to the application: it may be included, and is served."""
    for name in (name for ending in endings for name in files.beside(ending)):
        _complain(files.document(name), span, report, "the file")


def _complain(found: object, span: Span, report: Report, what: str) -> None:
    if isinstance(found, Problem):
        text = f"{what} is not valid: {found.message}" if found.kind == "invalid" else found.message
        report.say(_CODES[found.kind], span, text, help=_HELP.get(found.kind))


def _check_collection(statement: t.CollectionStatement, files: Files, report: Report) -> None:
    pattern = statement.pattern
    if files.is_outside(pattern.path):
        _complain(files.document(pattern.path), pattern.span, report, "the collection")
        return
    matching = files.matching(pattern.path)
    if not matching:
        report.say(
            codes.COLLECTION_EMPTY,
            pattern.span,
            f"no file matches `{pattern.path}`",
            help="patterns are relative to the folder of the application; `*` stands for any name, `**` for any folder",
        )
    for name in matching:
        _complain(files.document(name), pattern.span, report, "the document")
