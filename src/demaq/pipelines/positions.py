"""The arguments of an atom, by the positions of its relation's parameters."""

from demaq.diagnostics import Note, Report, Span, did_you_mean, listing, nearest
from demaq.pipelines import codes
from demaq.pipelines import tree as t
from demaq.pipelines.linked import LinkedAtom, Lost, Positional
from demaq.pipelines.symbols import Symbols
from demaq.pipelines.vocabulary import AGGREGATED, FUNCTIONS, META, SPLITTED, TESTS


class Positions:
    """Places arguments. What does not fit is reported and lost."""

    def __init__(self, symbols: Symbols, report: Report) -> None:
        self.symbols = symbols
        self._report = report

    def place(self, atom: t.Atom, *, is_whole: bool = False) -> LinkedAtom:
        """`is_whole`: no parameter may be left out, as in facts and heads."""
        name = atom.relation.text
        arity = self.symbols.arity(name) if self.is_known(atom.relation) else None
        if arity is None:
            return Lost(atom)
        positional = [argument.value for argument in atom.arguments if argument.name is None]
        named = [argument for argument in atom.arguments if argument.name is not None]
        if len(positional) > arity or (not named and len(positional) < arity):
            help_ = _arity_help(name, len(positional) < arity)
            self._say_arity(name, atom.span, arity, len(positional), help_=help_)
            return Lost(atom)
        terms: list[t.Term | None] = [*positional, *[None] * (arity - len(positional))]
        if not self._place_named(atom, named, terms):
            return Lost(atom)
        if is_whole and not self._check_whole(atom, terms):
            return Lost(atom)
        return Positional(name, tuple(t.Wildcard(atom.span) if term is None else term for term in terms), atom)

    def check_declaration(self, declaration: t.Declaration) -> None:
        """Whether an annotation gives a relation as many parameters as it has elsewhere."""
        name, given = declaration.relation.text, len(declaration.columns)
        arity = self.symbols.arity(name)
        if arity is not None and given != arity:
            self._say_arity(name, declaration.span, arity, given, help_="a relation has the same parameters everywhere")

    def is_known(self, name: t.Name) -> bool:
        """Whether a relation is defined; if not, that is said."""
        if name.text in self.symbols or name.text in self.symbols.broken:
            return True
        self._report.say(
            codes.UNKNOWN_RELATION, name.span, f"there is no relation `{name}`", help=self._unknown_help(name.text)
        )
        return False

    def _unknown_help(self, name: str) -> str:
        if name == META:
            return "meta facts give names to parameters; rules cannot read them"
        for suffix, annotation in ((AGGREGATED, "@aggregate(…)"), (SPLITTED, "@split()")):
            base = name.removesuffix(suffix)
            if base != name and base in self.symbols:
                return f"it would come from `{annotation} {{ ?-{base}(…). }}`"
        known = [*self.symbols, *self.symbols.broken]
        function = nearest(name, (*FUNCTIONS, *TESTS))
        if function is not None and nearest(name, known) is None:
            return f"did you mean the built-in `{function}`?"
        return did_you_mean(name, known, "relations")

    def _say_arity(self, name: str, place: Span, arity: int, given: int, *, help_: str) -> None:
        parameters = ", ".join(self.symbols.parameters(name))
        parameter = "1 parameter" if arity == 1 else f"{arity} parameters"
        self._report.say(
            codes.ARITY,
            place,
            f"`{name}` has {parameter}, but {given} {'is' if given == 1 else 'are'} given",
            notes=[Note(f"it is defined here, as `{name}({parameters})`", self.symbols.first(name).place)],
            help=help_,
        )

    def _place_named(self, atom: t.Atom, named: list[t.Argument], terms: list[t.Term | None]) -> bool:
        parameters = self.symbols.parameters(atom.relation.text)
        fits = True
        for argument in named:
            assert argument.name is not None
            fits = self._place_one(atom, argument.name, argument, parameters, terms) and fits
        return fits

    def _place_one(
        self,
        atom: t.Atom,
        name: t.Name,
        argument: t.Argument,
        parameters: tuple[str, ...],
        terms: list[t.Term | None],
    ) -> bool:
        if name.text not in parameters:
            self._report.say(
                codes.UNKNOWN_PARAMETER,
                name.span,
                f"`{atom.relation}` has no parameter `{name}`",
                help=did_you_mean(name.text, parameters, f"parameters of `{atom.relation}`"),
            )
            return False
        position = parameters.index(name.text)
        if terms[position] is not None:
            self._report.say(
                codes.PARAMETER_TWICE,
                argument.span,
                f"the parameter `{name}` of `{atom.relation}` is given already",
                help="give it once, by name or by position",
            )
            return False
        terms[position] = argument.value
        return True

    def _check_whole(self, atom: t.Atom, terms: list[t.Term | None]) -> bool:
        parameters = self.symbols.parameters(atom.relation.text)
        missing = [name for name, term in zip(parameters, terms, strict=True) if term is None]
        if missing:
            self._report.say(
                codes.PARAMETER_MISSING,
                atom.span,
                f"{listing(missing)} of `{atom.relation}` {'is' if len(missing) == 1 else 'are'} missing",
                help="facts and heads of rules give a value to each parameter",
            )
        return not missing


def _arity_help(name: str, too_few: bool) -> str:
    if too_few:
        return f"write `_` for what does not matter, or name what does: `{name}(param: x)`"
    return "take away what is too much"
