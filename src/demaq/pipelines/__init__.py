"""Data pipelines: the language LiLa, from text to the program that back ends read."""

from demaq.pipelines.compile import CheckedPipeline, check_pipeline, compile_pipeline
from demaq.pipelines.errors import PipelineInvalid, PipelineNotFound
from demaq.pipelines.program import Program

__all__ = [
    "CheckedPipeline",
    "PipelineInvalid",
    "PipelineNotFound",
    "Program",
    "check_pipeline",
    "compile_pipeline",
]
