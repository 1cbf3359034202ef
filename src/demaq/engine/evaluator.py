"""Evaluates the rules of one plan with one XQuery processor. Built once in a process, used for many batches."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from demaq.engine.admission import Admission
from demaq.engine.compiled import Compiled
from demaq.engine.documents import Documents
from demaq.engine.driver import (
    FieldsInvalid,
    Made,
    MadeReset,
    Raised,
    RuleResult,
    RunResult,
    fields,
    index_name,
    read_foreseen,
    read_run,
)
from demaq.engine.errors import kind_of
from demaq.engine.foresight import Foresight, Habit, RuleLookup
from demaq.engine.history import History
from demaq.engine.keys import keys_in
from demaq.engine.plan import Plan
from demaq.engine.records import Batch, Failure, Mate, Outcome, Task
from demaq.engine.relevance import Names, Relevance, Relevant
from demaq.engine.roots import Roots
from demaq.engine.values import canonical, index_key, key_text, readable
from demaq.engine.xml import MessageRefused
from demaq.model import SYSTEM_PROPERTIES, Message, NewMessage, PropertyMode, Slice
from demaq.store import Entry, Index, KeyKind, Member, Reader, Reset
from demaq.xquery.saxon import Item, Saxon, SaxonError, SaxonExhausted


@dataclass(slots=True)
class _Run:
    """A message on its way: what is loaded for it, and what its rules did so far."""

    task: Task
    slices: tuple[Slice, ...]
    relevant: Relevant
    rules: tuple[int, ...]  # those that are not skipped for what is in a slice
    queues: set[str] = field(default_factory=set)
    entries: dict[str, Entry] = field(default_factory=dict)  # by the name under which the driver looks for each
    of: bool = False
    results: dict[int, RuleResult] = field(default_factory=dict)
    values: Sequence[tuple[int, str]] = ()
    has_values: bool = False
    has_asked: bool = False  # for something that was not loaded
    habit: Habit | None = None  # to be told what it asks for
    seen: set[int] = field(default_factory=set)
    needed: "_Needed" = field(default_factory=lambda: _NOTHING)
    answer: "_Answer | None" = None  # of the engine, not read yet

    def left(self) -> tuple[int, ...]:
        """The rules that are not done yet."""
        return tuple(number for number in self.rules if number not in self.results) if self.results else self.rules


@dataclass(frozen=True, slots=True)
class _Needed:
    """The messages that rules are given: by slice, by queue, and by the name of a lookup."""

    slices: dict[Slice, list[Member]]
    queues: dict[str, list[Member]]
    lookups: dict[str, list[Member]]

    def every(self) -> Iterator[list[Member]]:
        yield from self.slices.values()
        yield from self.queues.values()
        yield from self.lookups.values()


_Answer = tuple[str, list[Item], int] | SaxonError
"""A text, documents and the number of the first of them; or why there is none."""

_NOTHING: _Needed = _Needed({}, {}, {})
_AT_ONCE = 1000  # messages for which what they ask for is loaded together, and kept
_TOGETHER = (
    100  # messages about which the engine is asked before an answer is read, if they and their answers are small
)
_SMALL = 1024 * 1024  # characters of those messages, and of the answers,
_MEMBER = 100  # where each message that a rule is given counts as so many


@dataclass(slots=True)
class Care:
    """How to evaluate after something went wrong: rule by rule, without those that are known to fail.

    With `bare`, error messages go without computed properties. `begin` is told the message, and the rule or -1, before
    each evaluation, for those who watch. They also care for an engine that is exhausted: no error of the rule yet.
    """

    one_by_one: bool = False
    bare: bool = False
    failures: Mapping[int, Failure] = field(default_factory=dict)
    begin: Callable[[int, int], None] = lambda _message, _rule: None
    is_watched: bool = False


class Evaluator:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._limits = plan.limits
        self._saxon = Saxon()
        self._compiled = Compiled(plan, self._saxon)
        copy = self._copy if self._compiled.is_blind_to_origin else None
        self._documents = Documents(self._saxon.document, copy, plan.limits.cache)
        self.admission = Admission(plan, self._compiled, self._saxon, self._documents.add)
        self._relevance = Relevance(plan)
        self._roots = Roots()
        self._foresight = Foresight(plan)
        self._foreseen: dict[tuple[RuleLookup, ...], Item] = {}  # as the driver takes them
        self._care = Care()
        self._inherited = frozenset(
            known.name for known in plan.properties.values() if known.mode is PropertyMode.INHERITED
        )
        self._wanted: dict[tuple[int, ...], tuple[str, ...]] = {}  # properties, by the rules that are evaluated
        self._over: list[int] = []  # messages that rules will hardly see again: they are in no slice any more
        self._nothing = self._saxon.map({})
        self._no_queue = self._saxon.string("")

    # Processing

    def process(self, batch: Batch, reader: Reader, care: Care | None = None) -> Iterator[Outcome]:
        """The outcome of each task, in their order. What rules ask for is loaded for all of them together."""
        self._care = care or Care()
        self._documents.read_by(reader)
        self._roots.read_by(reader)
        history = History(reader, self.plan, batch, self._entries_of)
        for start in range(0, len(batch.tasks), _AT_ONCE):
            tasks = _completed(batch.tasks[start : start + _AT_ONCE], reader)
            self._over = [task.message.id for task in tasks if not task.slices]
            yield from self._process(tasks, history)
            history.forget_bodies()
            self._documents.forget(self._over)
            self._documents.trim()
            self._roots.trim()

    def _process(self, tasks: Sequence[Task], history: History) -> Iterator[Outcome]:
        history.keep(task.message for task in tasks)
        history.load(slices=(slice_ for task in tasks for slice_ in task.slices))
        runs: dict[int, _Run] = {}
        failures: dict[int, Failure] = {}
        for task in tasks:
            if task.message.queue not in self.plan.queues:
                failures[task.message.id] = _no_queue(task.message)
            elif not task.fires:
                try:
                    runs[task.message.id] = self._run(task)
                except SaxonError as error:
                    failures[task.message.id] = self._of_system(error)
        self._skip(list(runs.values()), history)
        for number, run in runs.items():
            try:
                self._prepare(run)
            except SaxonError as error:
                failures[number] = self._of_system(error)
        pending = [run for number, run in runs.items() if number not in failures]
        while pending:
            self._load(history, pending)
            left: list[_Run] = []
            for some in _together(pending):
                self._ask_for_each(history, some)
                left += [run for run in some if not self._advance(run, history)]
            pending = left
        for task in tasks:
            self._care.begin(task.message.id, -1)
            if task.message.id in failures:
                yield self.admission.failed(task, [failures[task.message.id]], bare=self._care.bare)
            else:
                yield self.admission.fire(task) if task.fires else self._outcome(runs[task.message.id], history)

    def _run(self, task: Task) -> _Run:
        """With the rules that may do something for a message, by the names in it."""
        message, slices = task.message, task.slices
        own = tuple(slice_.slicing for slice_ in slices)
        relevant = self._relevance.rules(message.queue, own, message.body, lambda: self._names(message))
        return _Run(task, slices, relevant, relevant.rules)

    def _skip(self, runs: Sequence[_Run], history: History) -> None:
        """Take the rules away that do nothing in such slices. Of their members, the root elements are read."""
        asked: list[tuple[_Run, dict[str, list[int]]]] = []
        for run in runs:
            if run.relevant.asking:
                slicings = {asking.slicing for asking in run.relevant.asking}
                slices = [slice_ for slice_ in run.slices if slice_.slicing in slicings]
                asked.append((run, {slice_.slicing: _ids(slice_, run.task, history) for slice_ in slices}))
        if not asked:
            return
        self._roots.note(run.task.message for run in runs if run.slices)
        self._roots.load((number for _, slices in asked for ids in slices.values() for number in ids), history)
        for run, found in asked:
            run.rules = run.relevant.within({slicing: self._roots.of(ids) for slicing, ids in found.items()})

    def _prepare(self, run: _Run) -> None:
        """What can be known of a message before its rules are evaluated."""
        message, rules = run.task.message, run.rules
        run.queues.update(queue for number in rules for queue in self.plan.rules[number].reads)
        known = self._known_values(message)
        run.has_values = not run.slices or known is not None
        run.values = known or ()
        habit = self._foresight.habit(rules, message.body)
        if habit is not None:
            lookups = habit.foreseen()
            if lookups:
                self._foresee(run, tuple(lookups))
            else:
                run.habit = habit

    def _foresee(self, run: _Run, lookups: tuple[RuleLookup, ...]) -> None:
        """Ask for what rules will need. If that fails, they will ask themselves."""
        if lookups not in self._foreseen:
            self._foreseen[lookups] = self._compiled.foreseen(lookups)
        message = run.task.message
        slices = {
            slice_.slicing: self._saxon.array([self._saxon.string(slice_.key)])
            for slice_ in run.slices
            if any(self.plan.rules[number].slicing == slice_.slicing for number, _ in lookups)
        }
        self._care.begin(message.id, -1)
        try:
            text = self._saxon.call(
                self._compiled.foresee,
                self._documents.one(message),
                self._compiled.values.time(run.task.now),
                self._foreseen[lookups],
                self._saxon.map(slices),
                self._properties(message, run.rules),
            )
            for what in read_foreseen(text):
                self._ask_for(run, what)
        except (SaxonError, FieldsInvalid) as error:
            self._raise_if_exhausted(error)

    def _known_values(self, message: Message | Mate) -> Sequence[tuple[int, str]] | None:
        """The values of indexed paths that came with a message; None if they have to be found."""
        digest = self._compiled.digests.get(message.queue)
        if digest is None:
            return ()
        return keys_in(message.keys, digest)

    def _names(self, message: Message) -> Names:
        document = self._documents.one(message)
        root, *names = fields(self._saxon.call(self._compiled.names, document))
        return root, frozenset(names)

    def _load(self, history: History, runs: Sequence[_Run]) -> None:
        """All that these ask for, and the messages in it, with few questions to the store."""
        history.load(
            queues=(queue for run in runs for queue in run.queues),
            entries=(entry for run in runs for entry in run.entries.values()),
        )
        for run in runs:
            run.needed = self._needed(run, history)
        history.bodies(
            self._documents.missing(
                dict.fromkeys(member.message for run in runs for found in run.needed.every() for member in found)
            )
        )

    def _needed(self, run: _Run, history: History) -> "_Needed":
        """What the rules that are left are given. The message itself is among the messages of its slices and queue."""
        if not (run.slices or run.queues or run.entries):
            return _NOTHING
        task = run.task
        own = Member(task.position, task.message.id)
        slices = {}
        for slice_ in run.slices:
            rules = [number for number in run.left() if self.plan.rules[number].slicing == slice_.slicing]
            if rules:
                slices[slice_] = [*self._looked_into(history.slice(slice_, task.position), rules), own]
        queues = {queue: history.queue(queue, task.position) for queue in run.queues}
        lookups = {name: history.found(entry, task.position) for name, entry in run.entries.items()}
        if task.message.queue in queues:
            queues[task.message.queue].append(own)
        for name, found in lookups.items():
            if run.entries[name].index.queue == task.message.queue:
                found.append(own)
        return _Needed(slices, queues, lookups)

    def _looked_into(self, members: Sequence[Member], rules: Iterable[int]) -> Sequence[Member]:
        """Those members of a slice in which one of these rules may find something."""
        names: list[str] = []
        for number in rules:
            found = self.plan.rules[number].members
            if found is None:
                return members
            names += found
        return [member for member in members if self._roots.may_be(member.message, names)]

    def _ask_for_each(self, history: History, runs: Sequence[_Run]) -> None:
        """Ask the engine about messages before any answer is read, and parse all before that: to take turns costs a
        third more, since the processor then has neither at hand. Those left out are asked about one by one."""
        if self._care.one_by_one:
            return
        asked: list[tuple[_Run, list[Item]]] = []
        for run in runs:
            left = run.left()
            if left:
                self._care.begin(run.task.message.id, -1)
                try:
                    asked.append((run, self._arguments(run, left, history)))
                except SaxonError as error:
                    run.answer = self._not_answered(error)
        size = 0
        for run, arguments in asked:
            self._care.begin(run.task.message.id, -1)
            run.answer = answer = self._answer(arguments)
            size += 0 if isinstance(answer, SaxonError) else len(answer[0])
            if size > _SMALL:
                break

    def _advance(self, run: _Run, history: History) -> bool:
        """Evaluate the rules that are not done yet; whether all are done now."""
        left = run.left()
        if self._care.one_by_one:
            for number in left:
                self._care.begin(run.task.message.id, number)
                if number in self._care.failures:
                    run.results[number] = RuleResult(number, failure=self._care.failures[number])
                else:
                    self._evaluate(run, (number,), history)
        elif left:
            self._care.begin(run.task.message.id, -1)
            self._evaluate(run, left, history)
        is_done = len(run.results) == len(run.rules)
        if is_done and not run.has_values:
            self._care.begin(run.task.message.id, -1)
            self._evaluate(run, (), history)
        return is_done

    def _evaluate(self, run: _Run, left: tuple[int, ...], history: History, *, alone: bool = False) -> None:
        """Evaluate these rules; when one fails, each alone. Not all can be caught inside: endless recursion."""
        answer, run.answer = run.answer, None
        if answer is None:
            try:
                answer = self._answer(self._arguments(run, left, history, alone=alone))
            except SaxonError as error:
                answer = self._not_answered(error)
        result = self._read(answer)
        if not self._note(run, left, result, alone=alone):
            for number in left:
                self._evaluate(run, (number,), history, alone=True)

    def _answer(self, arguments: Sequence[Item]) -> _Answer:
        try:
            text, built = self._saxon.call_for_items(self._compiled.run, *arguments)
        except SaxonError as error:
            return self._not_answered(error)
        return text, built, self._documents.number(len(built))

    def _not_answered(self, error: SaxonError) -> SaxonError:
        self._raise_if_exhausted(error)
        return error

    def _read(self, answer: _Answer) -> RunResult:
        if isinstance(answer, SaxonError):
            return RunResult(raised=Raised("demaq:resource", str(answer), 0, 0))
        text, built, number = answer
        try:
            result = read_run(text)
        except FieldsInvalid as error:
            return RunResult(raised=Raised("demaq:message", str(error), 0, 0))
        self._keep_built(result, built, number)
        return result

    def _keep_built(self, result: RunResult, built: Sequence[Item], number: int) -> None:
        """The documents of new messages, which will soon come back to be processed, perhaps here."""
        if built and self._compiled.is_blind_to_origin:
            made = (action for rule in result.rules for action in rule.actions if isinstance(action, Made))
            bodies = [one.body for one in made if one.is_built]
            for at, (body, document) in enumerate(zip(bodies, built, strict=True), number):
                self._documents.add(body, document, at)

    def _copy(self, document: Item) -> Item:
        (found,) = self._saxon.called(self._compiled.copy, document)
        return found

    def _of_system(self, error: SaxonError) -> Failure:
        self._raise_if_exhausted(error)
        return Failure(kind="system", description=str(error))

    def _raise_if_exhausted(self, error: Exception) -> None:
        if isinstance(error, SaxonExhausted) and self._care.is_watched:
            raise error

    def _arguments(self, run: _Run, left: tuple[int, ...], history: History, *, alone: bool = False) -> list[Item]:
        """What the function that runs rules is given."""
        task, needed = run.task, run.needed
        documents = self._given(run, history)

        def array(members: Iterable[Member]) -> Item:
            return self._saxon.array([documents[member.message] for member in members])

        slices = {
            slice_.slicing: self._saxon.array([self._saxon.string(slice_.key), array(found)])
            for slice_, found in needed.slices.items()
        }
        values = self._compiled.values
        return [
            documents[task.message.id],
            values.time(task.now),
            self._compiled.alone(*left) if alone else self._compiled.rules(left),
            self._saxon.map(slices),
            self._saxon.map({queue: array(members) for queue, members in needed.queues.items()}),
            self._saxon.map({name: array(members) for name, members in needed.lookups.items()}),
            self._properties(task.message, left),
            self._of(documents, history) if run.of else self._nothing,
            values.system(task.message, task.now) if self._compiled.reads_system else self._nothing,
            self._no_queue if run.has_values else self._saxon.string(task.message.queue),
        ]

    def _given(self, run: _Run, history: History) -> dict[int, Item]:
        """The documents of all messages that the rules are given."""
        task, needed = run.task, run.needed
        if needed is _NOTHING:
            return {task.message.id: self._documents.one(task.message)}
        every = {task.message.id: Member(task.position, task.message.id)}
        for found in needed.every():
            for member in found:
                every[member.message] = member
        for found in (*needed.queues.values(), *needed.lookups.values()):
            run.seen.update(member.message for member in found)
        return self._in_order(list(every.values()), history)

    def _in_order(self, members: list[Member], history: History) -> dict[int, Item]:
        """The documents of messages, whose order is that of their positions."""
        members.sort(key=lambda member: member.position)
        absent = self._documents.missing(member.message for member in members)
        if absent:
            self._documents.keep(history.bodies(absent))
        return self._documents.in_order(members)

    def _properties(self, message: Message, rules: tuple[int, ...]) -> Item:
        """The properties of a message that these rules read, or that messages inherit from it."""
        wanted = self._wanted.get(rules)
        if wanted is None:
            names = self._inherited.union(*(self.plan.rules[number].properties for number in rules))
            wanted = self._wanted[rules] = tuple(sorted(names))
        return self._compiled.values.map(readable(message, wanted)) if wanted else self._nothing

    def _of(self, documents: Mapping[int, Item], history: History) -> Item:
        """All properties of messages, by the identities of their documents."""
        of = {"*": self._nothing}  # says that all are here
        for number, document in documents.items():
            message = history.message(number)
            every = readable(message, [*message.properties, *SYSTEM_PROPERTIES])
            of[self._saxon.call(self._compiled.identity, document)] = self._compiled.values.map(every)
        return self._saxon.map(of)

    def _note(self, run: _Run, rules: tuple[int, ...], result: RunResult, *, alone: bool) -> bool:
        """Keep what came of rules. No if it is not known of which: each has to be evaluated alone."""
        if result.needed:
            if len(rules) > 1 and run.has_asked:
                return False  # or each rule that needs something would cost all others another evaluation
            run.has_asked = True
            self._ask_for(run, result.needed)
        elif result.raised is not None:
            is_ours = result.raised.code.startswith("demaq:")  # it has no place that would have to be found
            if len(rules) > 1 or (rules and not alone and not is_ours):
                return False
            run.results.update((number, RuleResult(number, raised=result.raised)) for number in rules)
        else:
            run.values = result.values or run.values
            run.has_values = True
            run.results.update((found.rule, found) for found in result.rules)
        return True

    def _ask_for(self, run: _Run, what: tuple[str, ...]) -> None:
        kind, *rest = what
        if kind == "queue":
            run.queues.add(rest[0])
        elif kind == "lookup":
            queue, path, key_kind, *values = rest
            before = {(entry.index.queue, entry.index.path) for entry in run.entries.values()}
            if run.habit is not None and (queue, path) not in before:
                run.habit.note(queue, path)
            index = Index(queue, path, KeyKind(key_kind))
            for value in values:
                run.entries[index_name(queue, path, key_kind) + value] = Entry(index, canonical(index.kind, value))
        else:
            assert kind == "of", kind
            run.of = True

    # What comes of it

    def _outcome(self, run: _Run, history: History) -> Outcome:
        message, now = run.task.message, run.task.now
        # After a reset, a rule that was skipped for what is in its slice may do something.
        read = {self.plan.rules[number].slicing for number in run.relevant.rules}
        depends = frozenset(slice_ for slice_ in run.slices if slice_.slicing in read)
        produced: list[NewMessage] = []
        resets: list[Reset] = []
        failures: list[Failure] = []
        for number in run.rules:
            try:
                self._apply(run.results[number], message, now, produced, resets)
            except _RuleFailed as failed:
                failures.append(failed.failure)
        if failures:
            bare = self._care.bare
            produced, resets = list(self.admission.error_messages(failures, message, now, bare=bare)), []
        for reset in resets:
            if reset.slice in run.slices:
                self._over += _ids(reset.slice, run.task, history)
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
            raise _RuleFailed(self._failure(result.raised, result.rule))
        for action in result.actions:
            if isinstance(action, MadeReset):
                slice_ = Slice(action.slicing, key_text(action.key))
                resets.append(Reset(slice=slice_, transient=self.plan.is_transient(action.slicing)))
                continue
            try:
                produced.append(self.admission.new_message(action, message, now, rule.name))
            except MessageRefused as refused:
                failure = Failure(kind=refused.kind, description=refused.reason, rule=rule.name).at(rule)
                raise _RuleFailed(failure) from refused
        if len(produced) > self._limits.messages:
            reason = f"more than {self._limits.messages:,} messages were made"
            raise _RuleFailed(Failure(kind="resource", description=reason, rule=rule.name).at(rule))

    def _failure(self, raised: Raised, number: int) -> Failure:
        rule = self.plan.rules[number]
        place = self._compiled.place(number, raised.line, raised.column)
        failure = Failure(
            kind=kind_of(raised.code), code=_code(raised.code), description=raised.description, rule=rule.name
        )
        return failure.at(rule if place is None else place)

    def entries(self, messages: Sequence[Message]) -> list[tuple[Entry, ...]]:
        """The index entries of messages, for indexes that are new."""
        found = [self._entries_of(message) for message in messages]
        self._documents.trim()
        return found

    def _entries_of(self, message: Message | Mate, whole: Callable[[int], Message] | None = None) -> tuple[Entry, ...]:
        known = self._known_values(message)
        if known is not None:
            return self._as_entries(message.queue, known)
        if not message.body and whole is not None:
            message = whole(message.id)
        assert isinstance(message, Message)
        nothing, queue = self._nothing, self._saxon.string(message.queue)
        document, now = self._documents.one(message), self._compiled.values.time(message.created)
        text = self._saxon.call(self._compiled.run, document, now, self._compiled.rules(()), *(nothing,) * 6, queue)
        return self._as_entries(message.queue, read_run(text).values)

    def _as_entries(self, queue: str, values: Sequence[tuple[int, str]]) -> tuple[Entry, ...]:
        if not values:
            return ()
        by_path = list(self._compiled.indexes[queue].values())
        return tuple(
            Entry(index, key)
            for number, value in values
            for index in by_path[number]
            if (key := index_key(index.kind, value)) is not None
        )

    @property
    def is_worn_out(self) -> bool:
        """Has it seen so many names that the engine will soon take no more?"""
        return len(self.admission.names) > self._limits.worker_names


def _together(runs: Sequence[_Run]) -> Iterator[Sequence[_Run]]:
    """Those about which the engine is asked together: what they are given is held meanwhile."""
    start = size = 0
    for number, run in enumerate(runs):
        own = len(run.task.message.body) + _MEMBER * sum(map(len, run.needed.every()))
        if number > start and (number - start == _TOGETHER or size + own > _SMALL):
            yield runs[start:number]
            start, size = number, 0
        size += own
    yield runs[start:]


def _ids(slice_: Slice, task: Task, history: History) -> list[int]:
    """The members of a slice, the message itself among them."""
    return [*(member.message for member in history.slice(slice_, task.position)), task.message.id]


def _completed(tasks: Sequence[Task], reader: Reader) -> list[Task]:
    """With the bodies of their messages, which those of a large batch come without."""
    light = [task.message.id for task in tasks if not task.message.body]
    bodies = reader.bodies(light) if light else {}
    return [task if task.message.body else _with_body(task, bodies[task.message.id]) for task in tasks]


def _with_body(task: Task, body: str) -> Task:
    message = task.message.with_body(body)
    return Task(message, task.position, task.now, task.slices, task.fires)


class _RuleFailed(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.description)
        self.failure = failure


def _no_queue(message: Message) -> Failure:
    """It slipped in while a version without its queue was put into force."""
    return Failure(kind="system", description=f"there is no queue `{message.queue}` any more")


def _code(code: str) -> str:
    """`err:FORG0001` and the like are known by their last part."""
    return code.rpartition(":")[2]
