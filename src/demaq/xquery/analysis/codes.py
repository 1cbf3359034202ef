"""The W3C's names for what the analyses find."""

from demaq.diagnostics import Code, Severity

SYNTAX = Code("err:XPST0003", Severity.ERROR, "The text is not XQuery.")
UNKNOWN_VARIABLE = Code("err:XPST0008", Severity.ERROR, "A variable is not declared where it is used.")
UNKNOWN_FUNCTION = Code("err:XPST0017", Severity.ERROR, "There is no function of that name and number of arguments.")
UNKNOWN_TYPE = Code("err:XPST0051", Severity.ERROR, "There is no type of that name.")
UNKNOWN_PREFIX = Code("err:XPST0081", Severity.ERROR, "A namespace prefix is not declared.")
NO_CONTEXT_ITEM = Code("err:XPDY0002", Severity.ERROR, "An expression needs a context item where there is none.")
CIRCULAR_VARIABLE = Code("err:XQDY0054", Severity.ERROR, "The value of a variable depends on itself.")
DUPLICATE_FUNCTION = Code("err:XQST0034", Severity.ERROR, "A function is declared twice.")
DUPLICATE_PARAM = Code("err:XQST0039", Severity.ERROR, "A function has two parameters of the same name.")
DUPLICATE_VARIABLE = Code("err:XQST0049", Severity.ERROR, "A variable is declared twice.")
DUPLICATE_PREFIX = Code("err:XQST0033", Severity.ERROR, "A namespace prefix is declared twice.")
NAMELESS_FUNCTION = Code("err:XQST0060", Severity.ERROR, "A declared function is in no namespace.")
RESERVED_NAMESPACE = Code("err:XQST0045", Severity.ERROR, "A function is declared in a namespace of the standard.")
