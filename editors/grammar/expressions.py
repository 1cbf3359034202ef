"""What follows an operand: operators, clauses, types; and the brackets that hold expressions."""

from grammar.lexis import GAP, NCNAME, QNAME, WILDCARD, Rule, Token, include, match, span, word
from grammar.operands import ACTION, CLAUSE_PREFIXES, CONTROL, RAISE_WITH_PARAMETERS, operand_after

WORDLIKE = "keyword.operator.wordlike"
TYPE_NAME = rf"(?!(?>{QNAME})\s*\((?!:))"  # `element(` is not a name but the start of a kind test

OPERATORS: tuple[Token, ...] = (
    *CLAUSE_PREFIXES,
    ((CONTROL, word("default")), GAP, (CONTROL, word("return"))),
    ((CONTROL, word("default")), r"(?=\s+\$)"),
    ((CONTROL, "(?:stable\\s+)?" + word("order")), GAP, (CONTROL, word("by"))),
    ((CONTROL, word("group")), GAP, (CONTROL, word("by"))),
    ((CONTROL, "(?:only\\s+)?" + word("end", "start")), rf"\s+(?:(?=\$|{word('previous', 'next')})|",
     (CONTROL, word("when", "at")), ")"),
    ((CONTROL, word("count", "previous", "next")), r"(?=\s+\$)"),
    ((CONTROL, word("return", "then", "else", "where", "satisfies", "in", "at", "case", "when")),),
    (("keyword.other.clause", word("value", "key")),),
    ((WORDLIKE, word("and", "or", "div", "idiv", "mod", "eq", "ne", "lt", "le", "gt", "ge", "is", "to",
                     "union", "intersect", "except")),),
    (("keyword.operator.assignment", ":="),),
    (("keyword.operator.arrow", "=>"), r"\s*"),
    (("keyword.operator.comparison", "<<|>>|<=|>=|!=|=|<|>"), r"\s*"),
    (("keyword.operator.concatenation", r"\|\|"),),
    (("keyword.operator.set", r"\|"),),
    (("keyword.operator.map", "!"),),
    (("keyword.operator.path", "//?"),),
    (("keyword.operator.arithmetic", r"[+\-*]"),),
    (("punctuation.separator.sequence", ","),),
    (("punctuation.separator.entry", ":(?!:)"),),
)  # fmt: skip

# Words that come after an operand and take none.
SUFFIXES: tuple[Token, ...] = (
    ((CONTROL, word("ascending", "descending", "collation")),),
    ((CONTROL, word("empty")), GAP, (CONTROL, word("greatest", "least"))),
    ((CONTROL, word("allowing")), GAP, (CONTROL, word("empty"))),
    ((CONTROL, word("default")), r"(?=\s*$)"),
    (("keyword.other.prolog", word("external")), r"(?=\s*(?:;|:=))"),
    (("keyword.operator.occurrence", r"[?*+]"), rf"(?=\s*(?:\||{word('return')}))"),  # case xs:string* return
)

NO_NAME = r"(?=[^\s\p{L}_(]|\((?!:))"


def name_after(keyword: Token, scope: str) -> Rule:
    """A keyword and the one name that follows it, on the same line or a later one."""
    return span(keyword, ((scope, QNAME), "|", NO_NAME), "comment")


def _brackets(opening: str, closing: str, scope: str) -> Rule:
    punctuation = f"punctuation.section.{scope}"
    return span(
        ((f"{punctuation}.begin", opening),),
        ((f"{punctuation}.end", closing),),
        "first-operand",
        "expression",
    )


REPOSITORY: dict[str, Rule] = {
    "expression": {
        "patterns": include(
            "comment", "statement", "type", "catch", "target", "with", "suffix", "step", "operator",
            "string", "paren", "bracket", "brace", "simple-operand", "terminator", "unbalanced",
        )
    },
    "operator": operand_after(*OPERATORS),
    "suffix": match(*SUFFIXES),
    "paren": _brackets(r"\((?![:#])", r"\)", "parens"),
    "bracket": _brackets(r"\[", r"\]", "brackets"),
    "brace": _brackets(r"\{", r"\}", "braces"),
    "terminator": match((("punctuation.terminator", ";"),)),
    "unbalanced": match((("invalid.illegal.unbalanced", r"[)\]}]"),)),
    "catch": span(
        ((CONTROL, word("catch")),),
        (r"(?=\{)",),
        "comment", "error-name",
    ),
    "error-name": match((("keyword.operator.wildcard", WILDCARD),), (("support.class.error", QNAME),),
                        (("keyword.operator.set", r"\|"),)),
    "target": name_after((("keyword.control.action", word("into")),), "variable.other.queue"),
    "with": span(
        ((ACTION, word("with")),),
        (
            ("variable.other.property", QNAME),
            # Only in a property's definition are the bare words booleans, so keep `value` from saying so here.
            r"(?:\s+", ("keyword.other.clause", word("value")), rf"(?=\s+{word('true', 'false')}))?",
            "|", NO_NAME,
        ),
        "comment",
    ),
    "raise-event": span(
        RAISE_WITH_PARAMETERS,
        (("punctuation.section.parens.end", r"\)"),),
        "event-parameter", "expression",
    ),
    "event-parameter": match(
        (("variable.parameter", QNAME), r"(?=\s*:=)"),
        (("punctuation.separator.sequence", ","),),
    ),
    "annotation": match(
        (("punctuation.definition.annotation", "%"), r"\s*", ("storage.modifier.annotation", QNAME)),
    ),
    "type": span(
        (
            "(?:", (WORDLIKE, word("instance")), GAP, (WORDLIKE, word("of")),
            "|", (WORDLIKE, word("treat", "castable", "cast")), GAP, (WORDLIKE, word("as")),
            "|", ("keyword.other.as", word("as")), ")",
        ),
        (
            TYPE_NAME, "(?:", ("support.type.xs", rf"xs:{NCNAME}"), "|", ("support.type", QNAME), ")",
            r"(?:\s*", ("keyword.operator.occurrence", "[?*+]"), ")?",
            r"|(?<=\))(?<!:\))(?:\s*", ("keyword.operator.occurrence", "[?*+]"), ")?",
            r"|(?=[,;{}\])]|:=)",
        ),
        "comment", "annotation", "type-arguments",
    ),
    "type-arguments": span(
        ("(?:", ("support.type.kind-test", NCNAME), r"\s*)?", ("punctuation.section.parens.begin", r"\((?!:)")),
        (("punctuation.section.parens.end", r"\)"),),
        "comment", "type-arguments", "type-argument",
    ),
    "type-argument": match(
        (("keyword.other.as", word("as")),),
        (("support.type.xs", rf"xs:{NCNAME}"),),
        (("support.type", QNAME),),
        (("keyword.operator.occurrence", "[?*+]"),),
        (("punctuation.separator.sequence", ","),),
    ),
}  # fmt: skip
