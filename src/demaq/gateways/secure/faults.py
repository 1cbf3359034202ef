"""What is answered to a message that is not secure."""

from enum import Enum

from lxml import etree

from demaq.gateways.secure.names import WSSE
from demaq.gateways.soap.envelope import Blame, Fault


class Problem(Enum):
    """What is wrong with a message, by the names that WS-Security has for it."""

    UNSUPPORTED_TOKEN = "UnsupportedSecurityToken"  # of a kind that we do not know
    UNSUPPORTED_ALGORITHM = "UnsupportedAlgorithm"
    INVALID = "InvalidSecurity"  # the header is not as it should be, or does not have what it should
    INVALID_TOKEN = "InvalidSecurityToken"  # nobody could use it
    FAILED_AUTHENTICATION = "FailedAuthentication"  # we do not believe it
    FAILED_CHECK = "FailedCheck"  # of a signature, or by decrypting
    TOKEN_UNAVAILABLE = "SecurityTokenUnavailable"  # it is named, but not there
    EXPIRED = "MessageExpired"


_LONGEST = 500  # characters of a reason, which may have names from the message in it


class SecurityFault(Fault):
    """A message is refused. The error message about it is of the kind `security`."""

    def __init__(self, problem: Problem, reason: str, blame: Blame = Blame.SENDER) -> None:
        shown = reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]}…"
        super().__init__(shown, blame, code=etree.QName(WSSE, problem.value))
        self.problem = problem


def changed() -> SecurityFault:
    """The one answer to all that fails when something is decrypted: who could tell the failures apart could find out
    what is inside."""
    return SecurityFault(Problem.FAILED_CHECK, "the message cannot be decrypted, or is not as it was signed")
