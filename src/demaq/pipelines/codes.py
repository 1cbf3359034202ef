"""What can be wrong with a pipeline. The names are stable; `docs/reference/diagnostics.md` explains each."""

from demaq.diagnostics import Catalogue

_catalogue = Catalogue()
_error, _warning, _hint = _catalogue.error, _catalogue.warning, _catalogue.hint

# Reading
SYNTAX = _error("DQ1001", "A statement of a pipeline is not written as the grammar asks.")
UNREADABLE = _error("DQ1002", "The file of a pipeline cannot be read as text in UTF-8.")
EMPTY = _error("DQ1003", "A pipeline defines no relation.")
BRACED_HEAD = _warning("DQ1004", "The head of an annotation stands in braces.")
BODY_MISSING = _warning("DQ1005", "A `@to` does not say which relations it sends.")

# Relations and their parameters
UNKNOWN_RELATION = _error("DQ1101", "A relation is named that nothing defines.")
ARITY = _error("DQ1102", "A relation is used with more or fewer parameters than it has.")
UNKNOWN_PARAMETER = _error("DQ1103", "A parameter is named that its relation does not have.")
PARAMETER_TWICE = _error("DQ1104", "A parameter is given or named twice.")
PARAMETER_MISSING = _error("DQ1105", "A fact or the head of a rule leaves a parameter out.")
DEFINED_TWICE = _error("DQ1106", "A relation has two definitions that exclude each other.")
META = _error("DQ1107", "A meta fact does not say which parameter stands where.")

# Annotations
UNKNOWN_ANNOTATION = _error("DQ1201", "There is no annotation of that name.")
UNKNOWN_FORMAT = _error("DQ1202", "There is no format of that name.")
UNKNOWN_STRATEGY = _error("DQ1203", "There is no strategy of aggregation of that name.")
UNKNOWN_OPTION = _error("DQ1204", "An annotation has no option of that name.")
OPTION_VALUE = _error(
    "DQ1205", "An option is given twice, has a value that it cannot have, or does not go with others."
)
COMPLETION_MISSING = _error("DQ1206", "An aggregation does not say when it is complete.")
UNKNOWN_TYPE = _error("DQ1207", "There is no type of that name.")
SECRET = _warning("DQ1208", "A secret is written into a URI or an option.")
OVERWRITTEN = _error("DQ1209", "A goal lies where a source or an enricher reads.")
SEVERAL_RELATIONS = _error("DQ1210", "An endpoint has several relations in a format that has room for one.")
UNKNOWN_ENDING = _error(
    "DQ1211", "The ending of a file says no format, or that it is packed in a way that is not known."
)
SAME_GOAL = _error("DQ1212", "Two goals write the same file.")
UNKNOWN_SCHEME = _error("DQ1213", "A URI begins with something configured, and does not say its scheme.")
PATTERN = _error("DQ1214", "A goal is a pattern of names.")
NO_ENDPOINT = _warning("DQ1215", "A URI has a scheme by which nothing can be read, or written.")

# Rules
UNBOUND = _error("DQ1301", "A variable gets no value.")
ONLY_NEGATED = _error("DQ1302", "A variable stands only behind `not`.")
TAKES_CONSTANT = _warning("DQ1303", "A variable gets its value from a constant that stands in its place.")
NEGATED_RECURSION = _error("DQ1304", "A relation depends on its own negation.")
AGGREGATED_RECURSION = _error("DQ1305", "A relation depends on an aggregate over itself.")
AGGREGATED_VARIABLE = _error("DQ1306", "An aggregate does not say which variable it is over.")
NOT_A_VALUE = _error("DQ1307", "A relation with several parameters is used as a value.")
ONCE = _hint("DQ1308", "A variable stands in one place only.")
ENDLESS = _warning("DQ1309", "A recursion may never end.")

# Types
TYPES = _error("DQ1401", "Two types meet that have no value in common.")

# The pipeline as a whole
UNUSED = _hint("DQ1501", "Nothing uses a relation.")
CYCLE = _error("DQ1502", "Annotations depend on each other in a circle.")
BEFORE = _warning("DQ1503", "A relation is used as it is before it is aggregated or split.")
NO_GOAL = _warning("DQ1504", "Nothing leaves a pipeline.")
ALLOWANCE = _hint("DQ1505", "A comment in a pipeline allows what is not there, or cannot be allowed.")
MEETING = _warning("DQ1506", "A relation meets what an aggregation or a split makes of it.")

ALL = _catalogue.every
