"""The relational plan of a pipeline: what all back ends evaluate. `nodes.py` says what rows and messages are."""

from demaq.pipelines.plan.printer import print_plan
from demaq.pipelines.plan.steps import Plan

__all__ = ["Plan", "print_plan"]
