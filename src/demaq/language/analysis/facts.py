"""All facts about a rule in one place."""

from dataclasses import dataclass

from demaq.language.analysis.condition import Condition
from demaq.language.analysis.reads import Reads, reads
from demaq.language.analysis.skip import skip_condition
from demaq.language.analysis.writes import Writes, writes
from demaq.language.linked import LinkedRule


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RuleFacts:
    rule: LinkedRule
    reads: Reads
    writes: Writes
    skip: Condition


def rule_facts(rule: LinkedRule) -> RuleFacts:
    return RuleFacts(rule=rule, reads=reads(rule), writes=writes(rule), skip=skip_condition(rule.body, rule.bindings))
