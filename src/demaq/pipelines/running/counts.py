"""How many facts relations have, in all messages together. What a goal takes of them is another number.

Of a relation that only a source or an enricher brings, that is how many were read: the same fact twice in a document is
counted twice. In memory, all others that are needed are counted when they are evaluated; on Spark, only those whose
number comes for nothing.
"""

from collections.abc import Mapping
from dataclasses import replace

from demaq.pipelines.evaluate.values import order
from demaq.pipelines.optimise.unused import unused
from demaq.pipelines.plan.nodes import Distinct
from demaq.pipelines.plan.steps import Count, Plan
from demaq.pipelines.plan.walk import defined
from demaq.pipelines.planner.relations import Relations
from demaq.pipelines.program import Facts, Origin, Program, Relation, Sink
from demaq.pipelines.running.report import Ran

_READ = (Origin.SOURCE, Origin.ENRICHER)


def counting(plan: Plan, program: Program, *, is_sent_known: bool = False) -> Plan:
    """The plan, which also counts all relations that it needs, but for those whose number is known without it: if
    `is_sent_known`, of what leaves as well."""
    needed = {name for step in unused(plan).steps for name in defined(step)}
    sent = {name for sink in program.sinks for name in sink.relations if _is_all_sent(program, name, sink)}
    known = {name for name in program.relations if _is_known(program.relations[name])} | (
        sent if is_sent_known else set()
    )
    wanted = [name for name in program.relations if name in needed - known]
    relations = Relations(program)
    return replace(plan, steps=(*plan.steps, *(Count(name, Distinct(relations.read(name))) for name in wanted)))


def _is_known(relation: Relation) -> bool:
    return len(relation.origins) == 1 and relation.origins[0] in (*_READ, Origin.FACTS)


def note_read(ran: Ran, program: Program, facts: Mapping[str, int]) -> None:
    """How many facts were read, by relation. If a relation has others as well, that is not their number."""
    ran.facts.update({name: number for name, number in facts.items() if _is_known(program.relations[name])})


def note_sent(ran: Ran, program: Program, sink: Sink, messages: int, facts: Mapping[str, int]) -> None:
    """What a goal took. That is all of a relation, unless messages of several channels met before the goal."""
    ran.sent[sink.id], ran.taken[sink.id] = messages, dict(facts)
    for name, number in facts.items():
        if _is_all_sent(program, name, sink):
            ran.facts.setdefault(name, number)


def _is_all_sent(program: Program, relation: str, sink: Sink) -> bool:
    return program.relations[relation].channels == sink.channels


def note_all(ran: Ran, program: Program) -> None:
    """What is written in the program, and what is shown, is counted, too. Relations are in the order of the program."""
    known = {**{shown.title: shown.number for shown in ran.shown}, **_written(program), **ran.facts}
    ran.facts = {name: known[name] for name in program.relations if name in known}


def _written(program: Program) -> dict[str, int]:
    return {node.relation: _different(node) for node in program.facts if _is_known(program.relations[node.relation])}


def _different(facts: Facts) -> int:
    return len({tuple(order(constant.value) for constant in row) for row in facts.rows})
