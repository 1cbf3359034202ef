"""Can XQuery tell whether a document was parsed or built?

If not, the document of a message that a rule has built can be given to other rules as it is. Otherwise the text of the
message is parsed, so that it makes no difference when and where the message is processed.
"""

import re

_TELLS = re.compile(
    r"(?<!declare )base-uri|document-uri"  # addresses
    r"|\bid(?:ref)?\s*[(#]|element-with-id"
    r"|in-scope-prefixes|no-inherit"  # namespaces that are declared, but not used
)


def tells_origin(text: str) -> bool:
    """May this XQuery give one thing for a document that was parsed, and another for the same if it was built?

    >>> tells_origin("base-uri(.)"), tells_origin("id('x')"), tells_origin("//id")
    (True, True, False)
    """
    return _TELLS.search(text) is not None
