"""The program as plain data, for other programs."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from demaq.language.analysis.reads import QueueRead
from demaq.language.explain.functions import Function, Shared, functions, queues_of, shared_by
from demaq.language.explain.queue import lookups, rules_and_functions
from demaq.language.program import Program, Rule
from demaq.model import Queue, Slicing


def program_data(program: Program) -> dict[str, Any]:
    return {
        "name": program.name,
        "description": program.description,
        "queues": [_queue(queue) for queue in program.queues.values()],
        "properties": [
            {
                "name": defined.name,
                "type": defined.type,
                "mode": defined.mode.value,
                "queues": list(defined.queues),
            }
            for defined in program.properties.values()
        ],
        "slicings": [
            {
                "name": slicing.name,
                "property": slicing.property,
                "keyType": slicing.key_type,
                "queues": list(slicing.queues),
            }
            for slicing in program.slicings.values()
        ],
        "collections": [
            {"name": collection.name, "pattern": collection.pattern} for collection in program.collections.values()
        ],
        "pipelines": [
            {
                "name": pipeline.name,
                "file": pipeline.file,
                "inputs": list(pipeline.inputs),
                "outputs": list(pipeline.outputs),
            }
            for pipeline in program.pipelines.values()
        ],
        "rules": _rules(program.rules, functions(program, program.queues)),
    }


def _queue(queue: Queue) -> dict[str, Any]:
    interface = queue.interface
    return {
        "name": queue.name,
        "kind": queue.kind.value,
        "mode": queue.mode.value,
        "priority": queue.priority,
        "schema": queue.schema,
        "errorqueue": queue.errorqueue,
        "interface": None if interface is None else {"file": interface.file, "port": interface.port},
        "using": [{"extension": extension.name, "policy": extension.policy} for extension in queue.extensions],
    }


def queue_data(of: Queue | Slicing, program: Program) -> dict[str, Any]:
    """Of a queue or a slicing: its rules, and how they are evaluated together."""
    rules, own = rules_and_functions(of, program)
    every = dict.fromkeys(queue for rule in rules for queue in queues_of(rule))
    return {
        "for": of.name,
        "onSlicing": isinstance(of, Slicing),
        "rules": _rules(rules, functions(program, every)),
        "lookups": [
            {"queue": queue, "path": path, "rules": readers} for (queue, path), readers in lookups(rules).items()
        ],
        "builtDocumentsKept": not program.telling_origin,
        "functions": [_function(function) for function in own],
    }


def _function(function: Function) -> dict[str, Any]:
    return {
        "rules": list(function.rules),
        "module": function.module,
        "slicing": function.slicing,
        "queues": list(function.queues),
        "roots": None if function.roots is None else list(function.roots),
        "once": [_shared(shared) for shared in function.once],
        "apart": [{"rule": rule, "because": why.value} for rule, why in function.apart],
        "xquery": function.text,
    }


def _shared(shared: Shared) -> dict[str, Any]:
    return {"expression": shared.expression, "value": shared.use.value, "rules": list(shared.rules)}


def rule_data(rule: Rule, program: Program) -> dict[str, Any]:
    return _rule(rule, [function for function in functions(program, queues_of(rule)) if rule.name in function.rules])


def _rules(rules: Iterable[Rule], of: Iterable[Function]) -> list[dict[str, Any]]:
    by_rule: dict[str, list[Function]] = {}
    for function in of:
        for name in function.rules:
            by_rule.setdefault(name, []).append(function)
    return [_rule(rule, by_rule.get(rule.name, [])) for rule in rules]


def _rule(rule: Rule, own: Sequence[Function]) -> dict[str, Any]:
    """`own` are the functions in which the rule is."""
    return {
        "name": rule.name,
        "module": rule.module,
        "file": rule.span.source.name,
        "line": rule.span.line,
        "for": rule.target,
        "onSlicing": rule.slicing is not None,
        "skipUnless": rule.skip.to_json(),
        "reads": {
            "message": rule.reads.message,
            "slice": rule.reads.slice,
            "members": None if rule.reads.members is None else sorted(rule.reads.members),
            "time": rule.reads.time,
            "queues": [_queue_read(access) for access in rule.reads.queues],
            "properties": list(rule.reads.properties),
            "collections": list(rule.reads.collections),
        },
        "writes": [
            {
                "queue": write.queue,
                "roots": None if write.shape.roots is None else sorted(write.shape.roots),
                "properties": list(write.properties),
                "target": write.echo_target,
            }
            for write in rule.writes.messages
        ],
        "resets": [{"slicing": reset.slicing, "key": reset.key} for reset in rule.writes.resets],
        "raises": list(rule.writes.events),
        "errorQueues": {queue: list(levels) for queue, levels in rule.error_queues.items()},
        "together": [name for name in dict.fromkeys(chain(*(each.rules for each in own))) if name != rule.name],
        "once": [_shared(shared) for shared in shared_by(rule, own)],
        "xquery": rule.query.text,
    }


def _queue_read(access: QueueRead) -> dict[str, Any]:
    return {
        "queue": access.queue,
        "path": access.path,
        "key": access.key if access.path is not None else None,
        "compared": None if access.compared is None else access.compared.value,
        "early": access.early,
    }
