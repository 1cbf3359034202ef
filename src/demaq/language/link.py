"""Resolve every expression of an application in the context of its module."""

from dataclasses import replace
from pathlib import Path

from demaq.diagnostics import Report
from demaq.language import tree as t
from demaq.language.analysis.bindings import bindings_of
from demaq.language.analysis.calls import called
from demaq.language.linked import FunctionKey, Linked, LinkedFunction, LinkedModule, LinkedRule, LinkedValue
from demaq.language.parser import ParsedModule
from demaq.language.symbols import Symbols, symbol
from demaq.model import Property, Queue, Slicing
from demaq.xquery.analysis.context import FN, StaticContext
from demaq.xquery.analysis.resolve import Resolver
from demaq.xquery.tree import AxisStep, Expr, FunctionCall, FunctionDecl, Name, NameTest, walk


def link(
    root: Path,
    parsed: tuple[tuple[ParsedModule, StaticContext], ...],
    symbols: Symbols,
    report: Report,
) -> Linked:
    modules, rules, values = [], [], []
    for parsed_module, context in parsed:
        linker = _ModuleLinker(parsed_module.syntax, context, symbols, report)
        modules.append(linker.module)
        rules += linker.rules()
        values += linker.values()
    complete = all(parsed_module.complete for parsed_module, _ in parsed)
    return Linked(
        root=root,
        symbols=symbols,
        modules=tuple(modules),
        rules=tuple(rules),
        values=tuple(values),
        complete=complete,
    )


class _ModuleLinker:
    def __init__(self, syntax: t.ModuleSyntax, context: StaticContext, symbols: Symbols, report: Report) -> None:
        self._syntax = syntax
        self._context = context
        self._symbols = symbols
        self._resolver = _LanguageResolver(context, symbols, report)
        prolog = tuple(self._resolver.resolve(declaration) for declaration in syntax.prolog)
        functions: dict[FunctionKey, LinkedFunction] = {
            (declaration.name.expanded, len(declaration.params)): _function(declaration, declaration.body)
            for declaration in prolog
            if isinstance(declaration, FunctionDecl) and declaration.body is not None
        }
        self.module = LinkedModule(
            name=syntax.name,
            syntax=syntax,
            context=context,
            prolog=prolog,
            functions=functions,
            errorqueue=None if syntax.errorqueue is None else symbol(syntax.errorqueue, context),
        )

    def rules(self) -> list[LinkedRule]:
        return [
            self._rule(statement) for statement in self._syntax.statements if isinstance(statement, t.RuleStatement)
        ]

    def _rule(self, statement: t.RuleStatement) -> LinkedRule:
        errorqueue = statement.errorqueue
        body = self._resolver.resolve(statement.body)
        nodes = tuple(walk(body))
        return LinkedRule(
            name=symbol(statement.name, self._context),
            statement=statement,
            module=self.module,
            target=self._target(statement.target),
            errorqueue=None if errorqueue is None else symbol(errorqueue, self._context),
            body=body,
            nodes=nodes,
            bindings=bindings_of(body),
            functions=called(nodes, self.module),
        )

    def _target(self, name: Name) -> Queue | Slicing | None:
        key = symbol(name, self._context)
        return self._symbols.queues.get(key) or self._symbols.slicings.get(key)

    def values(self) -> list[LinkedValue]:
        found = []
        for statement in self._syntax.statements:
            if isinstance(statement, t.PropertyStatement):
                defined = self._symbols.properties.get(symbol(statement.name, self._context))
                if defined is not None:
                    found += [self._value(statement, clause, defined) for clause in statement.clauses if clause.value]
        return found

    def _value(self, statement: t.PropertyStatement, clause: t.ValueClause, defined: Property) -> LinkedValue:
        assert clause.value is not None
        value = self._resolver.resolve(boolean_word(clause.value, defined.type))
        nodes = tuple(walk(value))
        return LinkedValue(
            property=defined,
            statement=statement,
            clause=clause,
            queues=tuple(symbol(queue, self._context) for queue in clause.queues),
            module=self.module,
            value=value,
            nodes=nodes,
            functions=called(nodes, self.module),
        )


def _function(declaration: FunctionDecl, body: Expr) -> LinkedFunction:
    return LinkedFunction(declaration=declaration, body=body, nodes=tuple(walk(body)), bindings=bindings_of(body))


class _LanguageResolver(Resolver):
    """Resolves actions too: the bare words `true` and `false` are booleans where a boolean is set."""

    def __init__(self, context: StaticContext, symbols: Symbols, report: Report) -> None:
        super().__init__(context, report)
        self._symbols = symbols

    def visit_WithProperty(self, node: t.WithProperty) -> t.WithProperty:
        defined = self._symbols.properties.get(symbol(node.name, self._context))
        value = node.value if defined is None else boolean_word(node.value, defined.type)
        return replace(node, value=self.visit(value))


def boolean_word(value: Expr, type_: str) -> Expr:
    """`true` and `false` as the paper writes them, for a property of type `xs:boolean`."""
    if (
        type_ == "xs:boolean"
        and isinstance(value, AxisStep)
        and value.axis == "child"
        and isinstance(value.test, NameTest)
        and not value.predicates
        and str(value.test.name) in ("true", "false")
    ):
        return FunctionCall(value.span, Name(value.span, value.test.name.local, None, FN), ())
    return value
