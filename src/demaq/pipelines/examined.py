"""What checks look at: a linked pipeline, and everything that analyses have found out of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from demaq.pipelines.analysis.dependencies import Dependencies
from demaq.pipelines.analysis.safety import Safety
from demaq.pipelines.analysis.types import Types
from demaq.pipelines.linked import Linked
from demaq.pipelines.program import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """`safeties` has one for each rule of `linked.rules`; `endpoints` are by the places of their annotations among the
    statements."""

    linked: Linked
    endpoints: Mapping[int, Endpoint]
    safeties: tuple[Safety, ...]
    types: Types
    dependencies: Dependencies
