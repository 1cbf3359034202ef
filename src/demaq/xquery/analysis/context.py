"""The static context: which names mean what where a tree stands."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from demaq.diagnostics import Report
from demaq.xquery.analysis import codes
from demaq.xquery.builtins import FUNCTIONS, NAMESPACES, describe_arities, is_builtin_function
from demaq.xquery.tree import (
    Declaration,
    DefaultNamespaceDecl,
    FunctionDecl,
    Name,
    NamespaceDecl,
    VarDecl,
)

FN = NAMESPACES["fn"]
LOCAL = NAMESPACES["local"]
BASE = "http://demaq.org/"  # of queries; or the engine would take the folder in which the node happens to run
XS = NAMESPACES["xs"]
_RESERVED = frozenset(NAMESPACES[prefix] for prefix in ("xml", "xs", "xsi", "fn", "math", "map", "array"))


def is_reserved(uri: str) -> bool:
    """Is this a namespace in which only the standard declares functions?"""
    return uri in _RESERVED


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticContext:
    """Prefixes, default namespaces, global variables and functions (name to the arities there are)."""

    namespaces: Mapping[str, str] = field(default_factory=lambda: dict(NAMESPACES))
    element_namespace: str = ""
    function_namespace: str = FN
    variables: frozenset[str] = frozenset()
    functions: Mapping[str, frozenset[int]] = field(default_factory=dict)
    broken: frozenset[str] = frozenset()  # functions and variables whose declaration is wrong: nothing is said of them

    def expand(self, prefix: str | None, default: str) -> str | None:
        """The namespace of a prefix, or None if the prefix is not declared."""
        return self.namespaces.get(prefix) if prefix else default

    def with_namespaces(self, declared: Mapping[str, str]) -> "StaticContext":
        """Inside an element that declares these prefixes; `""` is the default element namespace."""
        prefixes = {prefix: uri for prefix, uri in declared.items() if prefix}
        return replace(
            self,
            namespaces={**self.namespaces, **prefixes},
            element_namespace=declared.get("", self.element_namespace),
        )

    def has_function(self, name: str, arity: int) -> bool:
        return arity in self.functions.get(name, ()) or is_builtin_function(name, arity)

    def arities(self, name: str) -> str | None:
        """The numbers of arguments a function takes, in words; None if there is no such function."""
        if name in self.functions:
            return " or ".join(map(str, sorted(self.functions[name])))
        return describe_arities(name) if name in FUNCTIONS else None


def static_context(
    declarations: Iterable[Declaration], base: StaticContext, report: Report, unread: Iterable[str] = ()
) -> StaticContext:
    """The context that a prolog makes. Declares first, so that functions and variables may use each other.

    `unread` are the names of functions and variables whose declarations could not be read.
    """
    declared = tuple(declarations)
    context = _declare_namespaces(declared, base, report)
    functions = {name: set(arities) for name, arities in context.functions.items()}
    variables = set(context.variables)
    broken = {_expanded(name, context) for name in unread}
    for declaration in declared:
        if isinstance(declaration, FunctionDecl):
            _declare_function(declaration, context, functions, broken, report)
        elif isinstance(declaration, VarDecl):
            _declare_variable(declaration, context, variables, report)
    frozen = {name: frozenset(arities) for name, arities in functions.items()}
    return replace(context, functions=frozen, variables=frozenset(variables), broken=frozenset(broken))


def _expanded(written: str, context: StaticContext) -> str:
    prefix, _, local = written.rpartition(":")
    uri = context.namespaces.get(prefix, "") if prefix else ""
    return f"Q{{{uri}}}{local}" if uri else local


def _declare_namespaces(declarations: Iterable[Declaration], base: StaticContext, report: Report) -> StaticContext:
    prefixes: dict[str, str] = {}
    element, function = base.element_namespace, base.function_namespace
    for declaration in declarations:
        if isinstance(declaration, NamespaceDecl):
            if declaration.prefix in prefixes:
                report.say(
                    codes.DUPLICATE_PREFIX,
                    declaration.span,
                    f"the prefix `{declaration.prefix}` is declared twice",
                )
            prefixes[declaration.prefix] = declaration.uri
        elif isinstance(declaration, DefaultNamespaceDecl) and declaration.kind == "element":
            element = declaration.uri
        elif isinstance(declaration, DefaultNamespaceDecl):
            function = declaration.uri
    return replace(
        base,
        namespaces={**base.namespaces, **prefixes},
        element_namespace=element,
        function_namespace=function,
    )


def _declare_function(
    declaration: FunctionDecl,
    context: StaticContext,
    functions: dict[str, set[int]],
    broken: set[str],
    report: Report,
) -> None:
    name, arity = declaration.name, len(declaration.params)
    uri = name.uri if name.uri is not None else context.expand(name.prefix, context.function_namespace)
    if uri is None:
        return  # the resolver says so
    expanded = f"Q{{{uri}}}{name.local}"
    if uri in _RESERVED or uri == "":
        _complain_about_namespace(name, uri, report)
        broken.add(expanded)
        return
    if arity in functions.get(expanded, ()):
        report.say(
            codes.DUPLICATE_FUNCTION,
            name.span,
            f"the function `{name}` with {arity} {'argument' if arity == 1 else 'arguments'} is declared twice",
        )
    functions.setdefault(expanded, set()).add(arity)


def _complain_about_namespace(name: Name, uri: str, report: Report) -> None:
    code = codes.RESERVED_NAMESPACE if uri else codes.NAMELESS_FUNCTION
    report.say(
        code,
        name.span,
        f"the function `{name}` cannot be declared in {'a namespace of the standard' if uri else 'no namespace'}",
        help=f"call it `local:{name.local}`, or declare a namespace for it",
    )


def _declare_variable(declaration: VarDecl, context: StaticContext, variables: set[str], report: Report) -> None:
    name = declaration.name
    uri = name.uri if name.uri is not None else context.expand(name.prefix, "")
    if uri is None:
        return
    expanded = f"Q{{{uri}}}{name.local}" if uri else name.local
    if expanded in variables:
        report.say(codes.DUPLICATE_VARIABLE, name.span, f"the variable `${name}` is declared twice")
    variables.add(expanded)
