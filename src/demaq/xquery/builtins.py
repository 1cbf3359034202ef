"""What XQuery 3.1 has built in: namespace prefixes, functions and simple types, as plain data.

The source is the standard (XQuery 3.1, and its Functions and Operators 3.1, "F&O"), not the engine.
SaxonC-HE 13.1 knows a little more, left out here because a query that uses it is not XQuery 3.1: the
functions `fn:copy-of`, `fn:snapshot` and `fn:deep-equal#4`, and the prefixes `saxon` and `xq`. It lacks none
of the names, though a call of `fn:load-xquery-module` always raises err:FOQM0006. The tests check this.

>>> is_builtin_function("Q{http://www.w3.org/2005/xpath-functions}substring", 2)
True
>>> describe_arities("Q{http://www.w3.org/2005/xpath-functions}substring")
'2 or 3'
"""

import re
from collections.abc import Mapping

# The first five are predeclared by XQuery 3.1 itself; it lets a processor predeclare more, and Saxon does so
# for the others. A prolog may redeclare any of them but `xml` (err:XQST0070).
NAMESPACES: Mapping[str, str] = {
    "xml": "http://www.w3.org/XML/1998/namespace",
    "xs": "http://www.w3.org/2001/XMLSchema",
    "xsi": "http://www.w3.org/2001/XMLSchema-instance",
    "fn": "http://www.w3.org/2005/xpath-functions",
    "local": "http://www.w3.org/2005/xquery-local-functions",
    "math": "http://www.w3.org/2005/xpath-functions/math",
    "map": "http://www.w3.org/2005/xpath-functions/map",
    "array": "http://www.w3.org/2005/xpath-functions/array",
    "err": "http://www.w3.org/2005/xqt-errors",
    "output": "http://www.w3.org/2010/xslt-xquery-serialization",
}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ATOMIC_TYPES = _words(
    """
    untypedAtomic string normalizedString token language NMTOKEN Name NCName ID IDREF ENTITY
    decimal integer nonPositiveInteger negativeInteger long int short byte
    nonNegativeInteger unsignedLong unsignedInt unsignedShort unsignedByte positiveInteger float double
    duration yearMonthDuration dayTimeDuration dateTime dateTimeStamp date time
    gYear gYearMonth gMonth gMonthDay gDay
    boolean base64Binary hexBinary anyURI QName
    """
)
_UNION_TYPES = _words("numeric error")
_LIST_TYPES = _words("NMTOKENS IDREFS ENTITIES")
_ABSTRACT_TYPES = _words("anyAtomicType NOTATION")

# The types by local name (`integer` is `xs:integer`), by where they may stand:
# as an item type, `instance of xs:T` or `as xs:T`;
ITEM_TYPES: frozenset[str] = _ATOMIC_TYPES | _UNION_TYPES | _ABSTRACT_TYPES
# as the target of `cast as` and `castable as`, and as a constructor function, `xs:T($arg)`;
CAST_TARGETS: frozenset[str] = _ATOMIC_TYPES | _UNION_TYPES | _LIST_TYPES
# as either of those;
TYPES: frozenset[str] = ITEM_TYPES | CAST_TARGETS
# as the type of a node, `element(*, xs:T)` or `attribute(*, xs:T)`.
ANNOTATION_TYPES: frozenset[str] = TYPES | _words("anyType anySimpleType untyped")

# name#arities, in the order of F&O's chapters; `2+` is two or more.
_FUNCTIONS = {
    "fn": """
    Accessors: node-name#0,1 nilled#0,1 string#0,1 data#0,1 base-uri#0,1 document-uri#0,1
    Errors and diagnostics: error#0,1,2,3 trace#1,2
    Numerics: abs#1 ceiling#1 floor#1 round#1,2 round-half-to-even#1,2 number#0,1
        format-integer#2,3 format-number#2,3 random-number-generator#0,1
    Strings: codepoints-to-string#1 string-to-codepoints#1 compare#2,3 codepoint-equal#2
        collation-key#1,2 contains-token#2,3 concat#2+ string-join#1,2 substring#2,3 string-length#0,1
        normalize-space#0,1 normalize-unicode#1,2 upper-case#1 lower-case#1 translate#3
        contains#2,3 starts-with#2,3 ends-with#2,3 substring-before#2,3 substring-after#2,3
        matches#2,3 replace#3,4 tokenize#1,2,3 analyze-string#2,3
    URIs: resolve-uri#1,2 encode-for-uri#1 iri-to-uri#1 escape-html-uri#1
    Booleans: true#0 false#0 boolean#1 not#1
    Durations: years-from-duration#1 months-from-duration#1 days-from-duration#1 hours-from-duration#1
        minutes-from-duration#1 seconds-from-duration#1
    Dates and times: dateTime#2
        year-from-dateTime#1 month-from-dateTime#1 day-from-dateTime#1 hours-from-dateTime#1
        minutes-from-dateTime#1 seconds-from-dateTime#1 timezone-from-dateTime#1
        year-from-date#1 month-from-date#1 day-from-date#1 timezone-from-date#1
        hours-from-time#1 minutes-from-time#1 seconds-from-time#1 timezone-from-time#1
        adjust-dateTime-to-timezone#1,2 adjust-date-to-timezone#1,2 adjust-time-to-timezone#1,2
        format-dateTime#2,5 format-date#2,5 format-time#2,5 parse-ietf-date#1
    QNames: resolve-QName#2 QName#2 prefix-from-QName#1 local-name-from-QName#1 namespace-uri-from-QName#1
        namespace-uri-for-prefix#2 in-scope-prefixes#1
    Nodes: name#0,1 local-name#0,1 namespace-uri#0,1 lang#1,2 root#0,1 path#0,1 has-children#0,1
        innermost#1 outermost#1
    Sequences: empty#1 exists#1 head#1 tail#1 insert-before#3 remove#2 reverse#1 subsequence#2,3 unordered#1
        distinct-values#1,2 index-of#2,3 deep-equal#2,3 zero-or-one#1 one-or-more#1 exactly-one#1
        count#1 avg#1 max#1,2 min#1,2 sum#1,2
        id#1,2 element-with-id#1,2 idref#1,2 generate-id#0,1
    External information: doc#1 doc-available#1 collection#0,1 uri-collection#0,1
        unparsed-text#1,2 unparsed-text-lines#1,2 unparsed-text-available#1,2
        environment-variable#1 available-environment-variables#0
    Parsing and serializing: parse-xml#1 parse-xml-fragment#1 serialize#1,2
    Context: position#0 last#0 current-dateTime#0 current-date#0 current-time#0 implicit-timezone#0
        default-collation#0 default-language#0 static-base-uri#0
    Functions: function-lookup#2 function-name#1 function-arity#1
        for-each#2 filter#2 fold-left#3 fold-right#3 for-each-pair#3 sort#1,2,3 apply#2
        load-xquery-module#1,2 transform#1
    JSON: parse-json#1,2 json-doc#1,2 json-to-xml#1,2 xml-to-json#1,2
    """,
    "math": """
    pi#0 exp#1 exp10#1 log#1 log10#1 pow#2 sqrt#1 sin#1 cos#1 tan#1 asin#1 acos#1 atan#1 atan2#2
    """,
    "map": """
    merge#1,2 size#1 keys#1 contains#2 get#2 find#2 put#3 entry#2 remove#2 for-each#2
    """,
    "array": """
    size#1 get#2 put#3 append#2 subarray#2,3 remove#2 insert-before#3 head#1 tail#1 reverse#1 join#1
    for-each#2 filter#2 fold-left#3 fold-right#3 for-each-pair#3 sort#1,2,3 flatten#1
    """,
    "xs": " ".join(f"{name}#1" for name in sorted(CAST_TARGETS)),
}

_ENTRIES: Mapping[str, str] = {
    f"Q{{{NAMESPACES[prefix]}}}{local}": arities
    for prefix, text in _FUNCTIONS.items()
    for local, arities in re.findall(r"(\S+)#(\S+)", text)
}

# Expanded name `Q{uri}local` to the numbers of arguments it takes.
# Sets, since there are gaps: `fn:format-date` takes 2 or 5.
FUNCTIONS: Mapping[str, frozenset[int]] = {
    name: frozenset(int(arity) for arity in arities.rstrip("+").split(",")) for name, arities in _ENTRIES.items()
}
# Those that also take any number above the one that FUNCTIONS gives: `fn:concat` alone.
VARIADIC: frozenset[str] = frozenset(name for name, arities in _ENTRIES.items() if arities.endswith("+"))


def is_builtin_function(name: str, arity: int) -> bool:
    """Whether the expanded name `Q{uri}local` with that many arguments is a function of XQuery 3.1."""
    arities = FUNCTIONS.get(name, frozenset())
    return arity in arities or (name in VARIADIC and arity > max(arities))


def describe_arities(name: str) -> str:
    """How many arguments the built-in function takes, in words for a message. KeyError if there is none.

    >>> describe_arities("Q{http://www.w3.org/2005/xpath-functions}concat")
    '2 or more'
    """
    *others, last = (str(arity) for arity in sorted(FUNCTIONS[name]))
    if name in VARIADIC:
        return f"{last} or more"
    return f"{', '.join(others)} or {last}" if others else last
