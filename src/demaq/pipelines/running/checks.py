"""Whether what somebody asks for is there."""

from collections.abc import Sequence

from demaq.diagnostics import did_you_mean
from demaq.pipelines.errors import PipelineFailed
from demaq.pipelines.program import Program


def check_relations(program: Program, names: Sequence[str]) -> None:
    for name in names:
        if name not in program.relations:
            help_ = did_you_mean(name, program.relations, "relations")
            raise PipelineFailed(f"there is no relation `{name}`: {help_}")
