"""Trees of the application language into trees of plain XQuery."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from demaq.diagnostics import Span
from demaq.language import qs
from demaq.language import tree as lt
from demaq.language.analysis.bodies import Built
from demaq.language.analysis.calls import function_key
from demaq.language.analysis.lookups import Access, Key, last_of_spine
from demaq.language.linked import LinkedModule
from demaq.language.rewrite.implicit import Implicit
from demaq.language.rewrite.runtime import ERR, IMPLICIT, PREFIX, RUNTIME
from demaq.language.symbols import Symbols, symbol, symbol_of_text
from demaq.model import Slicing
from demaq.xquery import tree as t
from demaq.xquery.analysis.context import FN, XS
from demaq.xquery.analysis.resolve import unknown
from demaq.xquery.parser import parse_sequence_type

_PREFIXES = {RUNTIME: PREFIX, XS: "xs", FN: "fn"}
_UPDATING = "Q{http://www.w3.org/2012/xquery}updating"
_NONE_BUILT = Built()
_FROM_NOW = {"current-dateTime": None, "current-date": "date", "current-time": "time"}


class Rewriter(t.Transformer):
    """Rewrites what stands in one module; in a rule on a slicing, `slicing` is its slicing."""

    def __init__(
        self,
        module: LinkedModule,
        symbols: Symbols,
        implicit: Implicit,
        *,
        slicing: Slicing | None = None,
        queue: str | None = None,
        bare: bool = True,
        refused: frozenset[int] = frozenset(),
        accesses: Iterable[Access] = (),
        built: Built = _NONE_BUILT,
    ) -> None:
        self._module = module
        self._symbols = symbols
        self._implicit = implicit
        self._slicing = slicing
        self._queue = queue
        self._refused = refused
        self._sources: dict[int, t.Expr] = {}  # what stands for the messages of a queue, while they are looked up
        self._lookups = {id(access.source): access for access in accesses if access.key is not None}
        self._keys: dict[int, t.Node | None] = {
            id(access.key.value): None for access in self._lookups.values() if access.key is not None
        }
        self._built = built  # elements that are nothing but messages
        self._bare = bare  # whether the prefixes `demaq`, `xs` and `fn` mean what they should everywhere
        self._functions: dict[str, Callable[[t.FunctionCall], t.Expr]] = {
            qs.MESSAGE: lambda call: self.variable("message", call.span),
            qs.SLICE: lambda call: self.variable("slice", call.span),
            qs.SLICEKEY: lambda call: self.variable("slicekey", call.span),
            qs.QUEUE: self._queue_call,
            qs.PROPERTY: self._property_call,
            qs.COLLECTION: self._collection_call,
            **{f"Q{{{FN}}}{name}": self._time_call for name in _FROM_NOW},
        }

    def visit(self, node: t.Node) -> Any:
        if id(node) in self._refused:
            return unknown(node.span)
        if id(node) in self._sources:
            return self._sources[id(node)]
        access = self._lookups.get(id(node))
        if access is not None and access.key is not None:
            return self._lookup(access, access.key)
        if id(node) in self._built.elements:
            return t.Computed(node.span, "document", None, super().visit(node))
        if id(node) not in self._keys:
            return super().visit(node)
        if self._keys[id(node)] is None:  # a key stands in the lookup and in the predicate: one tree for both
            self._keys[id(node)] = super().visit(node)
        return self._keys[id(node)]

    # Pieces of generated text

    def name(self, local: str, span: Span, uri: str = RUNTIME) -> t.Name:
        prefix = _PREFIXES[uri]
        return t.Name(span, local, prefix if self._bare else None, uri)

    def call(self, local: str, span: Span, *args: t.Expr) -> t.Expr:
        return t.FunctionCall(span, self.name(local, span), args)

    def variable(self, local: str, span: Span) -> t.Expr:
        return t.VarRef(span, self.name(local, span))

    def parameter(self, local: str, span: Span, type_: str | None = None) -> t.Param:
        return t.Param(span, self.name(local, span), self.type(type_ or IMPLICIT[local], span))

    def type(self, text: str, span: Span) -> t.SequenceType:
        """A sequence type that only names types of XML Schema."""
        written = parse_sequence_type(text if self._bare else text.replace("xs:", f"Q{{{XS}}}"))
        return replace(written, span=span)

    def cast(self, value: t.Expr, type_: str) -> t.Expr:
        """`xs:T(value)`, which takes nothing for an answer, and refuses more than one item."""
        return t.FunctionCall(value.span, self.name(type_.removeprefix("xs:"), value.span, XS), (value,))

    # Functions of the node

    def visit_FunctionCall(self, node: t.FunctionCall) -> t.Expr:
        rewrite = self._functions.get(node.name.expanded)
        if rewrite is not None:
            return rewrite(node)
        hidden = self._hidden(node)
        args = tuple(self.visit(arg) for arg in node.args)
        return replace(node, args=(*hidden, *args))

    def visit_NamedFunctionRef(self, node: t.NamedFunctionRef) -> t.Expr:
        hidden = self._hidden(node)
        if hidden:
            placeholders = tuple(t.Placeholder(node.span) for _ in range(node.arity))
            return t.FunctionCall(node.span, node.name, (*hidden, *placeholders))
        if node.name.expanded in self._functions:
            body = self._functions[node.name.expanded](t.FunctionCall(node.span, node.name, ()))
            return t.InlineFunction(node.span, (), (), None, body)
        return node

    def _hidden(self, node: t.Node) -> tuple[t.Expr, ...]:
        key = function_key(node)
        names = self._implicit.get(key, ()) if key is not None else ()
        return tuple(self.variable(name, node.span) for name in names)

    def _queue_call(self, node: t.FunctionCall) -> t.Expr:
        return self.call("queue", node.span, self.variable("view", node.span), self._queue_name(node))

    def _queue_name(self, call: t.FunctionCall) -> t.Expr:
        if call.args:
            return self._symbol(call.args[0])
        if self._queue is not None:
            return t.String(call.span, self._queue)
        current = self.call("property", call.span, self.variable("view", call.span), t.String(call.span, "sys:queue"))
        return self.cast(current, "xs:string")

    def _lookup(self, access: Access, key: Key) -> t.Expr:
        """The messages of a queue by a key. If computing it fails, the predicate will say so, if ever it is tested."""
        span = access.source.span
        value: t.Expr = self.visit(key.value)
        if key.is_total:
            keys: t.Expr = t.ArrayConstructor(span, True, (value,))
        else:
            keys = self.call("key", span, t.InlineFunction(span, (), (), None, value))
        name = self._queue_name(access.call)
        found = self.call("lookup", span, self.variable("view", span), name, t.String(span, key.path), keys)
        return self._with_source(access, found)

    def _with_source(self, access: Access, found: t.Expr) -> t.Expr:
        """What a variable stands for, with its messages from another source."""
        for expr in reversed(access.values):
            source = last_of_spine(expr)
            self._sources[id(source)] = found
            found = self.visit(expr)
            del self._sources[id(source)]
        return found

    def _property_call(self, node: t.FunctionCall) -> t.Expr:
        view = self.variable("view", node.span)
        name = self._symbol(node.args[0])
        if len(node.args) == 2:
            value = self.call("property-of", node.span, view, name, self.visit(node.args[1]))
        else:
            value = self.call("property", node.span, view, name)
        type_ = self._symbols.property_type(name.value) if isinstance(name, t.String) else None
        if type_ is None or type_ == "xs:anyAtomicType":
            return value
        return t.TreatAs(node.span, value, self.type(f"{type_}?", node.span))

    def _collection_call(self, node: t.FunctionCall) -> t.Expr:
        if not node.args:
            return t.Sequence(node.span, ())
        return self.call("collection", node.span, self.variable("view", node.span), self._symbol(node.args[0]))

    def _symbol(self, name: t.Expr) -> t.Expr:
        """A literal name as the symbol it stands for; any other expression as it is."""
        if isinstance(name, t.String):
            return t.String(name.span, symbol_of_text(name.value, self._module.context))
        rewritten: t.Expr = self.visit(name)
        return rewritten

    def _time_call(self, node: t.FunctionCall) -> t.Expr:
        now = self.variable("now", node.span)
        part = _FROM_NOW[node.name.local]
        return now if part is None else self.cast(now, f"xs:{part}")

    # Actions

    def visit_Enqueue(self, node: lt.Enqueue) -> t.Expr:
        queue = t.String(node.queue.span, symbol(node.queue, self._module.context))
        # A property that is set twice is reported elsewhere; a map cannot have a key twice.
        clauses = {symbol(clause.name, self._module.context): clause for clause in node.properties}
        entries = tuple(self._property_entry(clause) for clause in clauses.values())
        properties = t.MapConstructor(node.span, entries)
        action = "enqueue-built" if id(node.body) in self._built.enqueued else "enqueue"
        return self.call(action, node.span, queue, self.visit(node.body), properties)

    def _property_entry(self, clause: lt.WithProperty) -> t.MapEntry:
        name = symbol(clause.name, self._module.context)
        value = self._symbol(clause.value) if name == "target" else self.visit(clause.value)
        type_ = self._symbols.property_type(name)
        if type_ is None or type_ == "xs:anyAtomicType":
            value = t.FunctionCall(value.span, self.name("data", value.span, FN), (value,))
        else:
            value = self.cast(value, type_)
        return t.MapEntry(clause.span, t.String(clause.name.span, name), value)

    def visit_Reset(self, node: lt.Reset) -> t.Expr:
        if node.slicing is not None and node.key is not None:
            name = symbol(node.slicing, self._module.context)
            slicing = self._symbols.slicings.get(name)
            key = self.visit(node.key)
            key = key if slicing is None or slicing.key_type == "xs:anyAtomicType" else self.cast(key, slicing.key_type)
            return self.call("reset", node.span, t.String(node.slicing.span, name), key)
        if self._slicing is not None:
            current: t.Expr = t.String(node.span, self._slicing.name)
        else:  # in a function, which rules on several slicings may call
            current = self.call("slicing", node.span, self.variable("view", node.span))
        return self.call("reset", node.span, current, self.variable("slicekey", node.span))

    def visit_Raise(self, node: lt.Raise) -> t.Expr:
        entries = tuple(
            t.MapEntry(parameter.span, t.String(parameter.name.span, str(parameter.name)), self.visit(parameter.value))
            for parameter in node.parameters
        )
        event = t.String(node.event.span, symbol(node.event, self._module.context))
        return self.call("raise", node.span, event, t.MapConstructor(node.span, entries))

    # Structure

    def visit_If(self, node: t.If) -> t.Expr:
        otherwise = t.Sequence(node.span, ()) if node.otherwise is None else self.visit(node.otherwise)
        return t.If(node.span, self.visit(node.condition), self.visit(node.then), otherwise)

    def visit_Try(self, node: t.Try) -> t.Expr:
        """An error by which the view asks for more passes through. Saxon can catch only what has no output yet."""
        span = node.span
        body = None if node.body is None else self.visit(node.body)
        whole = t.ArrayConstructor(span, True, () if body is None else (body,))
        items = t.Lookup(span, whole, None)
        names = [t.Name(span, local, None, ERR) for local in ("code", "description", "value")]
        again = t.FunctionCall(span, self.name("error", span, FN), tuple(t.VarRef(span, name) for name in names))
        missing = t.Catch(span, (self.name("missing", span),), again)
        return t.Try(span, items, (missing, *(self.visit(caught) for caught in node.catches)))

    def visit_FunctionDecl(self, node: t.FunctionDecl) -> t.Node:
        hidden = self._implicit.get((node.name.expanded, len(node.params)), ())
        params = (*(self.parameter(name, node.name.span) for name in hidden), *node.params)
        updating = is_updating(node)
        notes = tuple(note for note in node.annotations if note.name.expanded != _UPDATING)
        body = None if node.body is None else self.visit(node.body)
        result = None if updating else node.result
        return replace(node, annotations=notes, params=params, result=result, body=body)


def is_updating(node: t.FunctionDecl | t.InlineFunction) -> bool:
    """Is the function declared `%updating`?"""
    return any(note.name.expanded == _UPDATING for note in node.annotations)
