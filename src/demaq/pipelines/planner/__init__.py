"""From the program of a pipeline to its plan."""

from demaq.pipelines.planner.planner import plan_program

__all__ = ["plan_program"]
