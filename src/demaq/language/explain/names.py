"""Names in namespaces, as a person writes them: `p:order` in place of `Q{urn:p}order`."""

import re
from collections.abc import Iterable

from demaq.language.program import ModuleProgram, Program, Rule

_NAME = re.compile(r"Q\{([^{}]*)\}(?=[\w*])")


class Names:
    """Shows names with the prefixes that modules declare, and remembers which of them it used.

    Where two modules mean different namespaces by a prefix, it stands for that of the first. A name whose namespace
    has no prefix left stays as it is.
    """

    def __init__(self, modules: Iterable[ModuleProgram]) -> None:
        meanings: dict[str, str] = {}
        for module in modules:
            for prefix, uri in module.namespaces.items():
                meanings.setdefault(prefix, uri)
        self._prefixes = {uri: prefix for prefix, uri in reversed(meanings.items())}
        self._used: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """A name, or a text with names in it, as it is to be shown."""
        return _NAME.sub(self._shown, text)

    def _shown(self, found: re.Match[str]) -> str:
        uri = found[1]
        if uri not in self._prefixes:
            return found[0]
        self._used[self._prefixes[uri]] = uri
        return f"{self._prefixes[uri]}:"

    def meanings(self) -> str:
        """What the prefixes mean that were used so far; nothing if none was."""
        return ", ".join(f"{prefix} = {uri}" for prefix, uri in sorted(self._used.items()))


def names_of(program: Program, rule: Rule | None = None) -> Names:
    """The names of a program, or as the module of a rule writes them."""
    modules = sorted(program.modules.values(), key=lambda module: rule is not None and module.name != rule.module)
    return Names(modules)
