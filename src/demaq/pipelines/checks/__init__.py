"""Everything that is checked of a pipeline before it runs: one check a file, each a function `check`.

Each check stands alone, and what one reports is not reported by another. Cycles between annotations are looked for at
last, in a graph that exists only if everything else is right.
"""

from collections.abc import Callable

from demaq.diagnostics import Report
from demaq.pipelines.checks import (
    before,
    endless,
    once,
    overwriting,
    safety,
    schemes,
    secrets,
    several,
    strata,
    types,
    unused,
)
from demaq.pipelines.examined import Examined

Check = Callable[[Examined, Report], None]

# What can be said while other statements cannot be read.
CHECKS: tuple[Check, ...] = (
    safety.check,
    strata.check,
    types.check,
    endless.check,
    once.check,
    schemes.check,
    secrets.check,
    overwriting.check,
    several.check,
)

# What is never used: not while a statement cannot be read, or a name is unknown, which may be a misspelt use.
USE_CHECKS: tuple[Check, ...] = (
    before.check,
    unused.check,
)
