"""Evaluates the rules of one plan with one XQuery processor. Built once in a process, used for many batches."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from demaq.engine.admission import Admission
from demaq.engine.compiled import Compiled
from demaq.engine.documents import Documents
from demaq.engine.driver import (
    MadeReset,
    Raised,
    RuleResult,
    fields,
    joined,
    read_run,
)
from demaq.engine.errors import kind_of
from demaq.engine.history import History
from demaq.engine.limits import Limits
from demaq.engine.plan import Plan, PlanRule
from demaq.engine.records import Batch, Failure, Outcome, Task
from demaq.engine.values import canonical, index_key, readable, system_map, time_text, value_map
from demaq.engine.xml import MessageRefused
from demaq.model import SYSTEM_PROPERTIES, Message, NewMessage, PropertyMode, Slice
from demaq.store import Entry, Index, KeyKind, Member, Reader, Reset
from demaq.xquery.saxon import Item, Saxon, SaxonError

_FEW_RULES = 8  # to evaluate so many costs less than to look which of them can be skipped


@dataclass(slots=True)
class _Run:
    """A message on its way: what is loaded for it, and what its rules did so far."""

    task: Task
    rules: list[int]
    queues: set[str] = field(default_factory=set)
    entries: dict[str, Entry] = field(default_factory=dict)  # by the name under which the driver looks for each
    of: bool = False
    results: dict[int, RuleResult] = field(default_factory=dict)
    values: list[tuple[int, str]] = field(default_factory=list)
    has_values: bool = False
    seen: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Care:
    """How to evaluate after something went wrong: rule by rule, without those that are known to fail.

    `begin` is told the message, and the rule or -1, before each evaluation, for those who watch.
    """

    one_by_one: bool = False
    failures: Mapping[int, Failure] = field(default_factory=dict)
    begin: Callable[[int, int], None] = lambda _message, _rule: None


class Evaluator:
    def __init__(self, plan: Plan, limits: Limits) -> None:
        self.plan = plan
        self._limits = limits
        self._saxon = Saxon()
        self._compiled = Compiled(plan, self._saxon)
        self.admission = Admission(plan, self._compiled, self._saxon, limits)
        self._documents = Documents(self._saxon.document, limits.cache)
        self._care = Care()
        self._inherited = {known.name for known in plan.properties.values() if known.mode is PropertyMode.INHERITED}

    # Processing

    def process(self, batch: Batch, reader: Reader, care: Care | None = None) -> Iterator[Outcome]:
        """The outcome of each task, in their order. What rules ask for is loaded for all of them together."""
        self._care = care or Care()
        history = History(reader, self.plan, batch)
        slices = {task.message.id: self.plan.slices(task.message) for task in batch.tasks}
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
                yield self.admission.fire(task)
            else:
                yield self._outcome(runs[task.message.id], slices[task.message.id])
        self._documents.trim()

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
        root, *names = fields(self._saxon.call(self._compiled.names, document))
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
            entries=(entry for run in runs for entry in run.entries.values()),
        )

    def _advance(self, run: _Run, history: History, slices: tuple[Slice, ...]) -> bool:
        """Evaluate the rules that are not done yet; whether all are done now."""
        left = [number for number in run.rules if number not in run.results]
        if self._care.one_by_one:
            for number in left:
                self._care.begin(run.task.message.id, number)
                if number in self._care.failures:
                    run.results[number] = RuleResult(number, failure=self._care.failures[number])
                else:
                    self._evaluate(run, [number], history, slices)
        elif left or (slices and not run.has_values):
            self._care.begin(run.task.message.id, -1)
            self._evaluate(run, left, history, slices)
        return all(number in run.results for number in run.rules)

    def _evaluate(self, run: _Run, left: list[int], history: History, slices: tuple[Slice, ...]) -> None:
        """Evaluate these rules. What cannot be caught inside, such as endless recursion, is tried out rule by rule."""
        try:
            self._note(run, self._call(run, left, history, slices))
        except SaxonError as error:
            if len(left) == 1:
                raised = Raised("demaq:resource", error.message, 0, 0)
                run.results[left[0]] = RuleResult(left[0], raised=raised)
                return
            for number in left:
                self._evaluate(run, [number], history, slices)

    def _call(self, run: _Run, left: list[int], history: History, slices: tuple[Slice, ...]) -> str:
        task = run.task
        members = {slice_.slicing: history.slice(slice_, task.position) for slice_ in slices}
        members = {slicing: [*found, Member(task.position, task.message.id)] for slicing, found in members.items()}
        queues = {queue: history.queue(queue, task.position) for queue in run.queues}
        lookups = {name: history.found(entry, task.position) for name, entry in run.entries.items()}
        # The message itself is among the messages of its queue.
        own = Member(task.position, task.message.id)
        for queue, found in queues.items():
            if queue == task.message.queue:
                found.append(own)
        for name, found in lookups.items():
            if run.entries[name].index.queue == task.message.queue:
                found.append(own)
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
        _, paths = self._compiled.paths[task.message.queue]
        wants_values = bool(slices) and not run.has_values
        return self._saxon.call(
            self._compiled.run,
            documents[task.message.id],
            self._saxon.string(time_text(task.now)),
            tasks,
            loaded,
            self._compiled.definitions_map,
            system_map(self._saxon, task.message, task.now),
            paths if wants_values else self._saxon.array([]),
        )

    def _needs_slice(self, rules: Sequence[int], slicing: str) -> bool:
        return any(self.plan.rules[number].slicing == slicing for number in rules)

    def _note(self, run: _Run, text: str) -> None:
        result = read_run(text)
        run.values = result.values or run.values
        run.has_values = True
        for found in result.rules:
            if found.needed is None:
                run.results[found.rule] = found
            else:
                self._ask_for(run, found.needed.what)

    def _ask_for(self, run: _Run, what: tuple[str, ...]) -> None:
        kind, *rest = what
        if kind == "queue":
            run.queues.add(rest[0])
        elif kind == "lookup":
            queue, path, key_kind, *values = rest
            index = Index(queue, path, KeyKind(key_kind))
            for value in values:
                run.entries[joined(queue, path, key_kind, value)] = Entry(index, canonical(index.kind, value))
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
        return self._saxon.array([text(str(number)), self._compiled.rules[number], *last])

    def _loaded(
        self,
        run: _Run,
        rules: Sequence[int],
        documents: Mapping[int, Item],
        queues: Mapping[str, list[Member]],
        lookups: Mapping[str, list[Member]],
        history: History,
    ) -> Item:
        def array(members: Iterable[Member]) -> Item:
            return self._saxon.array([documents[member.message] for member in members])

        wanted = {name for number in rules for name in self.plan.rules[number].properties}
        own = readable(run.task.message, wanted | self._inherited | {"sys:connection"})
        of = {}
        if run.of:
            of["*"] = self._saxon.map({})  # says that all are here
            for number, document in documents.items():
                message = history.message(number)
                every = readable(message, {*self.plan.properties, *SYSTEM_PROPERTIES})
                of[self._saxon.call(self._compiled.identity, document)] = value_map(self._saxon, every)
        return self._saxon.map(
            {
                "queues": self._saxon.map({queue: array(members) for queue, members in queues.items()}),
                "lookups": self._saxon.map({name: array(members) for name, members in lookups.items()}),
                "indexes": self._compiled.indexes,
                "collections": self._compiled.collections,
                "properties": value_map(self._saxon, own),
                "of": self._saxon.map(of),
            }
        )

    # What comes of it

    def _outcome(self, run: _Run, slices: tuple[Slice, ...]) -> Outcome:
        message, now = run.task.message, run.task.now
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
            produced, resets = list(self.admission.error_messages(failures, message, now)), []
        return Outcome(
            message=message.id,
            produced=tuple(produced),
            resets=tuple(resets),
            entries=self._as_entries(message.queue, run.values),
            failures=tuple(failures),
            slices=depends,
            seen=frozenset(run.seen),
        )

    def _apply(
        self, result: RuleResult, message: Message, now: datetime, produced: list[NewMessage], resets: list[Reset]
    ) -> None:
        rule = self.plan.rules[result.rule]
        if result.failure is not None:
            raise _RuleFailed(result.failure)
        if result.raised is not None:
            raise _RuleFailed(self._failure(result.raised, rule))
        for action in result.actions:
            if isinstance(action, MadeReset):
                slice_ = Slice(action.slicing, action.key.text)
                resets.append(Reset(slice=slice_, transient=self.plan.is_transient(action.slicing)))
                continue
            try:
                produced.append(self.admission.new_message(action, message, now, rule.name))
            except MessageRefused as refused:
                failure = _at(rule, Failure(kind=refused.kind, description=refused.reason, rule=rule.name))
                raise _RuleFailed(failure) from refused
        if len(produced) > self._limits.messages:
            reason = f"more than {self._limits.messages:,} messages were made"
            raise _RuleFailed(_at(rule, Failure(kind="resource", description=reason, rule=rule.name)))

    def _failure(self, raised: Raised, rule: PlanRule) -> Failure:
        number = self.plan.rules.index(rule)
        place = None
        line = raised.line - self._compiled.starts[number]
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

    def entries(self, messages: Sequence[Message]) -> list[tuple[Entry, ...]]:
        """The index entries of messages, for indexes that are new."""
        return [self._entries_of(message) for message in messages]

    def _entries_of(self, message: Message) -> tuple[Entry, ...]:
        no_map, no_array = self._saxon.map({}), self._saxon.array([])
        document = self._saxon.document(message.body)
        _, paths = self._compiled.paths[message.queue]
        now = self._saxon.string(time_text(message.created))
        text = self._saxon.call(self._compiled.run, document, now, no_array, no_map, no_map, no_map, paths)
        return self._as_entries(message.queue, read_run(text).values)

    def _as_entries(self, queue: str, values: Sequence[tuple[int, str]]) -> tuple[Entry, ...]:
        indexes, _ = self._compiled.paths[queue]
        paths = list(dict.fromkeys(index.path for index in indexes))
        return tuple(
            Entry(index, key)
            for number, value in values
            for index in indexes
            if index.path == paths[number] and (key := index_key(index.kind, value)) is not None
        )

    @property
    def is_worn_out(self) -> bool:
        """Has it seen so many names that the engine will soon take no more?"""
        return len(self.admission.names) > self._limits.worker_names


class _RuleFailed(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.description)
        self.failure = failure


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
