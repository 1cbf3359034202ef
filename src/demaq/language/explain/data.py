"""The program as plain data, for other programs."""

from typing import Any

from demaq.language.analysis.reads import QueueRead
from demaq.language.program import Program, Rule
from demaq.model import Queue


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
        "rules": [rule_data(rule) for rule in program.rules],
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


def rule_data(rule: Rule) -> dict[str, Any]:
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
