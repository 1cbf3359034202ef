"""What can be wrong with an application. The names are stable; `docs/reference/diagnostics.md` explains each."""

from demaq.diagnostics import Catalogue

_catalogue = Catalogue()
_error, _warning, _hint = _catalogue.error, _catalogue.warning, _catalogue.hint

# Reading
SYNTAX = _error("DQ0001", "A statement is not written as the grammar asks.")
UNREADABLE = _error("DQ0002", "A file cannot be read as text in UTF-8.")
CONFIGURATION = _error("DQ0003", "`demaq.toml` is wrong.")
EMPTY = _error("DQ0004", "An application defines no queue.")

# Names
UNKNOWN_QUEUE = _error("DQ0101", "A queue is named that is not defined.")
UNKNOWN_SLICING = _error("DQ0102", "A slicing is named that is not defined.")
UNKNOWN_PROPERTY = _error("DQ0103", "A property is named that is not defined.")
UNKNOWN_COLLECTION = _error("DQ0104", "A collection is named that is not defined.")
UNKNOWN_EVENT = _error("DQ0105", "An event is named that is not defined.")
DEFINED_TWICE = _error("DQ0106", "Two definitions have the same name.")
PREDEFINED = _error("DQ0107", "A definition takes a name that the system has given already.")
NOT_A_TARGET = _error("DQ0108", "A rule is for something that is neither a queue nor a slicing.")
NEARLY_THE_SAME = _warning("DQ0109", "Two names of one kind differ only in case.")
UNKNOWN_NAMES = (
    UNKNOWN_QUEUE,
    UNKNOWN_SLICING,
    UNKNOWN_PROPERTY,
    UNKNOWN_COLLECTION,
    UNKNOWN_EVENT,
    NOT_A_TARGET,
)

# Queues
UNKNOWN_KIND = _error("DQ0201", "A queue has a kind, mode or extension that does not exist.")
OPTION_TWICE = _error("DQ0202", "An option of a queue is given twice.")
GATEWAY_OPTION = _error("DQ0203", "A queue that is no gateway has an option of gateways.")
TRANSIENT_RELIABLE = _error("DQ0204", "A transient queue cannot use WS-ReliableMessaging.")
WRONG_KIND = _error("DQ0205", "A queue is used as its kind does not allow.")
PRIORITY = _error("DQ0206", "A priority is out of range.")
ECHO_PROPERTIES = _error("DQ0207", "A message for an echo queue lacks its timeout or its target.")
OWN_ERRORS = _error("DQ0208", "A queue is to take its own errors.")

# Properties and slicings
PROPERTY_TYPE = _error("DQ0301", "A property has a type that no atomic value can have.")
PROPERTY_MODE = _error("DQ0302", "A property has contradictory modes.")
FIXED_WITHOUT_VALUE = _error("DQ0303", "A fixed property has no value on one of its queues.")
QUEUE_TWICE = _error("DQ0304", "A property is defined twice on the same queue.")
FIXED_SET = _error("DQ0305", "A fixed property is set explicitly.")
NOT_ON_QUEUE = _error("DQ0306", "A property is set on a message for a queue on which it is not defined.")
SYSTEM_SET = _error("DQ0307", "A property that only the system sets is set explicitly.")
SET_TWICE = _error("DQ0308", "A property is set twice on the same message.")
PROPERTY_CONTEXT = _error("DQ0309", "The value of a property uses what does not exist yet when it is computed.")
NEVER_HAS_PROPERTY = _warning("DQ0310", "A rule reads a property that its messages never have.")

# Rules and actions
NOT_CONDITIONAL = _error("DQ0401", "The body of a rule is no conditional.")
NO_ACTION = _error("DQ0402", "A rule does nothing.")
MISPLACED_ACTION = _error("DQ0403", "An action stands where none may stand.")
VALUE_FOR_ACTION = _error("DQ0404", "A value stands where only an action counts.")
ELSE_MISSING = _error("DQ0405", "An `if` that gives a value has no `else`.")
RESET_WITHOUT_SLICE = _error("DQ0406", "A rule on a queue resets the current slice, but has none.")
NOT_UPDATING = _error("DQ0407", "A function that performs actions is not declared `%updating`, or the reverse.")
NOT_A_MESSAGE = _error("DQ0408", "What is enqueued cannot be a message.")

# Functions of the node
SLICE_OUTSIDE = _error("DQ0501", "`qs:slice()` or `qs:slicekey()` stands outside a rule on a slicing.")
LITERAL_NEEDED = _error("DQ0502", "A name must be written down, not computed.")
WAY_OUT = _error("DQ0503", "A function would leave the node, or not give the same answer twice.")
PROLOG = _error("DQ0504", "A declaration cannot stand in a module.")
GLOBAL_CONTEXT = _error("DQ0505", "A variable of a module depends on the message being processed.")
QS_REFERENCE = _error("DQ0506", "A function of the node is used as a value.")
REFUSED = _error("DQ0507", "The XQuery engine refuses an expression for a reason of its own.")

# Files
FILE_MISSING = _error("DQ0601", "A file that the application names is not there.")
FILE_MALFORMED = _error("DQ0602", "A file of the application is not well-formed XML.")
SCHEMA = _error("DQ0603", "A schema is not a valid XML Schema.")
PORT = _error("DQ0604", "An interface has no port of that name, or is not in WSDL 1.1.")
SCHEMA_REFUSES = _error("DQ0605", "A rule makes a message that the schema of its queue refuses.")
COLLECTION_EMPTY = _warning("DQ0606", "The pattern of a collection matches no file.")
FILE_OUTSIDE = _error("DQ0607", "A file lies outside the folder of the application.")
PIPELINE_ENDPOINT = _error("DQ0608", "A pipeline of an application does not go from queues to queues.")
PIPELINE_FACTS = _error("DQ0609", "A file that enriches a pipeline of the application cannot be read.")

# How the application will behave
TRIGGERS_ITSELF = _warning("DQ0701", "A rule can trigger itself.")
NEVER_RESET = _warning("DQ0702", "Nothing resets a slice: its messages are kept for ever.")
UNREACHABLE = _warning("DQ0703", "Nothing puts messages into a queue.")
NEVER_READ = _warning("DQ0704", "A property is set, and never read.")
UNUSED_PROPERTY = _hint("DQ0705", "A property is defined, and never read.")
NOT_RETAINED = _warning("DQ0706", "A rule reads a queue that retains no messages.")
NEVER_TRUE = _warning("DQ0707", "A condition can never be met.")
ROOT_OR_DESCENDANT = _warning("DQ0708", "A path asks for the root element where an inner one seems meant.")
VARIABLE_MEANT = _warning("DQ0709", "An element is named like a variable that is in scope.")
ELEMENT_MEANT = _warning("DQ0710", "An element name is almost that of another.")
UNUSED_QUEUE = _hint("DQ0711", "Nothing takes messages out of a queue.")
NO_RULES = _hint("DQ0712", "A slicing neither has rules nor retains what any rule reads.")
OTHER_ROOT = _warning("DQ0713", "A path from the root in a predicate does not lead into the message.")
ALLOWANCE = _hint("DQ0714", "A comment allows what is not there, or cannot be allowed.")

ALL = _catalogue.every
