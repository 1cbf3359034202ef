"""Every name gets its namespace, and every use its declaration.

What cannot be resolved is reported, and its place is taken by `UNKNOWN`, a variable that may be anything, so that
whatever else is wrong can still be found.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

from demaq.diagnostics import Report, Span, did_you_mean, listing, nearest
from demaq.xquery import tree as t
from demaq.xquery.analysis import codes
from demaq.xquery.analysis.context import FN, LOCAL, XS, StaticContext
from demaq.xquery.builtins import FUNCTIONS, NAMESPACES, TYPES
from demaq.xquery.tree.visit import rebuild

_N = TypeVar("_N", bound=t.Node)

UNKNOWN = "http://demaq.org/unknown"
"""The namespace of what is wrong and already reported: it may be anything."""
_CATCH_VARIABLES = ("code", "description", "value", "module", "line-number", "column-number", "additional")
_ERR = NAMESPACES["err"]


def unknown(span: Span) -> t.Expr:
    """Takes the place of an expression that is wrong and already reported."""
    return t.VarRef(span, t.Name(span, "value", None, UNKNOWN))


def is_unknown(node: t.Node) -> bool:
    return isinstance(node, t.VarRef) and node.name.uri == UNKNOWN


class Resolver(t.Transformer):
    """Resolves trees that stand in one static context. Local variables come and go with their scopes."""

    def __init__(self, context: StaticContext, report: Report) -> None:
        self._context = context
        self._report = report
        self._locals: dict[str, t.Name] = {}  # what each name in scope stands for
        self._used: set[str] = set()

    def resolve(self, node: _N) -> _N:
        """The tree with its names resolved. No two variables in it have the same name: a second one is renamed."""
        self._used = set(self._context.variables)
        resolved = self.visit(node)
        assert isinstance(resolved, t.Node)
        return resolved  # type: ignore[return-value]  # a resolved node is of the class it had, or an Expr

    # Names

    def _named(self, name: t.Name, default: str) -> t.Name:
        if name.prefix == "*" or (name.local == "*" and name.prefix is None):
            return name
        if name.prefix is None and name.uri is not None:
            return name
        uri = self._context.expand(name.prefix, default)
        if uri == UNKNOWN:  # declared, but the declaration could not be read
            return replace(name, prefix=None, uri=uri)
        if uri is None:
            self._report.say(
                codes.UNKNOWN_PREFIX,
                name.span,
                f"the namespace prefix `{name.prefix}` is not declared",
                help=f'declare it with `declare namespace {name.prefix} = "…";`, or use one of '
                + listing(self._context.namespaces),
            )
            return replace(name, prefix=None, uri=UNKNOWN)
        return replace(name, prefix=name.prefix or "", uri=uri)

    def _variable(self, name: t.Name) -> t.Name:
        return self._named(name, "")

    def visit_NameTest(self, node: t.NameTest) -> t.Node:
        return replace(node, name=self._named(node.name, self._context.element_namespace))

    def visit_AxisStep(self, node: t.AxisStep) -> t.Node:
        test = node.test
        if isinstance(test, t.NameTest):
            default = "" if node.axis == "attribute" else self._context.element_namespace
            test = replace(test, name=self._named(test.name, default))
        else:
            test = self.visit(test)
        predicates = tuple(self.visit(predicate) for predicate in node.predicates)
        return replace(node, test=test, predicates=predicates)

    def visit_KindTest(self, node: t.KindTest) -> t.Node:
        if node.kind == "processing-instruction" or node.name is None:
            name = node.name
        else:
            default = "" if "attribute" in node.kind else self._context.element_namespace
            name = self._named(node.name, default)
        type_name = None if node.type is None else self._named(node.type, self._context.element_namespace)
        inner = None if node.inner is None else self.visit(node.inner)
        return replace(node, name=name, type=type_name, inner=inner)

    def visit_AtomicType(self, node: t.AtomicType) -> t.Node:
        name = self._type_name(node.name)
        return t.KindTest(node.span, "item") if name is None else replace(node, name=name)

    def visit_SingleType(self, node: t.SingleType) -> t.Node:
        # A cast to a type that is not known may give anything: what has no type fits everywhere.
        untyped = t.Name(node.span, "untypedAtomic", "xs", XS)
        return replace(node, name=self._type_name(node.name) or untyped)

    def _type_name(self, name: t.Name) -> t.Name | None:
        resolved = self._named(name, self._context.element_namespace)
        if resolved.uri == XS and resolved.local in TYPES:
            return resolved
        if resolved.uri != UNKNOWN:
            close = nearest(name.local, TYPES)
            self._report.say(
                codes.UNKNOWN_TYPE,
                name.span,
                f"there is no type `{name}`",
                help=f"did you mean `xs:{close}`?" if close else "take a built-in type such as `xs:string`",
            )
        return None

    # Variables

    @contextmanager
    def _scope(self) -> Iterator[None]:
        before = dict(self._locals)
        yield
        self._locals = before

    def _bind(self, name: t.Name) -> t.Name:
        resolved = self._variable(name)
        unique = resolved
        number = 1
        while unique.expanded in self._used:
            number += 1
            unique = replace(resolved, local=f"{resolved.local}_{number}")
        self._used.add(unique.expanded)
        self._locals[resolved.expanded] = unique
        return unique

    def visit_VarRef(self, node: t.VarRef) -> t.Node:
        if is_unknown(node):
            return node
        name = self._variable(node.name)
        if name.uri == UNKNOWN:
            return unknown(node.span)
        if name.expanded in self._locals:
            return replace(node, name=self._locals[name.expanded])
        if name.expanded in self._context.variables:
            return replace(node, name=name)
        if name.expanded in self._context.broken:
            return unknown(node.span)
        known = [str(name) if key.startswith("Q{") else key for key, name in self._locals.items()]
        known += self._context.variables
        self._report.say(
            codes.UNKNOWN_VARIABLE,
            node.span,
            f"the variable `${node.name}` is not declared",
            help=did_you_mean(f"${node.name}", [f"${shown}" for shown in known], "variables here"),
        )
        return unknown(node.span)

    def visit_Flwor(self, node: t.Flwor) -> t.Node:
        with self._scope():
            clauses = tuple(self.visit(clause) for clause in node.clauses)
            return replace(node, clauses=clauses, result=self.visit(node.result))

    def visit_For(self, node: t.For) -> t.Node:
        source, type_ = self.visit(node.source), self._optional(node.type)
        position = self._bind_optional(node.position)
        return replace(node, source=source, type=type_, var=self._bind(node.var), position=position)

    def visit_Let(self, node: t.Let) -> t.Node:
        value, type_ = self.visit(node.value), self._optional(node.type)
        return replace(node, value=value, type=type_, var=self._bind(node.var))

    def visit_Window(self, node: t.Window) -> t.Node:
        source, type_ = self.visit(node.source), self._optional(node.type)
        start = self.visit(node.start)
        end = None if node.end is None else self.visit(node.end)
        return replace(node, source=source, type=type_, start=start, end=end, var=self._bind(node.var))

    def visit_WindowCondition(self, node: t.WindowCondition) -> t.Node:
        return replace(
            node,
            current=self._bind_optional(node.current),
            position=self._bind_optional(node.position),
            previous=self._bind_optional(node.previous),
            next=self._bind_optional(node.next),
            when=self.visit(node.when),
        )

    def _bind_optional(self, name: t.Name | None) -> t.Name | None:
        return None if name is None else self._bind(name)

    def visit_Count(self, node: t.Count) -> t.Node:
        return replace(node, var=self._bind(node.var))

    def visit_GroupSpec(self, node: t.GroupSpec) -> t.Node:
        if node.value is None:
            reference = self.visit(t.VarRef(node.var.span, node.var))
            name = self._bind(node.var) if is_unknown(reference) else reference.name
            return replace(node, var=name)
        value, type_ = self.visit(node.value), self._optional(node.type)
        return replace(node, value=value, type=type_, var=self._bind(node.var))

    def visit_Quantified(self, node: t.Quantified) -> t.Node:
        with self._scope():
            bindings = tuple(self.visit(binding) for binding in node.bindings)
            return replace(node, bindings=bindings, condition=self.visit(node.condition))

    def visit_QuantifiedBinding(self, node: t.QuantifiedBinding) -> t.Node:
        source, type_ = self.visit(node.source), self._optional(node.type)
        return replace(node, source=source, type=type_, var=self._bind(node.var))

    def visit_Case(self, node: t.Case) -> t.Node:
        types = tuple(self.visit(type_) for type_ in node.types)
        with self._scope():
            var = None if node.var is None else self._bind(node.var)
            return replace(node, types=types, var=var, result=self.visit(node.result))

    def visit_Catch(self, node: t.Catch) -> t.Node:
        errors = tuple(self._named(error, "") for error in node.errors)
        with self._scope():
            for local in _CATCH_VARIABLES:
                self._locals[f"Q{{{_ERR}}}{local}"] = t.Name(node.span, local, "err", _ERR)
            return replace(node, errors=errors, body=self._optional(node.body))

    def visit_InlineFunction(self, node: t.InlineFunction) -> t.Node:
        with self._scope():
            return self._function(node)

    def visit_FunctionDecl(self, node: t.FunctionDecl) -> t.Node:
        name = self._named(node.name, self._context.function_namespace)
        with self._scope():
            self._locals = {}
            return replace(self._function(node), name=name)

    def visit_VarDecl(self, node: t.VarDecl) -> t.Node:
        notes = tuple(self.visit(note) for note in node.annotations)
        value, type_ = self._optional(node.value), self._optional(node.type)
        return replace(node, annotations=notes, name=self._variable(node.name), type=type_, value=value)

    def _function(self, node: _N) -> _N:
        assert isinstance(node, t.InlineFunction | t.FunctionDecl)
        notes = tuple(self.visit(note) for note in node.annotations)
        params = tuple(self.visit(param) for param in node.params)
        params = self._distinct(params)
        params = tuple(replace(param, name=self._bind(param.name)) for param in params)
        result, body = self._optional(node.result), self._optional(node.body)
        return replace(node, annotations=notes, params=params, result=result, body=body)

    def _distinct(self, params: tuple[t.Param, ...]) -> tuple[t.Param, ...]:
        """A second parameter of the same name is reported, and gets another one."""
        seen: set[str] = set()
        found = []
        for number, param in enumerate(params):
            if param.name.expanded in seen:
                self._report.say(codes.DUPLICATE_PARAM, param.span, f"there are two parameters `${param.name}`")
                param = replace(param, name=replace(param.name, local=f"{param.name.local}-{number}"))
            seen.add(param.name.expanded)
            found.append(param)
        return tuple(found)

    def visit_Param(self, node: t.Param) -> t.Node:
        return replace(node, name=self._variable(node.name), type=self._optional(node.type))

    def visit_Annotation(self, node: t.Annotation) -> t.Node:
        # Unprefixed annotations such as %updating and %private are in the namespace of the standard.
        return replace(node, name=self._named(node.name, "http://www.w3.org/2012/xquery"))

    def visit_Pragma(self, node: t.Pragma) -> t.Node:
        return replace(node, name=self._named(node.name, ""))

    def _optional(self, node: _N | None) -> _N | None:
        return None if node is None else self.visit(node)

    # Functions

    def visit_FunctionCall(self, node: t.FunctionCall) -> t.Node:
        return self._call(node.span, node.name, node.args)

    def visit_Arrow(self, node: t.Arrow) -> t.Node:
        """`E => f(a)` becomes `f(E, a)`, so that nothing after this has to know of arrows."""
        args = (node.operand, *node.args)
        if isinstance(node.function, t.Name):
            return self._call(node.span, node.function, args)
        function = self.visit(node.function)
        return t.DynamicCall(node.span, function, tuple(self.visit(arg) for arg in args))

    def _call(self, span: Span, written: t.Name, written_args: tuple[t.Expr, ...]) -> t.Node:
        args = tuple(self.visit(arg) for arg in written_args)
        name = self._function_name(written, len(args))
        return unknown(span) if name is None else t.FunctionCall(span, name, args)

    def visit_NamedFunctionRef(self, node: t.NamedFunctionRef) -> t.Node:
        name = self._function_name(node.name, node.arity)
        return unknown(node.span) if name is None else replace(node, name=name)

    def _function_name(self, written: t.Name, arity: int) -> t.Name | None:
        name = self._named(written, self._context.function_namespace)
        if name.uri == UNKNOWN:
            return None
        if self._context.has_function(f"Q{{{name.uri}}}{name.local}", arity):
            return name
        if not {name.expanded, f"Q{{{name.uri}}}{name.local}"}.isdisjoint(self._context.broken):
            return None
        self._unknown_function(name, arity)
        return None

    def _unknown_function(self, name: t.Name, arity: int) -> None:
        expected = self._context.arities(f"Q{{{name.uri}}}{name.local}")
        arguments = f"{arity} argument" if arity == 1 else f"{arity} arguments"
        if expected is not None:
            message = f"`{name}` takes {expected} {'argument' if expected == '1' else 'arguments'}, not {arity}"
            self._report.say(codes.UNKNOWN_FUNCTION, name.span, message)
            return
        self._report.say(
            codes.UNKNOWN_FUNCTION,
            name.span,
            f"there is no function `{name}` with {arguments}",
            help=self._function_help(name),
        )

    def _function_help(self, name: t.Name) -> str:
        """The nearest function with that prefix; of few, all of them."""
        own = {self._shown(function) for function in self._context.functions}
        if f"local:{name.local}" in own:
            return f"did you mean `local:{name.local}`?"
        every = own | {self._shown(function) for function in FUNCTIONS}
        alike = {shown.rpartition(":")[2]: shown for shown in every if shown.rpartition(":")[0] == (name.prefix or "")}
        close = nearest(name.local, alike)
        if close is not None:
            return f"did you mean `{alike[close]}`?"
        if name.uri == LOCAL:
            return f"declare it before the rules: `declare function {name}(…) {{ … }};`"
        few = 0 < len(alike) <= 12
        return f"the functions there are {listing(alike.values())}" if few else "no such function is built in"

    def _shown(self, expanded: str) -> str:
        uri, _, local = expanded[2:].partition("}")
        if uri == self._context.function_namespace:
            return local
        for prefix, declared in self._context.namespaces.items():
            if declared == uri:
                return f"{prefix}:{local}"
        return local if uri in (FN, LOCAL) else expanded

    # Constructors

    def visit_DirectElement(self, node: t.DirectElement) -> t.Node:
        outer = self._context
        self._context = outer.with_namespaces(_declared_namespaces(node))
        name = self._element_name(node.name, self._context.element_namespace)
        attributes = tuple(self._attribute(attribute) for attribute in node.attributes)
        content = tuple(self.visit(part) for part in node.content)
        self._context = outer
        return replace(node, name=name, attributes=attributes, content=content)

    def _attribute(self, node: t.DirectAttribute) -> t.DirectAttribute:
        if _declares_namespace(node):
            return node
        value = tuple(self.visit(part) for part in node.value)
        return replace(node, name=self._element_name(node.name, ""), value=value)

    def _element_name(self, name: t.Name, default: str) -> t.Name:
        """The name of a direct constructor, which cannot be written with its namespace: an unknown one has none."""
        resolved = self._named(name, default)
        return replace(resolved, prefix="", uri="") if resolved.uri == UNKNOWN else resolved

    def visit_Computed(self, node: t.Computed) -> t.Node:
        name = node.name
        if isinstance(name, t.Name):
            if node.kind in ("element", "attribute"):
                name = self._named(name, "" if node.kind == "attribute" else self._context.element_namespace)
        elif name is not None:
            name = self.visit(name)
        return replace(node, name=name, content=self._optional(node.content))

    def visit_Lookup(self, node: t.Lookup) -> t.Node:
        key = node.key if isinstance(node.key, t.Name) else self._optional(node.key)
        return replace(node, base=self.visit(node.base), key=key)

    def visit_UnaryLookup(self, node: t.UnaryLookup) -> t.Node:
        return node if isinstance(node.key, t.Name) else rebuild(node, self.visit)


def _declares_namespace(attribute: t.DirectAttribute) -> bool:
    name = attribute.name
    return name.prefix == "xmlns" or (name.prefix is None and name.local == "xmlns")


def _declared_namespaces(element: t.DirectElement) -> dict[str, str]:
    declared = {}
    for attribute in element.attributes:
        if _declares_namespace(attribute):
            prefix = attribute.name.local if attribute.name.prefix == "xmlns" else ""
            declared[prefix] = "".join(part.raw for part in attribute.value if isinstance(part, t.DirectText))
    return declared
