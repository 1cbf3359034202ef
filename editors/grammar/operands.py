"""What an operator may be followed by.

Names are not reserved in XQuery: whether `return` is a keyword depends on what stands before it. So the grammar
has two states. An operator (or keyword) opens a span in which an operand is expected; the operand ends it:

                     operator, keyword, `(`, `[`, `{`, `,`
    after an operand ──────────────────────────────────────▶ an operand is expected
                     ◀──────────────────────────────────────
                            name, literal, `)`, `]`, `}`, `>`

In the first state `return` is the keyword and `<` compares; in the second `return` is an element's name and `<`
opens a constructor. The first state is also that of the file between its statements, so that nothing is open at
its end. An operand that comes where none is expected is shown as what it is, and changes nothing.

An engine sees one line at a time: a keyword of two words must have both on one line.
"""

from grammar.lexis import (
    CALL,
    CREATED,
    GAP,
    NCNAME,
    NUMBER,
    QNAME,
    WILDCARD,
    Rule,
    Token,
    include,
    match,
    one_of,
    word,
)

CONTROL = "keyword.control"
ACTION = "keyword.control.action"
CONSTRUCTOR = "storage.type.constructor"

QS_FUNCTION = word("qs:message", "qs:queue", "qs:slicekey", "qs:slice", "qs:property")
KIND_TEST = word(
    "element", "attribute", "schema-element", "schema-attribute", "document-node", "text", "comment",
    "processing-instruction", "node", "namespace-node", "item", "empty-sequence",
)  # fmt: skip
AXIS = (
    "child|descendant-or-self|descendant|attribute|self|following-sibling|following|namespace|"
    "parent|ancestor-or-self|ancestor|preceding-sibling|preceding"
)

COMPUTED: tuple[Token, ...] = (
    ((CONSTRUCTOR, word("document", "text", "comment", "array", "map")), r"(?=\s*\{)"),
    (
        (CONSTRUCTOR, word("element", "attribute", "processing-instruction", "namespace")),
        r"(?:\s+",
        ("entity.name.tag", QNAME),
        r")?(?=\s*\{)",
    ),
)
# Words that begin an operand and leave it still to come.
PREFIXES: tuple[Token, ...] = (
    ((CONTROL, word("if", "switch", "typeswitch")), r"(?=\s*(?:\(|$))"),
    ((CONTROL, word("for", "let", "some", "every")), r"(?=\s*(?:\$|$|\(:))"),
    ((CONTROL, word("for")), GAP, (CONTROL, word("tumbling", "sliding")), GAP, (CONTROL, word("window"))),
    ((CONTROL, word("try")), r"(?=\s*(?:\{|$))"),
    ((CONTROL, word("ordered", "unordered")), r"(?=\s*\{)"),
    ((CONTROL, word("validate")), r"(?:\s+", (CONTROL, word("lax", "strict")), r")?(?=\s*\{)"),
    ((CONTROL, word("validate")), GAP, (CONTROL, word("type")), GAP, ("support.type", QNAME), r"(?=\s*\{)"),
    (("storage.type.function", word("function")), r"(?=\s*\((?!:))"),
    ((ACTION, word("do")), GAP, (ACTION, word("enqueue"))),
    *COMPUTED,
)
# After an operand, `for` begins a clause only before a variable; else it is the `for` of a rule.
CLAUSE_PREFIXES: tuple[Token, ...] = (
    PREFIXES[0],
    ((CONTROL, word("for")), r"(?=\s*\$)"),
    ((CONTROL, word("let", "some", "every")), r"(?=\s*(?:\$|$|\(:))"),
    *PREFIXES[2:],
)


def _not_before(*tokens: Token) -> str:
    regex, _ = one_of(*(tuple(part if isinstance(part, str) else part[1] for part in token) for token in tokens))
    return f"(?!{regex})"


_RAISE: Token = ((ACTION, word("do")), GAP, (ACTION, word("raise")), GAP, (ACTION, word("event")))
_EVENT: Token = (GAP, ("variable.other.event", QNAME))
RAISE_WITH_PARAMETERS: Token = (*_RAISE, *_EVENT, r"\s*", ("punctuation.section.parens.begin", r"\((?!:)"))
RESET: Token = ((ACTION, word("do")), GAP, (ACTION, word("reset")))
ACTIONS: tuple[Token, ...] = (
    (*RESET, "(?:", GAP, ("variable.other.slicing", QNAME), rf"(?=\s+{word('key')}))?"),
    (_not_before(RAISE_WITH_PARAMETERS), *_RAISE, "(?:", *_EVENT, ")?"),
)

_NODE_TEST: Token = (
    "(?:",
    ("punctuation.definition.attribute", "@"),
    r"\s*",
    ("entity.other.attribute-name", f"{WILDCARD}|{QNAME}"),
    "|(?:",
    ("support.constant.axis", AXIS),
    r"\s*",
    ("keyword.operator.axis", "::"),
    r"\s*)?(?:",
    ("support.type.kind-test", KIND_TEST),
    rf"{CALL}|",
    ("support.function.qs", QS_FUNCTION),
    rf"{CALL}|",
    ("support.type.xs", rf"xs:{NCNAME}"),
    "|",
    ("support.function.builtin", rf"(?:(?:fn|math|map|array):)?{NCNAME}(?!:)"),
    rf"{CALL}|",
    ("variable.function", QNAME),
    rf"{CALL}|",
    ("keyword.operator.wildcard", WILDCARD),
    "|",
    ("support.other.name-test", QNAME),
    "))",
)
# After a slash only a computed constructor can be anything but a name: `//if` is an element.
STEP: Token = (("keyword.operator.path", "//?"), r"\s*", _not_before(*COMPUTED), *_NODE_TEST)
SIMPLE_OPERANDS: tuple[Token, ...] = (
    (("punctuation.definition.variable", r"\$"), r"\s*", ("variable.other", QNAME)),
    (("constant.numeric", NUMBER),),
    (("variable.language.context", r"\.\.?"),),
    (("keyword.operator.lookup", r"\?"), r"\s*", ("support.other.key", rf"{NCNAME}|\d+|\*")),
    *ACTIONS,
    (_not_before(*PREFIXES, RAISE_WITH_PARAMETERS), *_NODE_TEST),
)

NEW_STATEMENT = rf"create\s+(?:{CREATED})\s+[\p{{L}}_]"
NO_OPERAND = rf"[)\]}},;=|>!]|:(?!:)|{NEW_STATEMENT}"
# The operand was a span of its own and has just closed. (`:)` and `#)` close comments and pragmas.)
CLOSED = r"(?<=[\]}\"'`>])|(?<=\))(?<!:\))(?<!#\))"

OPERAND_TAKEN: tuple[Token, ...] = ((CLOSED,), (rf"(?={NO_OPERAND})",), STEP, *SIMPLE_OPERANDS)


def operand_after(*operators: Token) -> Rule:
    """The span from an operator to the end of the operand that it takes."""
    begin, begin_captures = one_of(*operators)
    end, end_captures = one_of(*OPERAND_TAKEN)
    return {
        "begin": begin,
        "beginCaptures": begin_captures,
        "end": end,
        "endCaptures": end_captures,
        "patterns": include("operand-start"),
    }


REPOSITORY: dict[str, Rule] = {
    "first-operand": operand_after((rf"(?<=[(\[{{])(?!\s*(?:{NO_OPERAND}))",)),
    "operand-start": {
        "patterns": include(
            "comment", "pragma", "string", "string-constructor", "constructor", "raise-event",
            "paren", "bracket", "brace", "annotation", "prefix", "sign",
        )
    },
    "step": match(STEP),
    "prefix": match(*PREFIXES),
    "sign": match((("keyword.operator.arithmetic", r"[+\-]"),), (("keyword.operator.path", "//?"),),
                  (("keyword.operator.lookup", r"\?"),)),
    "simple-operand": match(*SIMPLE_OPERANDS, (("keyword.operator.arity", "#"), ("constant.numeric", r"\d+"))),
}  # fmt: skip
