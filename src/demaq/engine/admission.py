"""Messages on their way into the log: made by rules, by timers, by the system, or from outside."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from lxml import etree

from demaq.engine.compiled import Compiled
from demaq.engine.driver import FieldsInvalid, Made, Raised, read_added
from demaq.engine.durations import DurationInvalid, due_after
from demaq.engine.errors import error_body, kind_of, printable, queues_of_errors
from demaq.engine.keys import keys_text
from demaq.engine.plan import Plan
from demaq.engine.properties import Properties
from demaq.engine.records import Failure, Incoming, Outcome, Task
from demaq.engine.traces import TRACE
from demaq.engine.xml import MessageRefused, ReadMessage, read_message
from demaq.model import SYSTEM_ERRORS, Message, NewMessage, Origin, PropertyMode, PropertyValues, QueueKind, Value
from demaq.xquery.saxon import Item, Saxon, SaxonError, SaxonExhausted

_ERRORS_ABOUT_ERRORS = 8  # one inside the other; more than there are levels of error queues
_NONE: Mapping[str, Value] = {}


class Admission:
    """Checks messages, computes their properties, and makes error messages."""

    def __init__(self, plan: Plan, compiled: Compiled, saxon: Saxon, keep: Callable[[str, Item], None]) -> None:
        """`keep` is told the documents of messages that were parsed, and will be processed."""
        self._plan = plan
        self._keep = keep
        self._compiled = compiled
        self._saxon = saxon
        self._limits = plan.limits
        self._schemas = _Schemas(plan)
        self._properties = Properties(plan)
        self.names: set[str] = set()  # that came from outside

    def new_message(
        self,
        made: Made,
        cause: Message | None,
        now: datetime,
        rule: str | None = None,
        origin: Origin = Origin.RULE,
    ) -> NewMessage:
        """A message that was made, if its queue can take it."""
        queue = self._plan.queues.get(made.queue)
        if queue is None:
            raise MessageRefused(f"there is no queue `{made.queue}`", "evaluation")
        if origin not in (Origin.OUTSIDE, Origin.PIPELINE):  # which were read, and checked, as they came
            read = read_message(made.body, self._limits) if self._may_be_too_large(made.body) else None
            self._schemas.check(queue.schema, made.body, read)
        due = None
        properties = PropertyValues(self._properties.values(made, {} if cause is None else cause.properties))
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
            keys=self._keys(made),
        )

    def _keys(self, made: Made) -> str | None:
        digest = self._compiled.digests.get(made.queue)
        return None if digest is None else keys_text(digest, made.keys)

    def _may_be_too_large(self, body: str) -> bool:
        """There are at least as many elements that close as levels, and at least as many marks as names."""
        limits = self._limits
        return (
            len(body) > limits.message_size
            or body.count("</") > min(limits.depth, 50)
            or body.count("<") + body.count("=") > limits.names
        )

    def _due(self, properties: Mapping[str, Value], now: datetime) -> datetime:
        timeout, target = properties.get("timeout"), properties.get("target")
        if timeout is None or target is None:
            missing = "timeout" if timeout is None else "target"
            raise MessageRefused(f"a message for an echo queue has no `{missing}`", "property")
        found = self._plan.queues.get(target.text)
        if found is None or found.kind in (QueueKind.ECHO, QueueKind.INCOMING_GATEWAY):
            raise MessageRefused(f"`{target.text}` cannot be the target of a message in an echo queue", "property")
        try:
            return due_after(timeout, now)
        except DurationInvalid as error:
            raise MessageRefused(str(error), "property") from error

    # Messages that no rule makes

    def admit(self, incoming: Incoming) -> NewMessage:
        """A message from outside, or from a pipeline; raises `MessageRefused`."""
        if incoming.refusal is not None:
            raise incoming.refusal
        if incoming.is_error:
            return self._error_message(incoming)
        queue = self._plan.queues.get(incoming.queue)
        if queue is None:
            raise MessageRefused(f"there is no queue `{incoming.queue}`", "system")
        read = read_message(incoming.body, self._limits)
        self.names |= read.names
        document = self._parse(read.text)
        self._schemas.check(queue.schema, read.text, read)
        given = self._given(incoming.properties)
        if incoming.connection is not None:
            given["sys:connection"] = Value("xs:string", incoming.connection)
        made = self._made(incoming.queue, document, read.text, given, incoming.cause, incoming.now, incoming.pipeline)
        origin = Origin.OUTSIDE if incoming.pipeline is None else Origin.PIPELINE
        message = self.new_message(made, incoming.cause, incoming.now, incoming.pipeline, origin)
        self._keep(read.text, document)
        return message

    def _error_message(self, incoming: Incoming) -> NewMessage:
        assert isinstance(incoming.body, str)
        rule = None if incoming.cause is None else incoming.cause.rule
        given = _trace(incoming.properties)
        return self._system_message(incoming.queue, incoming.body, incoming.cause, incoming.now, rule, given)

    def _given(self, properties: Mapping[str, Value]) -> dict[str, Value]:
        """Properties from outside, as values of the types that they are declared with."""
        found = {}
        for name, value in properties.items():
            if printable(value.text) != value.text:
                raise MessageRefused(f"the property `{name}` has a character that XML does not allow", "property")
            type_ = self._plan.property_type(name)
            found[name] = Value(value.type if type_ in (None, "xs:anyAtomicType") else type_, value.text)
        return found

    def _parse(self, text: str) -> Item:
        try:
            return self._saxon.document(text)
        except SaxonExhausted:
            raise
        except SaxonError as error:
            raise MessageRefused(f"the message is not well-formed XML: {error.message}") from error

    def _made(
        self,
        queue: str,
        document: Item,
        body: str,
        given: Mapping[str, Value],
        cause: Message | None,
        now: datetime,
        rule: str | None = None,
    ) -> Made:
        """With its properties. The text stays as it came."""
        if queue not in self._compiled.added and not given:
            return Made(queue, body)
        values = self._compiled.values
        text = self._saxon.call(
            self._compiled.admit,
            self._saxon.string(queue),
            document,
            values.map(given),
            values.map({} if cause is None else cause.properties),
            values.system(cause, now),
            self._saxon.string(rule or ""),
            values.time(now),
        )
        try:
            added = read_added(text, queue, body)
        except FieldsInvalid as error:
            raise MessageRefused(str(error)) from error
        if isinstance(added, Raised):
            raise MessageRefused(added.description, kind_of(added.code))
        return added

    def fire(self, task: Task) -> Outcome:
        """A message of an echo queue goes on to its target."""
        message, now = task.message, task.now
        target = message.properties["target"].text
        try:
            given = {
                name: value
                for name, value in message.properties.items()
                if name not in ("timeout", "target") and self._is_settable(name, target)
            }
            if target not in self._plan.queues:
                raise MessageRefused(f"there is no queue `{target}` any more", "system")
            made = self._made(target, self._parse(message.body), message.body, given, message, now)
            produced = self.new_message(made, message, now, origin=Origin.TIMER)
        except MessageRefused as refused:
            failure = Failure(kind=refused.kind, description=refused.reason)
            return Outcome(
                message=message.id,
                produced=self.error_messages([failure], message, now),
                failures=(failure,),
            )
        return Outcome(message=message.id, produced=(produced,))

    def _is_settable(self, name: str, queue: str) -> bool:
        known = self._plan.properties.get(name)
        return known is None or (queue in known.queues and known.mode is not PropertyMode.FIXED)

    def failed(self, task: Task, failures: Sequence[Failure], *, bare: bool = False) -> Outcome:
        """The outcome of a message whose rules could not be evaluated."""
        produced = self.error_messages(failures, task.message, task.now, bare=bare)
        return Outcome(message=task.message.id, produced=produced, failures=tuple(failures))

    def refused(self, incoming: Incoming, refusal: MessageRefused) -> NewMessage | None:
        """The error message about a message from outside that was refused; None if its queue does not exist."""
        queue = self._plan.queues.get(incoming.queue)
        if queue is None:
            return None
        raw = incoming.body if isinstance(incoming.body, str) else incoming.body.decode("utf-8", "replace")
        failure = Failure(kind=refusal.kind, description=refusal.reason)
        body = error_body(failure, queue.name, incoming.now, None, raw)
        given = _trace(incoming.properties)
        return self._system_message(_first(queue.error_queues), body, incoming.cause, incoming.now, None, given)

    def error_messages(
        self, failures: Sequence[Failure], message: Message, now: datetime, *, bare: bool = False
    ) -> tuple[NewMessage, ...]:
        """One for each failure; none about an error that came of handling the system's errors, or it would go on."""
        about = queues_of_errors(message.body) if message.origin is Origin.ERROR else []
        if message.queue == SYSTEM_ERRORS.name and about[:1] == [SYSTEM_ERRORS.name]:
            return ()
        is_going_round = len(about) >= _ERRORS_ABOUT_ERRORS
        make = self._bare_message if bare else self._system_message
        return tuple(
            make(
                SYSTEM_ERRORS.name if is_going_round else self._error_queue(failure, message),
                error_body(failure, message.queue, now, message),
                message,
                now,
                failure.rule,
            )
            for failure in failures
        )

    def _error_queue(self, failure: Failure, message: Message) -> str:
        rule = next((rule for rule in self._plan.rules if rule.name == failure.rule), None)
        if rule is not None:
            return _first(rule.error_queues.get(message.queue, ()))
        queue = self._plan.queues.get(message.queue)
        return _first(() if queue is None else queue.error_queues)

    def _system_message(
        self,
        queue: str,
        body: str,
        cause: Message | None,
        now: datetime,
        rule: str | None,
        given: Mapping[str, Value] = _NONE,
    ) -> NewMessage:
        """A message of the system's own. If its properties cannot be computed, it goes without them."""
        try:
            made = self._made(queue, self._saxon.document(body), body, given, cause, now, rule)
            return self.new_message(made, cause, now, rule, Origin.ERROR)
        except (MessageRefused, SaxonError):
            return self._bare_message(queue, body, cause, now, rule, given)

    def _bare_message(
        self,
        queue: str,
        body: str,
        cause: Message | None,
        _now: datetime,
        rule: str | None,
        given: Mapping[str, Value] = _NONE,
    ) -> NewMessage:
        known = self._plan.queues[queue]
        return NewMessage(
            queue=queue,
            body=body,
            properties=PropertyValues(given if cause is None else _trace(cause.properties)),
            origin=Origin.ERROR,
            cause=None if cause is None else cause.id,
            rule=rule,
            rank=known.rank,
            transient=known.transient,
        )


def _trace(properties: Mapping[str, Value]) -> Mapping[str, Value]:
    """The trace that a message belongs to, if that is known."""
    known = properties.get(TRACE)
    return _NONE if known is None else {TRACE: known}


def _first(levels: Sequence[str]) -> str:
    return levels[0] if levels else SYSTEM_ERRORS.name


class _Schemas:
    """Compiles the schemas of a plan when they are first needed."""

    def __init__(self, plan: Plan) -> None:
        self._texts = plan.schemas
        self._compiled: dict[str, etree.XMLSchema] = {}

    def check(self, name: str | None, body: str, read: ReadMessage | None) -> None:
        if name is None:
            return
        tree = None if read is None else read.root
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
