"""Where Spark can be."""

import re

_MASTER = re.compile(
    r"local(\[(\*|[1-9]\d*)(,[1-9]\d*)?\])?|local-cluster\[\d+,\d+,\d+\]|yarn|(spark|k8s)://.+"  # Spark's own addresses
)


def names_master(text: str) -> bool:
    """Is a text the address of a master?

    >>> [text for text in ("local[2]", "local[0]", "yarn", "mesos://host", "auto") if names_master(text)]
    ['local[2]', 'yarn']
    """
    return _MASTER.fullmatch(text) is not None
