"""Demaq, declarative messaging and queuing."""

from demaq._version import __version__

__all__ = ["__version__"]
