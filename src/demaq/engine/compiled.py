"""A plan, compiled for one XQuery processor."""

import hashlib
from collections.abc import Iterable, Sequence

from demaq.engine.driver import SEPARATOR, driver_text, index_name
from demaq.engine.plan import Plan, PlanFunction
from demaq.engine.values import Values
from demaq.model import PropertyMode
from demaq.store import Index
from demaq.xquery.saxon import Item, Saxon

_MODES = {PropertyMode.PLAIN: "plain", PropertyMode.FIXED: "fixed", PropertyMode.INHERITED: "inherited"}
_ARRAYS = 4096  # arrays of rules that are kept


class Compiled:
    """The functions of rules, property values and indexed paths, and what `driver.xq` is given with each call."""

    def __init__(self, plan: Plan, saxon: Saxon) -> None:
        self._plan = plan
        self._saxon = saxon
        functions, self.identity, to_time = saxon.items(driver_text())
        self.values = Values(saxon, to_time)
        rules, self.starts = self._compiled([rule.function for rule in plan.rules])
        self._rules = [self._rule(number, function) for number, function in enumerate(rules)]
        self._rule_arrays: dict[tuple[int, ...], Item] = {}
        self.reads_system = any(_reads_view(value.function) for value in plan.values)
        self.indexes = {queue: _by_path(indexes) for queue, indexes in plan.indexes_by_queue.items()}
        self.paths = self._path_functions()
        self.digests = {queue: _digest(self.indexes[queue]) for queue in self.paths}
        self.computed = self._computed()
        self.run, self.admit, self.names = saxon.called(
            functions,
            saxon.map(self.computed),
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
        """Rules, as the driver takes them."""
        found = self._rule_arrays.get(numbers)
        if found is None:
            found = self._saxon.array([self._rules[number] for number in numbers])
            if len(self._rule_arrays) >= _ARRAYS:
                self._rule_arrays.clear()
            self._rule_arrays[numbers] = found
        return found

    def _rule(self, number: int, function: Item) -> Item:
        rule = self._plan.rules[number]
        slicing, key_type = "", ""
        if rule.slicing is not None:
            slicing, key_type = rule.slicing, self._plan.slicings[rule.slicing].key_type
        text = self._saxon.string
        view = "view" if _reads_view(rule.function) else ""
        return self._saxon.array(
            [text(str(number)), function, text(slicing), text(key_type), text(view), text(rule.name)]
        )

    def _compiled(self, functions: Sequence[PlanFunction]) -> tuple[list[Item], list[int]]:
        """The functions, and the line of its module's query at which each begins."""
        found: dict[int, Item] = {}
        starts: dict[int, int] = {}
        for module, prolog in self._plan.modules.items():
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

    def _computed(self) -> dict[str, Item]:
        """The properties that can be computed for messages of each queue, in the order of their definition."""
        functions, _ = self._compiled([value.function for value in self._plan.values])
        text = self._saxon.string
        rows: dict[str, dict[str, Item]] = {queue: {} for queue in self._plan.queues}
        for known in self._plan.properties.values():
            for value, function in zip(self._plan.values, functions, strict=True):
                if value.property != known.name:
                    continue
                view = "view" if _reads_view(value.function) else ""
                row = self._saxon.array([text(known.name), text(_MODES[known.mode]), function, text(view)])
                for queue in value.queues:
                    if queue in known.queues:
                        rows[queue].setdefault(known.name, row)
        return {queue: self._saxon.array(list(found.values())) for queue, found in rows.items() if found}

    def _path_functions(self) -> dict[str, Item]:
        """For each queue that has indexes, a function that gives the values of their paths in a message."""
        queues = [queue for queue, paths in self.indexes.items() if paths]
        texts = []
        for queue in queues:
            parts = (
                f'distinct-values($m ! ({path}) ! string(.)) ! ($as, "{number}", .)'
                for number, path in enumerate(self.indexes[queue])
            )
            texts.append(f"function($m, $as) {{ {', '.join(parts)} }}")
        functions = self._saxon.items(",\n".join(texts)) if texts else []
        return dict(zip(queues, functions, strict=True))


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
