"""An application as a person wants to see it: drawn, in words, and as data."""

from demaq.language.explain.data import program_data, queue_data, rule_data
from demaq.language.explain.flow import flow
from demaq.language.explain.graph import program_graph
from demaq.language.explain.plan import plan
from demaq.language.explain.queue import queue_plan

__all__ = ["flow", "plan", "program_data", "program_graph", "queue_data", "queue_plan", "rule_data"]
