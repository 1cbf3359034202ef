"""What a message, and a rule, may use."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Exceeding one is a `resource` error of the message, or a reason to refuse it, and never the end of the node."""

    message_size: int = 16 * 1024 * 1024  # characters of a body
    depth: int = 90  # elements inside one another
    names: int = 10_000  # different names in one message
    messages: int = 100_000  # that processing one message may make
    seconds: float = 30.0  # for all rules of one message
    memory: int = 2 * 1024 * 1024 * 1024  # bytes of the process that evaluates rules
    cache: int = 256 * 1024 * 1024  # bytes of it for messages whose parsed documents are kept
    worker_names: int = 500_000  # different names after which the process is replaced; the engine takes 2^20
    worker_memory: int = 1024 * 1024 * 1024  # bytes after which it is replaced between two batches
