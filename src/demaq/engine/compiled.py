"""A plan, compiled for one XQuery processor."""

from collections.abc import Sequence

from demaq.engine.driver import driver_text, joined
from demaq.engine.plan import Plan, PlanFunction
from demaq.model import PropertyMode
from demaq.store import Index
from demaq.xquery.saxon import Item, Saxon

_MODES = {PropertyMode.PLAIN: "plain", PropertyMode.FIXED: "fixed", PropertyMode.INHERITED: "inherited"}


class Compiled:
    """The functions of rules, property values and indexed paths, and what `driver.xq` is given with each call."""

    def __init__(self, plan: Plan, saxon: Saxon) -> None:
        self._plan = plan
        self._saxon = saxon
        self.run, self.admit, self.names, self.identity = saxon.items(driver_text())
        self.rules, self.starts = self._compiled([rule.function for rule in plan.rules])
        values, _ = self._compiled([value.function for value in plan.values])
        self._values = dict(zip((id(value) for value in plan.values), values, strict=True))
        self.definitions = {queue: self._definitions(queue) for queue in plan.queues}
        self.definitions_map = saxon.map(self.definitions)
        self.paths = {queue: self._path_functions(queue) for queue in plan.queues}
        self.collections = saxon.map(
            {name: saxon.array([saxon.document(text) for text in texts]) for name, texts in plan.collections.items()}
        )
        self.indexes = saxon.map(
            {joined(index.queue, index.path, index.kind.value): saxon.string("") for index in plan.indexes}
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

    def _definitions(self, queue: str) -> Item:
        """The properties of messages of a queue, in the order of their definition."""
        rows = []
        for known in self._plan.properties.values():
            if queue not in known.queues:
                continue
            values = [value for value in self._plan.values if value.property == known.name and queue in value.queues]
            compute = self._values[id(values[0])] if values else self._saxon.array([])
            texts = [self._saxon.string(text) for text in (known.name, known.type, _MODES[known.mode])]
            rows.append(self._saxon.array([*texts, compute]))
        return self._saxon.array(rows)

    def _path_functions(self, queue: str) -> tuple[tuple[Index, ...], Item]:
        indexes = self._plan.indexes_by_queue[queue]
        paths = dict.fromkeys(index.path for index in indexes)
        functions = [self._saxon.items(f"function($m) {{ $m ! ({path}) ! string(.) }}")[0] for path in paths]
        return indexes, self._saxon.array(functions)
