"""From statements to definitions: every name gets its meaning, and what is wrong with a definition is said."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from demaq.diagnostics import Note, Report, did_you_mean, nearest
from demaq.language import codes
from demaq.language import tree as t
from demaq.language.symbols import Entry, Symbols, Table, symbol
from demaq.model import (
    RELIABLE_MESSAGING,
    SECURITY,
    SETTABLE_PROPERTIES,
    SYSTEM_ERRORS,
    SYSTEM_PROPERTIES,
    Collection,
    Interface,
    Pipeline,
    Property,
    PropertyMode,
    Queue,
    QueueKind,
    QueueMode,
    Slicing,
    WebServiceExtension,
)
from demaq.xquery.analysis.context import XS, StaticContext
from demaq.xquery.builtins import ITEM_TYPES
from demaq.xquery.tree import Name

_T = TypeVar("_T")
_PRIORITIES = range(-1_000_000, 1_000_001)
_NO_VALUES = frozenset({"anyAtomicType", "NOTATION", "QName", "error", "numeric"})


def define(modules: Iterable[tuple[t.ModuleSyntax, StaticContext]], report: Report) -> Symbols:
    """All definitions of all modules; slicings last, since they take their type from properties."""
    symbols = Symbols()
    definer = _Definer(symbols, report)
    modules = tuple(modules)
    _check_module_names([syntax for syntax, _ in modules], report)
    statements = [(statement, context) for syntax, context in modules for statement in syntax.statements]
    for kind in (
        t.QueueStatement,
        t.PropertyStatement,
        t.SlicingStatement,
        t.CollectionStatement,
        t.PipelineStatement,
        t.RuleStatement,
    ):
        for statement, context in statements:
            if isinstance(statement, kind):
                definer.define(statement, context)
    return symbols


def _check_module_names(modules: Iterable[t.ModuleSyntax], report: Report) -> None:
    seen: dict[str, t.ModuleSyntax] = {}
    for syntax in modules:
        first = seen.setdefault(syntax.name, syntax)
        if first is not syntax:
            report.say(
                codes.DEFINED_TWICE,
                syntax.heading,
                f"two modules are called `{syntax.name}`",
                notes=[Note("the other one is this", first.heading)],
                help="give one of them another name: a module without a heading is called like its file",
            )


class _Definer:
    def __init__(self, symbols: Symbols, report: Report) -> None:
        self._symbols = symbols
        self._report = report
        self._folded: dict[tuple[str, str], str] = {}  # what was defined, by its name without case
        self._by_statement: dict[type, Callable[..., None]] = {
            t.QueueStatement: self._queue,
            t.PropertyStatement: self._property,
            t.SlicingStatement: self._slicing,
            t.CollectionStatement: self._collection,
            t.PipelineStatement: self._pipeline,
            t.RuleStatement: self._rule,
        }

    def define(self, statement: t.Statement, context: StaticContext) -> None:
        self._by_statement[type(statement)](statement, context)

    def _add(self, table: Table[_T], name: Name, key: str, value: _T) -> bool:
        """Whether the name was free."""
        earlier = table.entries.get(key)
        if earlier is not None:
            kind = _singular(table.what)
            notes = [] if earlier.span is None else [Note("it is defined here first", earlier.span)]
            self._report.say(
                codes.DEFINED_TWICE,
                name.span,
                f"the {kind} `{name}` is defined twice",
                notes=notes,
                help="give one of the two another name, or take it away",
            )
            return False
        self._warn_of_case(table, name, key)
        table.entries[key] = Entry(value, name)
        return True

    def _warn_of_case(self, table: Table[_T], name: Name, key: str) -> None:
        other = self._folded.setdefault((table.what, key.casefold()), key)
        entry = table.entries.get(other)
        if other != key and entry is not None and entry.span is not None:
            self._report.say(
                codes.NEARLY_THE_SAME,
                name.span,
                f"the {table.what} `{name}` and `{other}` differ only in case",
                notes=[Note(f"`{other}` is defined here", entry.span)],
                help="give one of them another name",
            )

    # Queues

    def _queue(self, statement: t.QueueStatement, context: StaticContext) -> None:
        name = symbol(statement.name, context)
        if name == SYSTEM_ERRORS.name:
            self._report.say(
                codes.PREDEFINED,
                statement.name.span,
                f"the queue `{name}` is there in every application",
                help="take the definition away; rules for it may stay",
            )
            return
        options = _QueueOptions(statement, context, self._report)
        queue = options.queue(name)
        if options.unusable:
            self._symbols.queues.broken.add(name)
            return
        if self._add(self._symbols.queues, statement.name, name, queue):
            self._symbols.queue_statements[name] = statement

    # Properties

    def _property(self, statement: t.PropertyStatement, context: StaticContext) -> None:
        name = symbol(statement.name, context)
        if name in SYSTEM_PROPERTIES or name in SETTABLE_PROPERTIES or name.startswith("sys:"):
            self._report.say(
                codes.PREDEFINED,
                statement.name.span,
                f"the property `{name}` is the system's own",
                help="give yours another name",
            )
            return
        queues = tuple(symbol(queue, context) for clause in statement.clauses for queue in clause.queues)
        mode = self._property_mode(statement)
        self._check_clauses(statement, context, mode)
        defined = Property(
            name=name, type=self._property_type(statement, context), mode=mode, queues=tuple(dict.fromkeys(queues))
        )
        if self._add(self._symbols.properties, statement.name, name, defined):
            self._symbols.property_statements[name] = statement

    def _property_type(self, statement: t.PropertyStatement, context: StaticContext) -> str:
        written = statement.type
        uri = written.uri or context.expand(written.prefix, "")
        if uri == XS and written.local in ITEM_TYPES - _NO_VALUES:
            return f"xs:{written.local}"
        close = nearest(written.local, ITEM_TYPES - _NO_VALUES)
        self._report.say(
            codes.PROPERTY_TYPE,
            written.span,
            f"`{written}` is no type that a property can have",
            help=f"did you mean `xs:{close}`?" if close else "take a built-in atomic type such as `xs:string`",
        )
        return "xs:untypedAtomic"

    def _property_mode(self, statement: t.PropertyStatement) -> PropertyMode:
        if not statement.modes:
            return PropertyMode.PLAIN
        if len(statement.modes) > 1:
            first, second = statement.modes[:2]
            twice = first.local == second.local
            self._report.say(
                codes.PROPERTY_MODE,
                second.span,
                f"`{first}` is given twice" if twice else f"a property cannot be `{first}` and `{second}`",
                help="take one of them away"
                if twice
                else "a fixed property always has its computed value, so that nothing is left to inherit",
            )
        return PropertyMode(statement.modes[0].local)

    def _check_clauses(self, statement: t.PropertyStatement, context: StaticContext, mode: PropertyMode) -> None:
        seen: dict[str, Name] = {}
        for clause in statement.clauses:
            if mode is PropertyMode.FIXED and clause.value is None:
                self._report.say(
                    codes.FIXED_WITHOUT_VALUE,
                    clause.span,
                    f"the fixed property `{statement.name}` has no value here",
                    help="add `value E`, or leave `fixed` away",
                )
            for queue in clause.queues:
                key = symbol(queue, context)
                if key in seen:
                    self._report.say(
                        codes.QUEUE_TWICE,
                        queue.span,
                        f"the property `{statement.name}` is defined twice on the queue `{queue}`",
                        notes=[Note("it is defined here first", seen[key].span)],
                        help="take one of the two away",
                    )
                seen[key] = queue

    # Slicings, collections, pipelines, rules

    def _slicing(self, statement: t.SlicingStatement, context: StaticContext) -> None:
        name = symbol(statement.name, context)
        property_name = symbol(statement.property, context)
        if name in self._symbols.queues:
            self._report.say(
                codes.DEFINED_TWICE,
                statement.name.span,
                f"`{name}` is already the name of a queue",
                help="rules name queues and slicings alike: give the slicing another name",
            )
            return
        slicing = Slicing(
            name=name,
            property=property_name,
            key_type=self._symbols.property_type(property_name) or "xs:anyAtomicType",
            queues=self._queues_of(property_name),
        )
        if self._add(self._symbols.slicings, statement.name, name, slicing):
            self._symbols.slicing_statements[name] = statement

    def _queues_of(self, property_name: str) -> tuple[str, ...]:
        defined = self._symbols.properties.get(property_name)
        if defined is not None:
            return defined.queues
        is_system = self._symbols.property_type(property_name) is not None
        return self._symbols.queues.names if is_system else ()

    def _collection(self, statement: t.CollectionStatement, context: StaticContext) -> None:
        name = symbol(statement.name, context)
        collection = Collection(name=name, pattern=statement.pattern.path)
        self._add(self._symbols.collections, statement.name, name, collection)

    def _pipeline(self, statement: t.PipelineStatement, context: StaticContext) -> None:
        name = symbol(statement.name, context)
        pipeline = Pipeline(name=name, file=statement.file.path)
        if self._add(self._symbols.pipelines, statement.name, name, pipeline):
            self._symbols.pipeline_statements[name] = statement

    def _rule(self, statement: t.RuleStatement, context: StaticContext) -> None:
        name = symbol(statement.name, context)
        self._add(self._symbols.rules, statement.name, name, name)


def _singular(what: str) -> str:
    return "property" if what == "properties" else what.removesuffix("s")


class _QueueOptions:
    """The options of one queue, each at most once."""

    def __init__(self, statement: t.QueueStatement, context: StaticContext, report: Report) -> None:
        self._statement = statement
        self._context = context
        self._report = report
        self._options: dict[str, t.Option] = {}
        self._extensions: list[t.UsingOption] = []
        self.unusable = False  # whether the queue is of no kind that there is
        self._collect()

    def _collect(self) -> None:
        for option in self._statement.options:
            if isinstance(option, t.UsingOption):
                key = f"using {option.extension}"
                self._extensions.append(option)
            else:
                key = option.keyword
            if key in self._options:
                self._report.say(
                    codes.OPTION_TWICE,
                    option.span,
                    f"`{key}` is given twice",
                    notes=[Note("it is given here first", self._options[key].span)],
                    help="take one of the two away",
                )
            else:
                self._options[key] = option

    def queue(self, name: str) -> Queue:
        return Queue(
            name=name,
            kind=self._word("kind", QueueKind, QueueKind.BASIC),
            mode=self._word("mode", QueueMode, QueueMode.PERSISTENT),
            priority=self._priority(),
            schema=self._schema(),
            errorqueue=self._errorqueue(),
            interface=self._interface(),
            extensions=self._web_service_extensions(),
        )

    def _word(self, keyword: str, words: type[_T], default: _T) -> _T:
        option = self._options.get(keyword)
        if not isinstance(option, t.WordOption):
            return default
        known = {member.value: member for member in words}  # type: ignore[attr-defined]  # `words` is an enum
        found = known.get(str(option.word))
        if found is None:
            self._report.say(
                codes.UNKNOWN_KIND,
                option.word.span,
                f"there is no {keyword} `{option.word}`",
                help=did_you_mean(str(option.word), known, f"{keyword}s"),
            )
            self.unusable = self.unusable or keyword == "kind"
            found = default
        return found

    def _priority(self) -> int:
        option = self._options.get("priority")
        if not isinstance(option, t.NumberOption):
            return 0
        if option.value not in _PRIORITIES:
            self._report.say(
                codes.PRIORITY,
                option.span,
                f"the priority {option.value} is out of range",
                help=f"priorities go from {_PRIORITIES[0]} to {_PRIORITIES[-1]}; the higher goes first",
            )
            return 0
        return option.value

    def _schema(self) -> str | None:
        option = self._options.get("schema")
        return option.file.path if isinstance(option, t.FileOption) else None

    def _errorqueue(self) -> str | None:
        option = self._options.get("errorqueue")
        return symbol(option.queue, self._context) if isinstance(option, t.QueueOption) else None

    def _interface(self) -> Interface | None:
        option = self._options.get("interface")
        if not isinstance(option, t.InterfaceOption):
            return None
        return Interface(file=option.file.path, port=option.port.local)

    def _web_service_extensions(self) -> tuple[WebServiceExtension, ...]:
        known = (RELIABLE_MESSAGING, SECURITY)
        found = []
        for option in self._extensions:
            if str(option.extension) in known:
                found.append(WebServiceExtension(name=str(option.extension), policy=option.policy.path))
            else:
                self._report.say(
                    codes.UNKNOWN_KIND,
                    option.extension.span,
                    f"there is no extension `{option.extension}`",
                    help=did_you_mean(str(option.extension), known, "extensions"),
                )
        return tuple(found)
