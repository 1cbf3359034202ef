"""The words of the language that are no names: annotations, formats, strategies, options, functions."""

from enum import Enum
from types import MappingProxyType

from demaq.pipelines.values import ValueType

FROM, ENRICH, TO, AGGREGATE, SPLIT = ANNOTATIONS = ("from", "enrich", "to", "aggregate", "split")

META = "meta"
"""The relation that says how the parameters of others are called."""

AGGREGATED = "-aggregate"
SPLITTED = "-split"


class Format(Enum):
    """How facts are written down outside."""

    JSON = "json"
    CSV = "csv"
    XML = "xml"
    DATALOG = "datalog"  # facts, as in a program: nothing is converted
    PARQUET = "parquet"  # rows of a table, with their types
    ROWS = "rows"  # of the tables of a database, or of whatever else Spark reads


OF_ONE_RELATION = frozenset({Format.CSV, Format.PARQUET})
"""Formats of documents that have the facts of one relation only."""


class Strategy(Enum):
    """What becomes of the facts of messages that are aggregated."""

    UNION = "union"  # all of them
    FIRST = "first"  # those of the first message that has any of the relation
    LAST = "last"  # those of the last message that has any of the relation


class Function(Enum):
    """Aggregates over a relation."""

    MAX = "max"
    MIN = "min"
    COUNT = "count"
    SUM = "sum"
    AVG = "avg"


class TextRelation(Enum):
    """Tests of two texts."""

    EQUALS = "equals"
    CONTAINS = "contains"
    STARTSWITH = "startswith"
    ENDSWITH = "endswith"


FUNCTIONS = tuple(function.value for function in Function)
TESTS = tuple(test.value for test in TextRelation)
RESERVED = (META, "not", "true", "false", "mod", "div", *FUNCTIONS, *TESTS)
"""What no relation may be called."""

COMPARISONS = ("<", ">", "<=", ">=", "=", "==", "!=")

COMPLETION_TIME, COMPLETION_SIZE, COMPLETION = COMPLETIONS = ("completionTime", "completionSize", "completion")

AUTHORIZATION, DELIMITER, EVERY, KEY = "authorization", "delimiter", "every", "key"

KAFKA = "kafka"
"""The scheme of topics."""

SCHEMES_READ = ("errors", "file", "http", "https", "jdbc", KAFKA, "queue", "spark", "twitter")
SCHEMES_WRITTEN = ("console", "file", "http", "https", "jdbc", KAFKA, "queue", "spark", "twitter")

# The options of an endpoint, and what type their values have; None for a word that stands alone.
ENDPOINT_OPTIONS = MappingProxyType(
    {
        "lines": None,  # each line of a file is a message of its own
        "header": ValueType.BOOLEAN,  # whether the first line of CSV has the names
        DELIMITER: ValueType.TEXT,  # what stands between the values of CSV
        "table": ValueType.TEXT,  # the table of a database, if it is not called like the relation
        AUTHORIZATION: ValueType.TEXT,  # what a service wants to be told of who asks
        EVERY: ValueType.INTEGER,  # seconds between two times that a stream asks a service
        KEY: ValueType.TEXT,  # the parameter whose value is the key of a record
    }
)

# Words for types in annotation bodies.
TYPES = MappingProxyType({type_.value: type_ for type_ in ValueType} | {"string": ValueType.TEXT})
