"""The notation of the grammar in the language reference, read into trees."""

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"\s*(?:/\*(?P<comment>.*?)\*/|\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<name>\w+)|(?P<symbol>::=|[()|?*+]))",
    re.DOTALL,
)


@dataclass(frozen=True)
class Terminal:
    text: str


@dataclass(frozen=True)
class Symbol:
    """A nonterminal."""

    name: str


@dataclass(frozen=True)
class Row:
    """One after the other."""

    parts: tuple["Part", ...]


@dataclass(frozen=True)
class Choice:
    parts: tuple["Part", ...]


@dataclass(frozen=True)
class Repeat:
    """From `least` times on; at most once, or without limit."""

    part: "Part"
    least: int
    once: bool


Part = Terminal | Symbol | Row | Choice | Repeat
Grammar = dict[str, Part]


def read_grammar(text: str) -> Grammar:
    """The productions, by name.

    >>> read_grammar('A ::= "a" B?   /* a comment */  B ::= "b" | "c"+')["A"]
    Row(parts=(Terminal(text='a'), Repeat(part=Symbol(name='B'), least=0, once=True)))
    """
    return _Reader(text).grammar()


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens: list[Terminal | str] = []
        position = 0
        text = text.strip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise AssertionError(f"not EBNF: {text[position : position + 40]!r}")
            position = match.end()
            if match["comment"] is not None:
                continue
            quoted = match["double"] if match["double"] is not None else match["single"]
            self._tokens.append(match["name"] or match["symbol"] if quoted is None else Terminal(quoted))

    def grammar(self) -> Grammar:
        productions: Grammar = {}
        while self._tokens:
            name = self._tokens.pop(0)
            assert isinstance(name, str), name
            assert name not in productions, f"{name} is defined twice"
            assert self._tokens.pop(0) == "::=", f"`::=` is missing after {name}"
            productions[name] = self._choice()
        return productions

    def _choice(self) -> Part:
        parts = [self._row()]
        while self._tokens and self._tokens[0] == "|":
            self._tokens.pop(0)
            parts.append(self._row())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _row(self) -> Part:
        parts = []
        while self._tokens and self._tokens[0] not in ("|", ")") and not self._begins_production():
            parts.append(self._repeat())
        return parts[0] if len(parts) == 1 else Row(tuple(parts))

    def _begins_production(self) -> bool:
        return len(self._tokens) > 1 and self._tokens[1] == "::="

    def _repeat(self) -> Part:
        part = self._part()
        if self._tokens and self._tokens[0] in ("?", "*", "+"):
            sign = self._tokens.pop(0)
            return Repeat(part, 1 if sign == "+" else 0, sign == "?")
        return part

    def _part(self) -> Part:
        token = self._tokens.pop(0)
        if isinstance(token, Terminal):
            return token
        if token == "(":
            inner = self._choice()
            assert self._tokens.pop(0) == ")", "`)` is missing"
            return inner
        assert re.fullmatch(r"\w+", token), token
        return Symbol(token)


def terminals(part: Part) -> set[str]:
    """All terminals in a part, not those of the productions that it names."""
    if isinstance(part, Terminal):
        return {part.text}
    if isinstance(part, Symbol):
        return set()
    inner = part.parts if isinstance(part, Row | Choice) else (part.part,)
    return {text for each in inner for text in terminals(each)}


def symbols(part: Part) -> set[str]:
    if isinstance(part, Symbol):
        return {part.name}
    if isinstance(part, Terminal):
        return set()
    inner = part.parts if isinstance(part, Row | Choice) else (part.part,)
    return {name for each in inner for name in symbols(each)}
