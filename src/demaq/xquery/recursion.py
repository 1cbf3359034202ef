"""Room for the recursion that a deep tree needs.

A parser of precedence levels takes about a dozen Python frames for each level of nesting, more than Python's
default limit allows for the depth that `MAX_DEPTH` permits. Frames of Python functions live on the heap, so that a
higher limit costs nothing; the parser's own limit is what keeps hostile input out.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_ENOUGH = 12_000


@contextmanager
def deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _ENOUGH))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
