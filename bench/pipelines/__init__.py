"""Pipelines in Demaq and in what people would use instead: the same files in, the same facts out."""
