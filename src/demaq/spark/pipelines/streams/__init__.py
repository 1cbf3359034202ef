"""Pipelines as streams: the same plan, batch by batch, on what has come since the last one."""
