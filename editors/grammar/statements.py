"""The statements of a module: `module`, the XQuery prolog, `create` and its options."""

from grammar.expressions import NO_NAME, name_after
from grammar.lexis import CREATED, FILE, GAP, NCNAME, QNAME, Rule, Token, include, match, span, word
from grammar.operands import NEW_STATEMENT

STATEMENT = "keyword.other.statement"
OPTION = "keyword.other.option"
PROLOG = "keyword.other.prolog"

DEFINED_AS = {
    "queue": "entity.name.type.queue",
    "property": "entity.name.type.property",
    "slicing": "entity.name.type.slicing",
    "collection": "entity.name.type.collection",
    "pipeline": "entity.name.type.pipeline",
    "rule": "entity.name.function.rule",
}
ENDS_PROLOG = rf"(?=;|\{{|\((?!:)|:=|{NEW_STATEMENT})"
PROLOG_WORDS = word(
    "namespace", "default", "element", "function", "updating", "variable", "boundary-space", "base-uri",
    "construction", "ordering", "order", "empty", "copy-namespaces", "decimal-format", "option", "context",
    "item", "collation", "preserve", "strip", "greatest", "least", "no-preserve", "inherit", "no-inherit",
    "ordered", "unordered", "at",
)  # fmt: skip


def _created(noun: str) -> Rule:
    return name_after(((STATEMENT, word("create")), GAP, (STATEMENT, word(noun))), DEFINED_AS[noun])


def _file_after(keyword: Token) -> Rule:
    """A keyword and the file that follows it, quoted or not."""
    return span(keyword, (("string.unquoted.file", FILE), "|", r"(?=[^\s(])"), "comment")


def _choice_after(option: str, *values: str) -> Rule:
    return span(
        ((OPTION, word(option)),),
        ((f"constant.language.{option}", word(*values)), "|", r"(?=[^\s(])"),
        "comment",
    )


STATEMENTS: dict[str, Rule] = {
    "statement": {
        "patterns": [
            *include(*(f"create-{noun}" for noun in CREATED.split("|"))),
            *include("create", "module", "import", "declare", "queue-option", "property-option", "slicing-option",
                     "collection-option", "rule-option"),
        ]
    },
    **{f"create-{noun}": _created(noun) for noun in CREATED.split("|")},
    "create": match(((STATEMENT, word("create")), rf"(?=\s*$|\s+{NCNAME})")),
    "module": name_after(((STATEMENT, word("module")), r"(?=\s+[\p{L}_]|\s*$)"), "entity.name.namespace.module"),
}  # fmt: skip

OPTIONS: dict[str, Rule] = {
    "queue-option": {
        "patterns": [
            *include("kind", "mode", "errorqueue", "file-option"),
            match(
                ((OPTION, word("priority")), r"(?:\s+", ("constant.numeric", r"[+\-]?\d+"), ")?"),
                (
                    (OPTION, word("using")),
                    GAP,
                    ("constant.language.feature", word("WS-ReliableMessaging", "WS-Security")),
                ),
            ),
            span(
                ((OPTION, word("port")),),
                (("variable.other.port", NCNAME), "|", NO_NAME),
                "comment",
            ),
        ]
    },
    "kind": _choice_after("kind", "basic", "incomingGateway", "outgoingGateway", "echo", "client"),
    "mode": _choice_after("mode", "persistent", "transient"),
    "errorqueue": name_after(((OPTION, word("errorqueue")),), "variable.other.queue"),
    "file-option": _file_after(((OPTION, word("schema", "interface", "policy")),)),
    "property-option": {
        "patterns": [
            match(
                (("storage.modifier", word("fixed", "inherited")),),
                (
                    ("keyword.other.clause", word("value")), GAP,
                    ("constant.language.boolean", word("true", "false")), r"(?!\s*\()",
                ),
            ),
            *include("queue-list"),
        ]
    },
    "queue-list": span(
        ((OPTION, word("queue")),),
        (("variable.other.queue", QNAME), r"(?!\s*,)", r"|(?=[^\s\p{L}_(,]|\((?!:))"),
        "comment", "listed-queue",
    ),
    "listed-queue": match(
        (("variable.other.queue", QNAME), r"(?=\s*,)"),
        (("punctuation.separator.sequence", ","),),
    ),
    "slicing-option": name_after(((OPTION, word("on")),), "variable.other.property"),
    "collection-option": match(((OPTION, word("from")), r"(?=\s*(?:[\"']|$))")),
    "rule-option": name_after(
        ((OPTION, word("for")), r"(?!\s*\$|\s+(?:tumbling|sliding)\s)"), "variable.other.queue"
    ),
}  # fmt: skip

PROLOGS: dict[str, Rule] = {
    "declare": span(
        ((PROLOG, word("declare")), r"(?=\s+[%\p{L}]|\s*$|\s*\(:)"),
        (
            (PROLOG, word("function")), rf"\s+(?!{word('namespace')})", ("entity.name.function", QNAME),
            "|", (PROLOG, word("variable")), GAP, ("punctuation.definition.variable", r"\$"), r"\s*",
            ("entity.name.variable", QNAME),
            "|", ENDS_PROLOG,
        ),
        "comment", "string", "annotation-with-values", "annotation", "prolog-words",
    ),
    "import": span(
        ((PROLOG, word("import")), GAP, (PROLOG, word("module", "schema"))),
        (ENDS_PROLOG,),
        "comment", "string", "prolog-words",
    ),
    "annotation-with-values": span(
        (
            ("punctuation.definition.annotation", "%"), r"\s*", ("storage.modifier.annotation", QNAME), r"\s*",
            ("punctuation.section.parens.begin", r"\((?!:)"),
        ),
        (("punctuation.section.parens.end", r"\)"),),
        "comment", "string", "simple-operand",
    ),
    "prolog-words": match(
        ((PROLOG, word("namespace")), GAP, ("entity.name.namespace", NCNAME), r"(?=\s*=)"),
        ((PROLOG, PROLOG_WORDS),),
        (("keyword.operator.assignment", "="),),
        (("support.other.option", QNAME),),
    ),
}  # fmt: skip

REPOSITORY: dict[str, Rule] = STATEMENTS | OPTIONS | PROLOGS
