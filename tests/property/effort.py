"""How much is tried. `DEMAQ_FUZZ=100000` asks for that many mutations, and for more of everything else alike."""

import os

from hypothesis import HealthCheck, settings

NORMAL = 10_000
MUTATIONS = int(os.environ.get("DEMAQ_FUZZ", NORMAL))


def scaled(number: int) -> int:
    """What is this many in the normal run."""
    return max(number * MUTATIONS // NORMAL, 1)


def examples(number: int) -> settings:
    return settings(max_examples=scaled(number), deadline=None, suppress_health_check=list(HealthCheck))
