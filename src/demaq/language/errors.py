"""What can go wrong with an application as a whole."""

from collections.abc import Iterable

from demaq.diagnostics import DemaqError, Diagnostic, render


class ApplicationNotFound(DemaqError):
    """There is no application at that place."""


class ApplicationInvalid(DemaqError):
    """The application has errors; `diagnostics` says which."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n\n".join(render(diagnostic) for diagnostic in self.diagnostics))
