"""What can go wrong with a text that should be XQuery."""

from demaq.diagnostics import DemaqError, Span


class XQuerySyntaxError(DemaqError):
    """The text is not XQuery. `code` is the W3C's name for the error, `line` and `column` say where."""

    def __init__(self, message: str, span: Span, *, code: str = "XPST0003", help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.code = f"err:{code}"
        self.help = help
        self.line, self.column = span.source.line_column(span.start)

    def __str__(self) -> str:
        return f"{self.code} at line {self.line}, column {self.column}: {self.message}"
