"""Everything that is checked before anything runs: one check a file, each a function `check`.

The order is that of a reader's interest, not of dependence: each check stands alone, and what one reports is not
reported by another.
"""

from collections.abc import Callable

from demaq.diagnostics import Report
from demaq.language.checks import (
    actions,
    elements,
    files,
    functions,
    gateways,
    kinds,
    prolog,
    properties,
    reachability,
    references,
    resets,
    retention,
    roots,
    schemas,
    triggers,
    unread,
    useless,
)
from demaq.language.examined import Examined

Check = Callable[[Examined, Report], None]

# What can be said of each statement by itself.
CHECKS: tuple[Check, ...] = (
    references.check,
    kinds.check,
    properties.check,
    actions.check,
    functions.check,
    prolog.check,
    files.check,
    schemas.check,
)

# What can only be said of a whole application: not while a part of it cannot be read.
WHOLE_CHECKS: tuple[Check, ...] = (
    triggers.check,
    gateways.check,
    retention.check,
    elements.check,
    roots.check,
)

# What is never used: not while a name is unknown, which may be a misspelt use.
USE_CHECKS: tuple[Check, ...] = (
    resets.check,
    reachability.check,
    unread.check,
    useless.check,
)
