"""The built-in names, held against the standard's index of functions and against the engine."""

from collections.abc import Callable, Iterator

import pytest
from saxonche import PySaxonApiError, PySaxonProcessor

from demaq.xquery.builtins import (
    ANNOTATION_TYPES,
    CAST_TARGETS,
    FUNCTIONS,
    ITEM_TYPES,
    NAMESPACES,
    TYPES,
    VARIADIC,
    describe_arities,
    is_builtin_function,
)

# Every function of F&O 3.1 by name, written down apart from the module's own list.
STANDARD = {
    "fn": """
    QName abs adjust-date-to-timezone adjust-dateTime-to-timezone adjust-time-to-timezone analyze-string
    apply available-environment-variables avg base-uri boolean ceiling codepoint-equal
    codepoints-to-string collation-key collection compare concat contains contains-token count
    current-date current-dateTime current-time data dateTime day-from-date day-from-dateTime
    days-from-duration deep-equal default-collation default-language distinct-values doc doc-available
    document-uri element-with-id empty encode-for-uri ends-with environment-variable error escape-html-uri
    exactly-one exists false filter floor fold-left fold-right for-each for-each-pair format-date
    format-dateTime format-integer format-number format-time function-arity function-lookup function-name
    generate-id has-children head hours-from-dateTime hours-from-duration hours-from-time id idref
    implicit-timezone in-scope-prefixes index-of innermost insert-before iri-to-uri json-doc json-to-xml
    lang last load-xquery-module local-name local-name-from-QName lower-case matches max min
    minutes-from-dateTime minutes-from-duration minutes-from-time month-from-date month-from-dateTime
    months-from-duration name namespace-uri namespace-uri-for-prefix namespace-uri-from-QName nilled
    node-name normalize-space normalize-unicode not number one-or-more outermost parse-ietf-date
    parse-json parse-xml parse-xml-fragment path position prefix-from-QName random-number-generator remove
    replace resolve-QName resolve-uri reverse root round round-half-to-even seconds-from-dateTime
    seconds-from-duration seconds-from-time serialize sort starts-with static-base-uri string string-join
    string-length string-to-codepoints subsequence substring substring-after substring-before sum tail
    timezone-from-date timezone-from-dateTime timezone-from-time tokenize trace transform translate true
    unordered unparsed-text unparsed-text-available unparsed-text-lines upper-case uri-collection
    xml-to-json year-from-date year-from-dateTime years-from-duration zero-or-one
    """,
    "math": "acos asin atan atan2 cos exp exp10 log log10 pi pow sin sqrt tan",
    "map": "contains entry find for-each get keys merge put remove size",
    "array": """
    append filter flatten fold-left fold-right for-each for-each-pair get head insert-before join put
    remove reverse size sort subarray tail
    """,
    "xs": """
    ENTITIES ENTITY ID IDREF IDREFS NCName NMTOKEN NMTOKENS Name QName anyURI base64Binary boolean byte
    date dateTime dateTimeStamp dayTimeDuration decimal double duration error float gDay gMonth gMonthDay
    gYear gYearMonth hexBinary int integer language long negativeInteger nonNegativeInteger
    nonPositiveInteger normalizedString numeric positiveInteger short string time token unsignedByte
    unsignedInt unsignedLong unsignedShort untypedAtomic yearMonthDuration
    """,
}

# Names that look built in but are not: functions of XSLT 3.0, XQuery Update, F&O 4.0 and withdrawn drafts,
# and types without a constructor.
FOREIGN = {
    "fn": """
    accumulator-after accumulator-before available-system-properties copy-of current current-group
    current-grouping-key current-merge-group current-merge-key current-output-uri document
    element-available function-available key regex-group snapshot stream-available system-property
    type-available unparsed-entity-public-id unparsed-entity-uri put all-different all-equal atomic-equal
    build-uri char characters contains-subsequence csv-to-arrays csv-to-xml deep-lookup
    distinct-ordered-nodes divide-decimals do-until duplicate-values every expanded-QName foot
    function-annotations hash highest identity in-scope-namespaces index-where insert-separator
    invisible-xml is-NaN items-at json lowest message op parse-QName parse-csv parse-html parse-integer
    parse-uri partial-apply partition pin replicate scan-left scan-right schema-type siblings slice some
    sort-by sort-with subsequence-before subsequence-where take-while transitive-closure trunk type-of
    uniform void while-do context-item distinct-nodes escape-uri input item-at map map-pairs node-kind
    string-pad
    """,
    "math": "cosh e sinh tanh",
    "map": "build empty entries filter items of-pairs pair pairs replace",
    "array": "build empty foot index-of index-where items members of-members slice split trunk",
    "xs": "NOTATION anyAtomicType anySimpleType anyType untyped",
}

# What SaxonC-HE 13.1 has in these namespaces beyond the standard.
SAXON_ONLY = {"fn:copy-of#0", "fn:copy-of#1", "fn:snapshot#0", "fn:snapshot#1", "fn:deep-equal#4"}
SAXON_ONLY_PREFIXES = {"saxon": "http://saxon.sf.net/", "xq": "http://www.w3.org/2012/xquery"}

MOST = 8  # arguments to try: more than any function takes, but for concat

Query = Callable[[str], list[str]]


@pytest.fixture(scope="module")
def query() -> Iterator[Query]:
    with PySaxonProcessor(license=False) as processor:
        engine = processor.new_xquery_processor()

        def run(text: str) -> list[str]:
            engine.set_query_content(text)
            value = engine.run_query_to_value()
            return [] if value is None else [str(item) for item in value]

        yield run


def expanded(prefix: str, local: str) -> str:
    return f"Q{{{NAMESPACES[prefix]}}}{local}"


def compiles(query: Query, expression: str) -> bool:
    """Whether the expression, which may use $v, has no static error. It is not evaluated."""
    try:
        query(f"function($v) {{ {expression} }}")
    except PySaxonApiError:
        return False
    return True


def known_to_saxon(query: Query, prefix: str, names: str) -> set[str]:
    return set(
        query(
            f"for $name in tokenize('{' '.join(names.split())}', ' '), $arity in 0 to {MOST}"
            f" where exists(function-lookup(QName('{NAMESPACES[prefix]}', $name), $arity))"
            f" return '{prefix}:' || $name || '#' || $arity"
        )
    )


def known_to_us(prefix: str, names: str) -> set[str]:
    return {
        f"{prefix}:{name}#{arity}"
        for name in names.split()
        for arity in range(MOST + 1)
        if is_builtin_function(expanded(prefix, name), arity)
    }


def test_the_functions_are_those_of_the_standard() -> None:
    assert set(FUNCTIONS) == {expanded(prefix, name) for prefix, names in STANDARD.items() for name in names.split()}


@pytest.mark.parametrize("prefix", STANDARD)
def test_saxon_has_each_function_at_exactly_our_arities(query: Query, prefix: str) -> None:
    names = STANDARD[prefix]
    found = known_to_saxon(query, prefix, names)
    assert found - SAXON_ONLY == known_to_us(prefix, names)
    assert {reference.partition("#")[0] for reference in found} == {f"{prefix}:{name}" for name in names.split()}


def test_each_function_is_found_statically_too(query: Query) -> None:
    references = [f"{name}#{arity}" for name, arities in FUNCTIONS.items() for arity in arities]
    assert query(f"count(({', '.join(references)}))") == [str(len(references))]


@pytest.mark.parametrize("prefix", FOREIGN)
def test_functions_of_other_standards_are_not_built_in(query: Query, prefix: str) -> None:
    assert known_to_us(prefix, FOREIGN[prefix]) == set()
    assert known_to_saxon(query, prefix, FOREIGN[prefix]) <= SAXON_ONLY


def test_what_saxon_adds_is_still_there_and_still_left_out(query: Query) -> None:
    names = "copy-of snapshot deep-equal"
    assert known_to_saxon(query, "fn", names) - known_to_us("fn", names) == SAXON_ONLY


def test_loading_modules_is_found_but_refused_by_this_edition(query: Query) -> None:
    assert query("try { load-xquery-module('urn:m') } catch * { string($err:code) }") == ["err:FOQM0006"]


def test_concat_alone_takes_any_number_from_two() -> None:
    concat = expanded("fn", "concat")
    assert {concat} == VARIADIC
    assert [arity for arity in (0, 1, 2, 3, 1000) if is_builtin_function(concat, arity)] == [2, 3, 1000]


def test_arities_need_not_be_contiguous() -> None:
    assert FUNCTIONS[expanded("fn", "format-date")] == {2, 5}


@pytest.mark.parametrize("name", ["abs", "fn:abs", "Q{}abs", "Q{http://www.w3.org/2005/xpath-functions}no-such"])
def test_a_name_that_is_not_an_expanded_builtin_is_none(name: str) -> None:
    assert not is_builtin_function(name, 1)


@pytest.mark.parametrize(
    ("name", "text"),
    [("true", "0"), ("abs", "1"), ("round", "1 or 2"), ("error", "0, 1, 2 or 3"), ("format-time", "2 or 5")],
)
def test_arities_read_as_a_phrase(name: str, text: str) -> None:
    assert describe_arities(expanded("fn", name)) == text


@pytest.mark.parametrize(("prefix", "uri"), [*NAMESPACES.items(), *SAXON_ONLY_PREFIXES.items()])
def test_saxon_predeclares_the_prefix(query: Query, prefix: str, uri: str) -> None:
    assert query(f"namespace-uri(<{prefix}:a/>)") == [uri]


@pytest.mark.parametrize("prefix", ["xsd", "xdt", "xsl", "xmlns", "file", "bin", "http", "demaq"])
def test_saxon_does_not_predeclare_other_usual_prefixes(query: Query, prefix: str) -> None:
    assert prefix not in NAMESPACES
    assert not compiles(query, f"<{prefix}:a/>")


@pytest.mark.parametrize("name", sorted(ANNOTATION_TYPES | {"noSuchType"}))
def test_saxon_accepts_each_type_just_where_we_do(query: Query, name: str) -> None:
    assert compiles(query, f"$v instance of xs:{name}") == (name in ITEM_TYPES)
    assert compiles(query, f"$v cast as xs:{name}?") == (name in CAST_TARGETS)
    assert compiles(query, f"$v instance of element(*, xs:{name})") == (name in ANNOTATION_TYPES)


def test_some_types_are_only_item_types_or_only_cast_targets() -> None:
    assert TYPES == ITEM_TYPES | CAST_TARGETS
    assert frozenset({"anyAtomicType", "NOTATION"}) == ITEM_TYPES - CAST_TARGETS
    assert frozenset({"NMTOKENS", "IDREFS", "ENTITIES"}) == CAST_TARGETS - ITEM_TYPES
