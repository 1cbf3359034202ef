"""What can go wrong with a pipeline as a whole."""

from collections.abc import Iterable

from demaq.diagnostics import Code, DemaqError, Diagnostic, Span, render
from demaq.pipelines import codes


class PipelineNotFound(DemaqError):
    """There is no pipeline at that place."""


class PipelineInvalid(DemaqError):
    """The pipeline has errors; `diagnostics` says which."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n\n".join(render(diagnostic) for diagnostic in self.diagnostics))


class PipelineFailed(DemaqError):
    """A pipeline cannot run; the text says why, and what to do."""


class InputWrong(PipelineFailed):
    """Something cannot be read, and whoever runs the pipeline does not allow that."""


class PipelineSyntaxError(DemaqError):
    """A statement is not written as the grammar asks. The parser catches it and goes on with the next one."""

    def __init__(self, message: str, span: Span, *, help: str | None = None, code: Code = codes.SYNTAX) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.span = span
        self.help = help
