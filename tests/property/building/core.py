"""What all builders share: a source of choices, the words to choose from, and how much may still be built.

A builder is a function of a `Build` that gives a node, as a construct of the parser is a function of a `Parser`. They
meet in `Build.table`, which says what may be built where an expression is wanted.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hypothesis import strategies as st

from demaq.diagnostics import Source, Span
from demaq.xquery import tree as t

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[T]], T]

AT = Span(Source("built", ""), 0, 0)
"""Where everything built stands: places do not count when trees are compared."""

KEYWORDS = tuple(
    "for let if then else into create return div mod idiv element attribute map array typeswitch switch do enqueue"
    " reset raise key case default some every in satisfies to or and eq is instance of treat as castable cast union"
    " except order by stable where group count text node document function validate ordered try catch ascending"
    " empty collation start end only when declare module xquery import with value child self item Q e E1".split()
)
RESERVED = frozenset(
    "array attribute comment document-node element empty-sequence function if item map namespace-node node"
    " processing-instruction schema-attribute schema-element switch text typeswitch".split()
)
LOCALS = (*KEYWORDS, "a", "b", "c-d", "e.f", "_", "ñ", "x1", "大")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The words to build from. The widest by default: whatever the grammar lets through."""

    locals: Sequence[str] = LOCALS
    prefixes: Sequence[str] = ("p", "for", "local")
    uris: Sequence[str] = ("", "urn:x", "a b", "http://e.org/?a&b", "{}")
    types: Sequence[t.Name] = ()  # empty: any name is a type
    variables: Sequence[t.Name] = ()  # empty: any name is a variable
    functions: Sequence[tuple[t.Name, int]] = ()  # names and numbers of arguments; empty: any name is a function
    numbers: Sequence[str] = ("0", "1", "42", "007", "1.5", ".5", "1.", "1e3", "1.5E-2", ".5e+1")
    without: frozenset[type[t.Node]] = frozenset()
    actions: bool = False  # whether `do …` is there, and `if` without `else`


Builder = Callable[["Build"], t.Expr]


@dataclass(slots=True)
class Build:
    draw: Draw[object]
    words: Vocabulary
    table: Mapping[type[t.Expr], Builder]
    budget: int  # how many more expressions may have parts
    depth: int = 5
    _kinds: list[type[t.Expr]] = field(init=False)

    def __post_init__(self) -> None:
        self._kinds = [kind for kind in self.table if kind not in self.words.without]

    # Choices

    def pick(self, options: Sequence[T]) -> T:
        return self.draw(st.sampled_from(options))  # type: ignore[return-value]

    def take(self, strategy: st.SearchStrategy[T]) -> T:
        return self.draw(strategy)  # type: ignore[return-value]

    def flag(self) -> bool:
        return self.pick((False, True))

    def maybe(self, build: Callable[["Build"], T]) -> T | None:
        return build(self) if self.flag() else None

    def many(self, build: Callable[["Build"], T], least: int = 0, most: int = 3) -> tuple[T, ...]:
        return tuple(build(self) for _ in range(self.pick(range(least, most + 1))))

    # Expressions

    def expr(self) -> t.Expr:
        if self.depth <= 0 or self.budget <= 0:
            return self.leaf()
        self.budget -= 1
        self.depth -= 1
        built = self.table[self.pick(self._kinds)](self)
        self.depth += 1
        return built

    def leaf(self) -> t.Expr:
        return self.pick(_LEAVES)(self)

    # Names

    def local(self) -> str:
        return self.pick(self.words.locals)

    def name(self) -> t.Name:
        """An EQName."""
        form = self.pick(("plain", "prefixed", "braced"))
        if form == "plain":
            return t.Name(AT, self.local())
        if form == "prefixed":
            return t.Name(AT, self.local(), self.pick(self.words.prefixes))
        return t.Name(AT, self.local(), None, self.pick(self.words.uris))

    def qname(self) -> t.Name:
        """A name without a namespace in braces."""
        return t.Name(AT, self.local(), self.pick((None, *self.words.prefixes)))

    def function(self, at_least: int = 0) -> tuple[t.Name, int]:
        """A name, and how many arguments it takes: at least so many."""
        fitting = [known for known in self.words.functions if known[1] >= at_least]
        return self.pick(fitting) if fitting else (self.function_name(), self.pick(range(at_least, 4)))

    def function_name(self) -> t.Name:
        name = self.name()
        return t.Name(AT, f"{name.local}-x") if str(name) in RESERVED else name

    def wildcard(self) -> t.Name:
        star = t.Name(AT, "*")
        return self.pick((star, t.Name(AT, self.local(), "*"), t.Name(AT, "*", "p"), t.Name(AT, "*", None, "urn:x")))

    def variable(self) -> t.Name:
        return self.pick(self.words.variables) if self.words.variables else self.name()

    def type_name(self) -> t.Name:
        return self.pick(self.words.types) if self.words.types else self.name()

    # Texts

    def string(self) -> str:
        return self.pick(STRINGS) if self.flag() else self.take(_TEXT)

    def uri(self) -> str:
        return self.pick(self.words.uris)


STRINGS = ("", "a", "it's", 'say "hi"', "&", "&amp;", "<b>", "{x}", "]]>", "(: c :)", "a\r\nb", "\t", "\U0001f600")
_TEXT = st.text(st.characters(exclude_categories=("Cc", "Cs", "Cn")) | st.sampled_from("\t\n\r\"'&<>{}"), max_size=6)


def number(b: Build) -> t.Number:
    return t.Number(AT, b.pick(b.words.numbers))


def string(b: Build) -> t.String:
    return t.String(AT, b.string())


def variable_reference(b: Build) -> t.VarRef:
    return t.VarRef(AT, b.variable())


def context_item(b: Build) -> t.ContextItem:  # noqa: ARG001
    return t.ContextItem(AT)


def nothing(b: Build) -> t.Sequence:  # noqa: ARG001
    return t.Sequence(AT, ())


def name_step(b: Build) -> t.AxisStep:
    return t.AxisStep(AT, "child", t.NameTest(AT, b.name()))


_LEAVES: tuple[Builder, ...] = (number, name_step, variable_reference, string, context_item, nothing)
