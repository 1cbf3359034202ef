"""A module's rules and property values as one query that Saxon can compile."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

from demaq.diagnostics import Span
from demaq.language.analysis.bodies import Built, built_bodies
from demaq.language.analysis.lookups import Access, accesses, body_accesses
from demaq.language.linked import LinkedModule, LinkedRule, LinkedValue
from demaq.language.rewrite.implicit import Implicit, implicit_parameters
from demaq.language.rewrite.refusals import refusal
from demaq.language.rewrite.rewriter import Rewriter
from demaq.language.rewrite.runtime import IMPLICIT, runtime_declarations
from demaq.language.symbols import Symbols
from demaq.xquery import tree as t
from demaq.xquery.analysis.context import is_reserved
from demaq.xquery.analysis.resolve import unknown
from demaq.xquery.printer import Printed, print_tree

_ABOUT_NAMES = (t.NamespaceDecl, t.DefaultNamespaceDecl, t.Setter)


@dataclass(frozen=True, slots=True, eq=False)
class ModuleCode:
    """What the functions of one module share: its prolog, rewritten. Refused expressions are left out everywhere."""

    module: LinkedModule
    symbols: Symbols
    implicit: Implicit
    prolog: tuple[t.Declaration, ...]
    refused: frozenset[int]


def module_code(module: LinkedModule, symbols: Symbols, refused: frozenset[int]) -> ModuleCode:
    implicit = implicit_parameters(module, refused)
    bare = not any(_shadows(declaration) for declaration in module.prolog)
    accesses = [
        access for function in module.functions.values() for access in body_accesses(function.body, function.bindings)
    ]
    built = (built_bodies(function.body, function.bindings, module) for function in module.functions.values())
    rewriter = Rewriter(
        module, symbols, implicit, bare=bare, refused=refused, accesses=accesses, built=reduce(or_, built, Built())
    )
    own = [rewriter.visit(_repaired(declaration)) for declaration in _allowed(module.prolog)]
    names = [declaration for declaration in own if isinstance(declaration, _ABOUT_NAMES)]
    rest = [declaration for declaration in own if not isinstance(declaration, _ABOUT_NAMES)]
    runtime = runtime_declarations()
    runtime_names = [declaration for declaration in runtime if isinstance(declaration, _ABOUT_NAMES)]
    runtime_rest = [declaration for declaration in runtime if not isinstance(declaration, _ABOUT_NAMES)]
    return ModuleCode(module, symbols, implicit, (*runtime_names, *names, *runtime_rest, *rest), refused)


def _allowed(prolog: Iterable[t.Declaration]) -> Iterator[t.Declaration]:
    """What cannot stand in a module, or is there twice, is reported elsewhere, and left out here."""
    seen: set[object] = set()
    for declaration in prolog:
        key: object = declaration.span
        if isinstance(declaration, t.FunctionDecl):
            key = (declaration.name.expanded, len(declaration.params))
            if not declaration.name.uri or is_reserved(declaration.name.uri):
                continue
        elif isinstance(declaration, t.VarDecl):
            key = declaration.name.expanded
        elif isinstance(declaration, t.NamespaceDecl):
            key = f"prefix {declaration.prefix}"
        if key not in seen and refusal(declaration) is None:
            yield declaration
        seen.add(key)


def _repaired(declaration: t.Declaration) -> t.Declaration:
    """What nothing can supply may be anything."""
    if isinstance(declaration, t.FunctionDecl) and declaration.external:
        return replace(declaration, external=False, body=unknown(declaration.span))
    if isinstance(declaration, t.VarDecl) and declaration.external:
        return replace(declaration, external=False, value=unknown(declaration.span))
    return declaration


def rule_function(rule: LinkedRule, code: ModuleCode) -> t.InlineFunction:
    """A rule as a function of its five arguments."""
    rewriter = _rule_rewriter(rule, code, accesses(rule))
    return _of_rule(rule, rewriter, rewriter.visit(rule.body))


def key_function(key: t.Expr, rule: LinkedRule, code: ModuleCode) -> t.InlineFunction:
    """A key by which a rule looks into a queue, as a function of the rule's arguments."""
    rewriter = _rule_rewriter(rule, code)
    return _of_rule(rule, rewriter, rewriter.visit(key))


def _rule_rewriter(rule: LinkedRule, code: ModuleCode, found: Iterable[Access] = ()) -> Rewriter:
    return Rewriter(
        rule.module,
        code.symbols,
        code.implicit,
        slicing=rule.slicing,
        queue=None if rule.queue is None else rule.queue.name,
        bare=not _shadows(rule.body),
        refused=code.refused,
        accesses=found,
        built=built_bodies(rule.body, rule.bindings, rule.module),
    )


def _of_rule(rule: LinkedRule, rewriter: Rewriter, body: t.Expr) -> t.InlineFunction:
    """A function of a rule's arguments, with the message for its context item."""
    span = rule.span
    types = dict(IMPLICIT)
    if rule.slicing is not None:
        types["slicekey"] = rule.slicing.key_type
    params = tuple(rewriter.parameter(name, span, type_) for name, type_ in types.items())
    at_message = t.SimpleMap(span, rewriter.variable("message", span), body)
    return t.InlineFunction(span, (), params, rewriter.type("item()*", span), at_message)


def value_function(value: LinkedValue, code: ModuleCode) -> t.InlineFunction:
    """The value of a property as a function of the message, the view and the time."""
    bare = not _shadows(value.value)
    rewriter = Rewriter(value.module, code.symbols, code.implicit, bare=bare, refused=code.refused)
    span = value.clause.span
    type_ = value.property.type
    params = tuple(rewriter.parameter(name, span) for name in ("message", "view", "now"))
    computed = rewriter.cast(rewriter.visit(value.value), type_)
    body = t.SimpleMap(span, rewriter.variable("message", span), computed)
    return t.InlineFunction(span, (), params, rewriter.type(f"{type_}?", span), body)


def unit(code: ModuleCode, functions: Iterable[t.Expr], span: Span) -> t.Module:
    """One query that gives back the functions."""
    return t.Module(span, None, None, code.prolog, t.Sequence(span, tuple(functions)))


def printed_prolog(code: ModuleCode) -> Printed:
    """The text of a module's prolog."""
    span = code.module.syntax.span
    return print_tree(t.Module(span, None, None, code.prolog, None))


def without(module: t.Module, culprit: t.Node, replacement: t.Node) -> t.Module:
    """The query with one node replaced, found by identity."""
    changed = _Replace(culprit, replacement).visit(module)
    assert isinstance(changed, t.Module)
    return changed


class _Replace(t.Transformer):
    def __init__(self, culprit: t.Node, replacement: t.Node) -> None:
        self._culprit = culprit
        self._replacement = replacement

    def visit(self, node: t.Node) -> t.Node:
        return self._replacement if node is self._culprit else self.generic_visit(node)


def _shadows(tree: t.Node) -> bool:
    """Does an element in here give `demaq`, `xs` or `fn` another meaning? A prolog that tries to is refused."""
    return any(
        isinstance(node, t.DirectAttribute) and node.name.prefix == "xmlns" and node.name.local in ("demaq", "xs", "fn")
        for node in t.walk(tree)
    )
