"""Evaluates plans over relations in memory: the reference for every other back end, and fast enough for small ones."""

from demaq.pipelines.evaluate.evaluator import Evaluator, evaluate
from demaq.pipelines.evaluate.rows import Answered, Input, Messages, Output, Row

__all__ = ["Answered", "Evaluator", "Input", "Messages", "Output", "Row", "evaluate"]
