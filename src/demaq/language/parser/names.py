"""Names of files."""

from demaq.language.tree import FileName
from demaq.xquery.parser import Kind, Parser


def file_name(p: Parser, what: str) -> FileName:
    """A string, or a bare name such as `supplier.wsdl`."""
    token = p.peek()
    if token.kind is Kind.STRING:
        path = p.string()
    elif token.kind is Kind.NAME and ":" not in token.text:
        path = p.take().text
    else:
        p.fail_expected(what, help="a name with slashes or spaces stands in quotes")
    return FileName(p.span_of(token), path)
