"""The parser of pipelines: one construct a file."""

from demaq.pipelines.parser.pipeline import ParsedPipeline, parse_pipeline

__all__ = ["ParsedPipeline", "parse_pipeline"]
