"""Where Spark can be."""

import ipaddress
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


def is_elsewhere(master: str) -> bool:
    """Can workers of a master be on other machines?

    >>> masters = ("local[2]", "local-cluster[2,1,1024]", "spark://127.0.0.1:7077", "spark://a:7077", "yarn")
    >>> [master for master in masters if is_elsewhere(master)]
    ['spark://a:7077', 'yarn']
    """
    if not master.startswith("spark://"):
        return not master.startswith("local")
    hosts = (place.rpartition(":")[0] for place in master.removeprefix("spark://").split(","))
    return not all(_is_loopback(host.strip("[]")) for host in hosts)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return False
