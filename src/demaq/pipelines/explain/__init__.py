"""A pipeline as a person wants to see it: in words, drawn, and as data. Nothing that is configured is shown."""

from demaq.pipelines.explain.data import pipeline_data
from demaq.pipelines.explain.dependencies import dependencies_drawing
from demaq.pipelines.explain.overview import overview
from demaq.pipelines.explain.routes import routes_drawing

__all__ = ["dependencies_drawing", "overview", "pipeline_data", "routes_drawing"]
