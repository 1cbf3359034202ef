"""A plan, compiled for one XQuery processor."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from demaq.engine.driver import SEPARATOR, driver_text, index_name
from demaq.engine.plan import Place, Plan, PlanFunction, PlanLookup, PlanRule
from demaq.engine.values import Values
from demaq.language.analysis.origin import tells_origin
from demaq.language.rewrite.sharing import RuleText, groups, joined
from demaq.model import PropertyMode
from demaq.store import Index
from demaq.xquery.printer.core import quoted
from demaq.xquery.saxon import Item, Saxon

_BEFORE = 3  # lines: the one on which a query begins, the end of the prolog, and a bracket
_SETS = 4096  # sets of rules that are kept
_OFTEN = 100  # uses of a set of rules after which to compile it as a whole pays
_WHOLE = 256  # sets of rules that are compiled as a whole
_OUR_OWN = """declare namespace demaq = "http://demaq.org/runtime";
declare namespace map = "http://www.w3.org/2005/xpath-functions/map";
declare namespace err = "http://www.w3.org/2005/xqt-errors";"""


@dataclass(frozen=True, slots=True)
class _Computed:
    """A property that is computed by a function of the message, of what the message was given, and of the time."""

    name: str
    mode: PropertyMode
    function: Item
    reads_view: bool


@dataclass(slots=True)
class _RuleSet:
    item: Item
    uses: int = 0


class Compiled:
    """The functions of rules, property values and indexed paths, and what `driver.xq` is given with each call."""

    def __init__(self, plan: Plan, saxon: Saxon) -> None:
        self._plan = plan
        self._saxon = saxon
        functions, self.identity, to_time, self.copy = saxon.items(driver_text())
        self.values = Values(saxon, to_time)
        self._texts = [_text(rule) for rule in plan.rules]
        functions_of_rules = self._compiled([(text.module, joined([text]).text) for text in self._texts])
        self._parts = [self._part((number,), function) for number, function in enumerate(functions_of_rules)]
        self._alone: dict[int, Item] = {}
        self._sets: dict[tuple[int, ...], _RuleSet] = {}
        self._whole = 0
        self.is_blind_to_origin = not any(map(tells_origin, _every_text(plan)))
        self.reads_system = any(_reads_view(value.function) for value in plan.values)
        self.indexes = {queue: _by_path(indexes) for queue, indexes in plan.indexes_by_queue.items()}
        self.paths = self._path_functions()
        self.digests = {queue: _digest(self.indexes[queue]) for queue in self.paths}
        self.added = self._added()
        self.run, self.admit, self.names, self.foresee = saxon.called(
            functions,
            saxon.map(self.added),
            saxon.map(self.paths),
            saxon.map(
                {index_name(index.queue, index.path, index.kind.value): saxon.string("") for index in plan.indexes}
            ),
            saxon.map(
                {
                    name: saxon.array([saxon.document(text) for text in texts])
                    for name, texts in plan.collections.items()
                }
            ),
            saxon.string(SEPARATOR),
        )

    def rules(self, numbers: tuple[int, ...]) -> Item:
        """Rules, as the driver takes them. Those that often come together become one function."""
        found = self._sets.get(numbers)
        if found is None:
            if len(self._sets) >= _SETS:
                self._sets.clear()
            found = self._sets[numbers] = _RuleSet(self._saxon.array([self._parts[number] for number in numbers]))
        found.uses += 1
        if found.uses == _OFTEN and len(numbers) > 1 and self._whole < _WHOLE:
            self._whole += 1
            found.item = self._saxon.array(list(self._together(numbers)))
        return found.item

    def _together(self, numbers: tuple[int, ...]) -> Iterator[Item]:
        """Parts for rules, as few as can be."""
        texts = [self._texts[number] for number in numbers]
        for group in groups(texts):
            if len(group) == 1:
                yield self._parts[numbers[group[0]]]
            else:
                whole = joined([texts[each] for each in group])
                (function,) = self._compiled([(texts[group[0]].module, whole.text)])
                yield self._part(tuple(numbers[each] for each in group), function)

    def _part(self, numbers: tuple[int, ...], function: Item) -> Item:
        """A function of one or several rules, as the driver takes it."""
        rules = [self._plan.rules[number] for number in numbers]
        text = self._saxon.string
        slicing = next((rule.slicing for rule in rules if rule.slicing is not None), None)
        key_type = "" if slicing is None else self._plan.slicings[slicing].key_type
        view = "view" if any(_reads_view(rule.function) for rule in rules) else ""
        names = [self._saxon.array([text(str(n)), text(self._plan.rules[n].name)]) for n in numbers]
        return self._saxon.array([function, text(slicing or ""), text(key_type), text(view), self._saxon.array(names)])

    def foreseen(self, lookups: Sequence[tuple[int, PlanLookup]]) -> Item:
        """Lookups of rules, as the driver takes them."""
        functions = self._compiled([(one.function.module, one.function.text) for _, one in lookups])
        text = self._saxon.string
        parts = []
        for (number, lookup), function in zip(lookups, functions, strict=True):
            slicing = self._plan.rules[number].slicing
            key_type = "" if slicing is None else self._plan.slicings[slicing].key_type
            view = "view" if _reads_view(lookup.function) else ""
            texts = (slicing or "", key_type, view, lookup.queue, lookup.path)
            parts.append(self._saxon.array([function, *map(text, texts)]))
        return self._saxon.array(parts)

    # A rule by itself

    def alone(self, number: int) -> Item:
        """A rule as it was written: what it raises is what is told."""
        found = self._alone.get(number)
        if found is None:
            rule = self._plan.rules[number]
            (function,) = self._compiled([(rule.function.module, rule.function.text)])
            found = self._alone[number] = self._saxon.array([self._part((number,), function)])
        return found

    def place(self, number: int, line: int, column: int) -> Place | None:
        """The place in the source behind a line and column that a rule by itself gave."""
        function = self._plan.rules[number].function
        line -= self._plan.modules[function.module].count("\n") + _BEFORE
        lines = function.text.split("\n")
        if not 0 <= line < len(lines):
            return None
        return function.place(sum(len(before) + 1 for before in lines[:line]) + max(column - 1, 0))

    def _compiled(self, functions: Sequence[tuple[str, str]]) -> list[Item]:
        """Functions, each given by its module and its text."""
        found: dict[int, Item] = {}
        for module, prolog in self._plan.modules.items():
            own = [number for number, (of, _) in enumerate(functions) if of == module]
            if own:
                text = ",\n".join(functions[number][1] for number in own)
                found.update(zip(own, self._saxon.items(f"{prolog}\n(\n{text}\n)"), strict=True))
        return [found[number] for number in range(len(functions))]

    def _path_functions(self) -> dict[str, Item]:
        """For each queue that has indexes, a function that gives the values of their paths in a message."""
        queues = [queue for queue, paths in self.indexes.items() if paths]
        texts = (f"function($m) {{ {', '.join(_path_values(self.indexes[queue], 'I'))} }}" for queue in queues)
        return dict(zip(queues, self._functions(texts), strict=True))

    def _added(self) -> dict[str, Item]:
        """For each queue that adds something to its messages, a function that says what: see `demaq:message`."""
        properties = self._computed()
        queues = [queue for queue in self._plan.queues if properties[queue] or queue in self.paths]
        makers = self._functions(
            _added(properties[queue], self.indexes[queue] if queue in self.paths else ()) for queue in queues
        )
        return {
            queue: self._saxon.called(maker, *(computed.function for computed in properties[queue]))[0]
            for queue, maker in zip(queues, makers, strict=True)
        }

    def _computed(self) -> dict[str, list[_Computed]]:
        """The properties that can be computed for messages of each queue, in the order of their definition."""
        functions = self._compiled([(value.function.module, value.function.text) for value in self._plan.values])
        rows: dict[str, dict[str, _Computed]] = {queue: {} for queue in self._plan.queues}
        for known in self._plan.properties.values():
            for value, function in zip(self._plan.values, functions, strict=True):
                if value.property != known.name:
                    continue
                row = _Computed(known.name, known.mode, function, _reads_view(value.function))
                for queue in value.queues:
                    if queue in known.queues:
                        rows[queue].setdefault(known.name, row)
        return {queue: list(found.values()) for queue, found in rows.items()}

    def _functions(self, texts: Iterable[str]) -> list[Item]:
        """Functions of our own, which need no module."""
        text = ",\n".join(texts)
        return self._saxon.items(f"{_OUR_OWN}\n{text}") if text else []


def _added(properties: Sequence[_Computed], paths: Iterable[str]) -> str:
    """A function of the functions of properties that gives the function that computes all that a queue adds.

    Properties are computed together. If that fails, they are computed one by one, to say which of them it is.
    """
    parameters = ", ".join(f"$f{number}" for number in range(len(properties)))
    together = ", ".join(_unless_there(computed, _value(n, computed)) for n, computed in enumerate(properties))
    one_by_one = ", ".join(_unless_there(computed, _checked(n, computed)) for n, computed in enumerate(properties))
    computed = [f"try {{ array {{ {together} }}?* }} catch * {{ {one_by_one} }}"] if properties else []
    return f"""function({parameters}) {{
  function($m as document-node(), $given as map(*), $inherited as map(*), $own as function(*), $now as xs:dateTime) {{
    {", ".join([*computed, *_path_values(paths, "K")])}
  }}
}}"""


def _unless_there(computed: _Computed, value: str) -> str:
    """The value of a property, unless the message has one already."""
    name = quoted(computed.name)
    if computed.mode is PropertyMode.FIXED:
        return value
    there = f"map:contains($given, {name})"
    if computed.mode is PropertyMode.INHERITED:
        there += f" or map:contains($inherited, {name})"
    return f"(if ({there}) then () else {value})"


def _value(number: int, computed: _Computed) -> str:
    view = "$own()" if computed.reads_view else "map { }"
    return f'$f{number}($m, {view}, $now) ! ("V", {quoted(computed.name)}, string(.))'


def _checked(number: int, computed: _Computed) -> str:
    reason = f'"the property `" || {quoted(computed.name)} || "` cannot be computed: " || $err:description'
    value = f"array {{ {_value(number, computed)} }}?*"
    return f'try {{ {value} }} catch * {{ error(xs:QName("demaq:property"), {reason}) }}'


def _path_values(paths: Iterable[str], kind: str) -> Iterator[str]:
    for number, path in enumerate(paths):
        yield f'distinct-values($m ! ({path}) ! string(.)) ! ("{kind}", "{number}", .)'


def _text(rule: PlanRule) -> RuleText:
    function = rule.function
    return RuleText(module=function.module, slicing=rule.slicing, text=function.text, shared=function.shared)


def _every_text(plan: Plan) -> Iterator[str]:
    """All XQuery that is the user's."""
    yield from plan.modules.values()
    yield from (rule.function.text for rule in plan.rules)
    yield from (value.function.text for value in plan.values)


def _digest(paths: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(paths).encode()).hexdigest()[:16]


def _by_path(indexes: Sequence[Index]) -> dict[str, list[Index]]:
    found: dict[str, list[Index]] = {}
    for index in indexes:
        found.setdefault(index.path, []).append(index)
    return found


def _reads_view(function: PlanFunction) -> bool:
    """Does a function read anything but the message and the slice? Its parameter is named once anyway."""
    return function.text.count("$demaq:view") > 1
