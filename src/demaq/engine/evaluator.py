"""Evaluates the rules of one plan with one XQuery processor. Built once in a process, used for many batches."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from lxml import etree

from demaq.engine.documents import Documents
from demaq.engine.driver import (
    Made,
    MadeReset,
    Raised,
    RuleResult,
    driver_text,
    fields,
    joined,
    read_made,
    read_raised,
    read_run,
)
from demaq.engine.durations import DurationInvalid, due_after
from demaq.engine.errors import error_body, kind_of
from demaq.engine.history import History
from demaq.engine.limits import Limits
from demaq.engine.plan import Plan, PlanFunction, PlanRule
from demaq.engine.records import Batch, Failure, Incoming, Outcome, Task
from demaq.engine.xml import MessageRefused, read_message
from demaq.model import SYSTEM_PROPERTIES, Message, NewMessage, Origin, PropertyMode, QueueKind, Slice, Value
from demaq.store import Entry, Index, KeyKind, Member, Reader, Reset
from demaq.xquery.saxon import Item, Saxon, SaxonError

_FEW_RULES = 8  # to evaluate so many costs less than to look which of them can be skipped
_MODES = {PropertyMode.PLAIN: "plain", PropertyMode.FIXED: "fixed", PropertyMode.INHERITED: "inherited"}


@dataclass(slots=True)
class _Run:
    """A message on its way: what is loaded for it, and what its rules did so far."""

    task: Task
    rules: list[int]
    queues: set[str] = field(default_factory=set)
    entries: set[Entry] = field(default_factory=set)
    of: bool = False
    results: dict[int, RuleResult] = field(default_factory=dict)
    values: list[tuple[int, str]] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)


class Evaluator:
    def __init__(self, plan: Plan, limits: Limits) -> None:
        self.plan = plan
        self._limits = limits
        self._saxon = Saxon()
        self._run, self._admit, self._names, self._identity = self._saxon.items(driver_text())
        self._documents = Documents(self._saxon.document, limits.cache)
        self._collections = self._saxon.map(
            {
                name: self._saxon.array([self._saxon.document(text) for text in texts])
                for name, texts in plan.collections.items()
            }
        )
        self._rules, self._starts = self._compiled([rule.function for rule in plan.rules])
        values, _ = self._compiled([value.function for value in plan.values])
        self._values = dict(zip((id(value) for value in plan.values), values, strict=True))
        self._definitions_of = {queue: self._definitions(queue) for queue in plan.queues}
        self._definitions_map = self._saxon.map(self._definitions_of)
        self._paths = {queue: self._path_functions(queue) for queue in plan.queues}
        self._indexes = self._saxon.map(
            {joined(index.queue, index.path, index.kind.value): self._saxon.string("") for index in plan.indexes}
        )
        self._schemas = _Schemas(plan)
        self._inherited = {known.name for known in plan.properties.values() if known.mode is PropertyMode.INHERITED}
        self._known_names: set[str] = set()

    # Compiling

    def _compiled(self, functions: Sequence[PlanFunction]) -> tuple[list[Item], list[int]]:
        """The functions, and the line of its module's query at which each begins."""
        found: dict[int, Item] = {}
        starts: dict[int, int] = {}
        for module, prolog in self.plan.modules.items():
            own = [number for number, function in enumerate(functions) if function.module == module]
            if not own:
                continue
            line = prolog.count("\n") + 3
            for number in own:
                starts[number] = line
                line += functions[number].text.count("\n") + 2
            text = ",\n\n".join(functions[number].text for number in own)
            items = self._saxon.items(f"{prolog}\n(\n{text}\n)")
            found.update(zip(own, items, strict=True))
        return [found[number] for number in range(len(functions))], [starts[n] for n in range(len(functions))]

    def _definitions(self, queue: str) -> Item:
        """The properties of messages of a queue, in the order of their definition."""
        rows = []
        for known in self.plan.properties.values():
            if queue not in known.queues:
                continue
            values = [value for value in self.plan.values if value.property == known.name and queue in value.queues]
            compute = self._values[id(values[0])] if values else self._saxon.array([])
            texts = [self._saxon.string(text) for text in (known.name, known.type, _MODES[known.mode])]
            rows.append(self._saxon.array([*texts, compute]))
        return self._saxon.array(rows)

    def _path_functions(self, queue: str) -> tuple[tuple[Index, ...], Item]:
        indexes = self.plan.indexes_by_queue[queue]
        paths = dict.fromkeys(index.path for index in indexes)
        functions = [self._saxon.items(f"function($m) {{ $m ! ({path}) ! string(.) }}")[0] for path in paths]
        return indexes, self._saxon.array(functions)

    # Processing

    def process(self, batch: Batch, reader: Reader) -> Iterator[Outcome]:
        """The outcome of each task, in their order. What rules ask for is loaded for all of them together."""
        history = History(reader, self.plan, batch)
        slices = {
            task.message.id: self.plan.slices(task.message.queue, task.message.properties) for task in batch.tasks
        }
        history.load(slices=(slice_ for found in slices.values() for slice_ in found))
        runs = {}
        for task in batch.tasks:
            if not task.fires:
                self._keep(history, [task.message.id])
                runs[task.message.id] = _Run(task, self._applicable(task, slices[task.message.id]))
        pending = list(runs.values())
        while pending:
            self._load(history, pending)
            pending = [run for run in pending if not self._advance(run, history, slices[run.task.message.id])]
        for task in batch.tasks:
            if task.fires:
                yield self._fire(task)
            else:
                yield self._outcome(runs[task.message.id], slices[task.message.id])
        self._documents.trim()

    def process_carefully(self, task: Task, batch: Batch, reader: Reader) -> Iterator[tuple[int, Outcome | None]]:
        """One message, one rule at a time: before each the number of the rule and None, at the end the outcome."""
        raise NotImplementedError

    def _applicable(self, task: Task, slices: tuple[Slice, ...]) -> list[int]:
        """The rules that may do something for a message."""
        own = {slice_.slicing for slice_ in slices}
        rules = [
            number
            for number in self.plan.rules_by_queue.get(task.message.queue, ())
            if self.plan.rules[number].slicing is None or self.plan.rules[number].slicing in own
        ]
        if len(rules) <= _FEW_RULES:
            return rules
        document = self._documents.in_order([Member(task.position, task.message.id)])[task.message.id]
        root, *names = fields(self._saxon.call(self._names, document))
        known = frozenset(names)
        return [number for number in rules if self.plan.rules[number].skip.holds(root, known)]

    def _keep(self, history: History, ids: Iterable[int]) -> None:
        absent = self._documents.missing(list(ids))
        if absent:
            self._documents.keep(history.bodies(absent))

    def _load(self, history: History, runs: Sequence[_Run]) -> None:
        for run in runs:
            run.queues |= {queue for number in run.rules for queue in self.plan.rules[number].reads}
        history.load(
            queues=(queue for run in runs for queue in run.queues),
            entries=(entry for run in runs for entry in run.entries),
        )

    def _advance(self, run: _Run, history: History, slices: tuple[Slice, ...]) -> bool:
        """Evaluate the rules that are not done yet; whether all are done now."""
        left = [number for number in run.rules if number not in run.results]
        if not left and run.results:
            return True
        task = run.task
        members = {slice_.slicing: history.slice(slice_, task.position) for slice_ in slices}
        members = {slicing: [*found, Member(task.position, task.message.id)] for slicing, found in members.items()}
        queues = {queue: history.queue(queue, task.position) for queue in run.queues}
        # The message itself is among the messages of its queue, if it is retained.
        if task.message.queue in queues and slices:
            queues[task.message.queue].append(Member(task.position, task.message.id))
        lookups = {entry: history.found(entry, task.position) for entry in run.entries}
        for entry, found in lookups.items():
            if entry.index.queue == task.message.queue and slices:
                found.append(Member(task.position, task.message.id))
        read = {member.message: member for found in (*queues.values(), *lookups.values()) for member in found}
        run.seen |= read.keys()
        needed = {slicing: found for slicing, found in members.items() if self._needs_slice(left, slicing)}
        every = {member.message: member for found in needed.values() for member in found} | read
        every[task.message.id] = Member(task.position, task.message.id)
        ordered = sorted(every.values(), key=lambda member: member.position)
        self._keep(history, (member.message for member in ordered))
        documents = self._documents.in_order(ordered)
        arrays = {
            slicing: self._saxon.array([documents[member.message] for member in found])
            for slicing, found in needed.items()
        }
        loaded = self._loaded(run, left, documents, queues, lookups, history)
        keys = {slice_.slicing: slice_.key for slice_ in slices}
        tasks = self._saxon.array([self._task(number, arrays, keys) for number in left])
        _, paths = self._paths[task.message.queue]
        wants_values = bool(slices) and not run.results
        text = self._saxon.call(
            self._run,
            documents[task.message.id],
            self._saxon.string(_time(task.now)),
            tasks,
            loaded,
            self._definitions_map,
            self._system(task.message, task.now),
            paths if wants_values else self._saxon.array([]),
        )
        return self._note(run, text)

    def _needs_slice(self, rules: Sequence[int], slicing: str) -> bool:
        return any(self.plan.rules[number].slicing == slicing for number in rules)

    def _note(self, run: _Run, text: str) -> bool:
        result = read_run(text)
        run.values = result.values or run.values
        done = True
        for found in result.rules:
            if found.needed is None:
                run.results[found.rule] = found
            else:
                done = False
                self._ask_for(run, found.needed.what)
        return done

    def _ask_for(self, run: _Run, what: tuple[str, ...]) -> None:
        kind, *rest = what
        if kind == "queue":
            run.queues.add(rest[0])
        elif kind == "lookup":
            queue, path, key_kind, *values = rest
            index = Index(queue, path, KeyKind(key_kind))
            run.entries |= {Entry(index, canonical(index.kind, value)) for value in values}
        else:
            assert kind == "of", kind
            run.of = True

    def _task(self, number: int, arrays: Mapping[str, Item], keys: Mapping[str, str]) -> Item:
        slicing = self.plan.rules[number].slicing
        text = self._saxon.string
        if slicing is None:
            last = [text(""), self._saxon.array([]), text(""), text("")]
        else:
            last = [text(slicing), arrays[slicing], text(self.plan.slicings[slicing].key_type), text(keys[slicing])]
        return self._saxon.array([text(str(number)), self._rules[number], *last])

    def _loaded(
        self,
        run: _Run,
        rules: Sequence[int],
        documents: Mapping[int, Item],
        queues: Mapping[str, list[Member]],
        lookups: Mapping[Entry, list[Member]],
        history: History,
    ) -> Item:
        def array(members: Iterable[Member]) -> Item:
            return self._saxon.array([documents[member.message] for member in members])

        wanted = {name for number in rules for name in self.plan.rules[number].properties}
        own = self._readable(run.task.message, wanted | self._inherited | {"sys:connection"})
        by_name = {}
        for entry, members in lookups.items():
            index = entry.index
            by_name[joined(index.queue, index.path, index.kind.value, entry.value)] = array(members)
        of = {}
        if run.of:
            for number, document in documents.items():
                message = history.message(number)
                every = self._readable(message, {*self.plan.properties, *SYSTEM_PROPERTIES})
                of[self._saxon.call(self._identity, document)] = self._value_map(every)
        return self._saxon.map(
            {
                "queues": self._saxon.map({queue: array(members) for queue, members in queues.items()}),
                "lookups": self._saxon.map(by_name),
                "indexes": self._indexes,
                "collections": self._collections,
                "properties": self._value_map(own),
                "of": self._saxon.map(of),
            }
        )

    def _readable(self, message: Message, names: Iterable[str]) -> dict[str, Value]:
        found = {}
        for name in names:
            value = message.properties.get(name) or _system_value(name, message)
            if value is not None:
                found[name] = value
        return found

    def _value_map(self, values: Mapping[str, Value]) -> Item:
        text = self._saxon.string
        return self._saxon.map(
            {name: self._saxon.array([text(value.type), text(value.text)]) for name, value in values.items()}
        )

    def _system(self, message: Message | None, now: datetime) -> Item:
        values = {"sys:created": Value("xs:dateTime", _time(now))}
        if message is not None:
            values["sys:cause"] = Value("xs:integer", str(message.id))
        return self._value_map(values)

    # What comes of it

    def _outcome(self, run: _Run, slices: tuple[Slice, ...]) -> Outcome:
        message, now = run.task.message, run.task.now
        indexes, _ = self._paths[message.queue]
        paths = list(dict.fromkeys(index.path for index in indexes))
        entries = tuple(
            Entry(index, key)
            for number, value in run.values
            for index in indexes
            if index.path == paths[number] and (key := _key(index.kind, value)) is not None
        )
        read = {self.plan.rules[number].slicing for number in run.rules}
        depends = frozenset(slice_ for slice_ in slices if slice_.slicing in read)
        produced: list[NewMessage] = []
        resets: list[Reset] = []
        failures: list[Failure] = []
        for number in run.rules:
            try:
                self._apply(run.results[number], message, now, produced, resets)
            except _RuleFailed as failed:
                failures.append(failed.failure)
        if failures:
            produced, resets = [self._error_message(failure, message, now) for failure in failures], []
        return Outcome(
            message=message.id,
            produced=tuple(produced),
            resets=tuple(resets),
            entries=entries,
            failures=tuple(failures),
            slices=depends,
            seen=frozenset(run.seen),
        )

    def _apply(
        self, result: RuleResult, message: Message, now: datetime, produced: list[NewMessage], resets: list[Reset]
    ) -> None:
        rule = self.plan.rules[result.rule]
        if result.raised is not None:
            raise _RuleFailed(self._failure(result.raised, rule))
        for action in result.actions:
            if isinstance(action, MadeReset):
                slice_ = Slice(action.slicing, action.key.text)
                resets.append(Reset(slice=slice_, transient=self.plan.is_transient(action.slicing)))
                continue
            try:
                produced.append(self._new_message(action, message, now, rule.name))
            except MessageRefused as refused:
                failure = _at(rule, Failure(kind=refused.kind, description=refused.reason, rule=rule.name))
                raise _RuleFailed(failure) from refused
        if len(produced) > self._limits.messages:
            reason = f"more than {self._limits.messages:,} messages were made"
            raise _RuleFailed(_at(rule, Failure(kind="resource", description=reason, rule=rule.name)))

    def _failure(self, raised: Raised, rule: PlanRule) -> Failure:
        number = self.plan.rules.index(rule)
        place = None
        line = raised.line - self._starts[number]
        if line >= 0:
            lines = rule.function.text.split("\n")
            if line < len(lines):
                offset = sum(len(before) + 1 for before in lines[:line]) + max(raised.column - 1, 0)
                place = rule.function.place(offset)
        failure = Failure(
            kind=kind_of(raised.code), code=_code(raised.code), description=raised.description, rule=rule.name
        )
        if place is None:
            return _at(rule, failure)
        return Failure(
            kind=failure.kind,
            code=failure.code,
            description=failure.description,
            rule=rule.name,
            file=place.file,
            line=place.line,
            column=place.column,
        )

    def _new_message(
        self,
        made: Made,
        cause: Message | None,
        now: datetime,
        rule: str | None = None,
        origin: Origin = Origin.RULE,
    ) -> NewMessage:
        """A message that a rule made, if its queue can take it."""
        queue = self.plan.queues.get(made.queue)
        if queue is None:
            raise MessageRefused(f"there is no queue `{made.queue}`", "evaluation")
        read = None
        # Elements that close are as many as there are levels at least.
        if len(made.body) > self._limits.message_size or made.body.count("</") > min(self._limits.depth, 50):
            read = read_message(made.body, self._limits)
        self._schemas.check(queue.schema, made.body, read)
        due = None
        properties = made.properties
        if queue.kind is QueueKind.ECHO:
            due = self._due(properties, now)
        return NewMessage(
            queue=queue.name,
            body=made.body,
            properties=properties,
            origin=origin,
            cause=None if cause is None else cause.id,
            rule=rule,
            rank=queue.rank,
            due=due,
            transient=queue.transient,
        )

    def _due(self, properties: Mapping[str, Value], now: datetime) -> datetime:
        timeout, target = properties.get("timeout"), properties.get("target")
        if timeout is None or target is None:
            missing = "timeout" if timeout is None else "target"
            raise MessageRefused(f"a message for an echo queue has no `{missing}`", "property")
        found = self.plan.queues.get(target.text)
        if found is None or found.kind in (QueueKind.ECHO, QueueKind.INCOMING_GATEWAY):
            raise MessageRefused(f"`{target.text}` cannot be the target of a message in an echo queue", "property")
        try:
            return due_after(timeout, now)
        except DurationInvalid as error:
            raise MessageRefused(str(error), "property") from error

    # Messages that no rule makes

    def admit(self, incoming: Incoming) -> NewMessage:
        """A message from outside; raises `MessageRefused`."""
        queue = self.plan.queues.get(incoming.queue)
        if queue is None:
            raise MessageRefused(f"there is no queue `{incoming.queue}`", "system")
        read = read_message(incoming.body, self._limits)
        self._count_names(read.names)
        document = self._parse(read.text)
        self._schemas.check(queue.schema, read.text, read)
        made = self._made(incoming.queue, document, incoming.properties, {}, None, incoming.now)
        # The text stays as it came.
        whole = Made(made.queue, read.text, made.properties)
        return self._new_message(whole, None, incoming.now, origin=Origin.OUTSIDE)

    def _parse(self, text: str) -> Item:
        try:
            return self._saxon.document(text)
        except SaxonError as error:
            raise MessageRefused(f"the message is not well-formed XML: {error.message}") from error

    def _made(
        self,
        queue: str,
        document: Item,
        given: Mapping[str, Value],
        inherited: Mapping[str, Value],
        cause: Message | None,
        now: datetime,
    ) -> Made:
        text = self._saxon.call(
            self._admit,
            self._saxon.string(queue),
            document,
            self._value_map(given),
            self._value_map(inherited),
            self._definitions_of[queue],
            self._system(cause, now),
            self._saxon.string(_time(now)),
        )
        parts = fields(text)
        if next(parts) == "E":
            raised = read_raised(parts)
            raise MessageRefused(raised.description, kind_of(raised.code))
        return read_made(parts)

    def _fire(self, task: Task) -> Outcome:
        """A message of an echo queue goes on to its target."""
        message, now = task.message, task.now
        target = message.properties["target"].text
        try:
            given = {
                name: value
                for name, value in message.properties.items()
                if name not in ("timeout", "target") and self._is_settable(name, target)
            }
            made = self._made(target, self._parse(message.body), given, message.properties, message, now)
            produced = self._new_message(Made(target, message.body, made.properties), message, now, origin=Origin.TIMER)
        except (MessageRefused, KeyError) as error:
            reason = error.reason if isinstance(error, MessageRefused) else f"there is no queue `{target}` any more"
            failure = Failure(kind="system", description=reason)
            return Outcome(
                message=message.id,
                produced=(self._error_message(failure, message, now),),
                failures=(failure,),
            )
        return Outcome(message=message.id, produced=(produced,))

    def _is_settable(self, name: str, queue: str) -> bool:
        known = self.plan.properties.get(name)
        return known is None or (queue in known.queues and known.mode is not PropertyMode.FIXED)

    def failed(self, task: Task, failures: Sequence[Failure]) -> Outcome:
        """The outcome of a message whose rules could not be evaluated."""
        produced = tuple(self._error_message(failure, task.message, task.now) for failure in failures)
        return Outcome(message=task.message.id, produced=produced, failures=tuple(failures))

    def refused(self, incoming: Incoming, refusal: MessageRefused) -> NewMessage | None:
        """The error message about a message from outside that was refused; None if its queue does not exist."""
        queue = self.plan.queues.get(incoming.queue)
        if queue is None:
            return None
        raw = incoming.body if isinstance(incoming.body, str) else incoming.body.decode("utf-8", "replace")
        failure = Failure(kind=refusal.kind, description=refusal.reason)
        body = error_body(failure, queue.name, incoming.now, None, raw)
        return self._system_message(queue.error_queues[0], body, None, incoming.now, None)

    def _error_message(self, failure: Failure, message: Message, now: datetime) -> NewMessage:
        rule = next((rule for rule in self.plan.rules if rule.name == failure.rule), None)
        levels = (
            self.plan.queues[message.queue].error_queues
            if rule is None
            else rule.error_queues.get(message.queue, (SYSTEM_ERRORS,))
        )
        body = error_body(failure, message.queue, now, message)
        return self._system_message(levels[0] if levels else SYSTEM_ERRORS, body, message, now, failure.rule)

    def _system_message(
        self, queue: str, body: str, cause: Message | None, now: datetime, rule: str | None
    ) -> NewMessage:
        """A message of the system's own. If its properties cannot be computed, it goes without them."""
        inherited = {} if cause is None else cause.properties
        try:
            made = self._made(queue, self._saxon.document(body), {}, inherited, cause, now)
            return self._new_message(Made(queue, body, made.properties), cause, now, rule, Origin.ERROR)
        except (MessageRefused, SaxonError):
            bare = self.plan.queues[queue]
            return NewMessage(
                queue=queue,
                body=body,
                origin=Origin.ERROR,
                cause=None if cause is None else cause.id,
                rule=rule,
                rank=bare.rank,
                transient=bare.transient,
            )

    # Indexes of messages that are there already

    def entries(self, queue: str, bodies: Mapping[int, str]) -> dict[int, tuple[Entry, ...]]:
        raise NotImplementedError

    # Housekeeping

    def _count_names(self, names: Iterable[str]) -> None:
        self._known_names.update(names)

    @property
    def is_worn_out(self) -> bool:
        """Has it seen so many names that the engine will soon take no more?"""
        return len(self._known_names) > self._limits.worker_names


SYSTEM_ERRORS = "systemErrors"


class _RuleFailed(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.description)
        self.failure = failure


class _Schemas:
    """Compiles the schemas of a plan when they are first needed."""

    def __init__(self, plan: Plan) -> None:
        self._texts = plan.schemas
        self._compiled: dict[str, etree.XMLSchema] = {}

    def check(self, name: str | None, body: str, read: object) -> None:
        if name is None:
            return
        tree = getattr(read, "root", None)
        if tree is None:
            tree = etree.fromstring(body, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True))
        schema = self._schema(name)
        if not schema.validate(tree):
            first = schema.error_log[0]
            raise MessageRefused(f"the schema `{name}` refuses the message: {first.message}", "schema")

    def _schema(self, name: str) -> "etree.XMLSchema":
        if name not in self._compiled:
            with tempfile.TemporaryDirectory() as folder:
                for path, text in self._texts.items():
                    file = Path(folder) / path
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(text, encoding="utf-8")
                self._compiled[name] = etree.XMLSchema(etree.parse(str(Path(folder) / name)))
        return self._compiled[name]


def _at(rule: PlanRule, failure: Failure) -> Failure:
    return Failure(
        kind=failure.kind,
        code=failure.code,
        description=failure.description,
        rule=failure.rule,
        file=rule.file,
        line=rule.line,
        column=rule.column,
    )


def _code(code: str) -> str:
    """`err:FORG0001` and the like are known by their last part."""
    return code.rpartition(":")[2]


def _time(then: datetime) -> str:
    return then.isoformat().replace("+00:00", "Z")


def canonical(kind: KeyKind, text: str) -> str:
    """A key as the index has it."""
    found = _key(kind, text)
    return text if found is None else found


def _key(kind: KeyKind, text: str) -> str | None:
    """The value of a path as a key: None for a text that is no number, where numbers are compared."""
    if kind is KeyKind.TEXT:
        return text
    stripped = text.strip().replace("INF", "inf")
    if not stripped or any(c.isalpha() and c not in "eEinfNa" for c in stripped) or "_" in stripped:
        return None
    try:
        return repr(float(stripped) + 0.0)
    except ValueError:
        return None


def _system_value(name: str, message: Message) -> Value | None:
    if name == "sys:id":
        return Value("xs:integer", str(message.id))
    if name == "sys:queue":
        return Value("xs:string", message.queue)
    if name == "sys:rule":
        return None if message.rule is None else Value("xs:string", message.rule)
    if name == "sys:cause":
        return None if message.cause is None else Value("xs:integer", str(message.cause))
    if name == "sys:created":
        return Value("xs:dateTime", _time(message.created))
    if name == "sys:size":
        return Value("xs:integer", str(len(message.body)))
    return message.properties.get("Sender") if name == "sys:sender" else None
