"""Transports at the edge of a node: how messages come in, and go out."""
