"""Comments, strings and direct constructors: what holds text rather than expressions."""

from grammar.lexis import NCNAME, QNAME, Rule, Token, include, match, span

TAG = "punctuation.definition.tag"
STRING = "punctuation.definition.string"


def _quoted(quote: str, kind: str, *patterns: str) -> Rule:
    return span(
        ((f"{STRING}.begin", quote),),
        ((f"{STRING}.end", f"{quote}(?!{quote})"),),
        f"doubled-{kind}",
        "entity",
        *patterns,
        name=f"string.quoted.{kind}",
    )


def _enclosed(begin: str, end: str) -> Rule:
    """An expression in the midst of text."""
    return span(
        (("punctuation.section.embedded.begin", begin),),
        (("punctuation.section.embedded.end", end),),
        "first-operand",
        "expression",
        name="meta.embedded.expression",
    )


def _escape(regex: str) -> Token:
    return (("constant.character.escape", regex),)


COMMENTS: dict[str, Rule] = {
    "comment": span(
        (("punctuation.definition.comment.begin", r"\(:"),),
        (("punctuation.definition.comment.end", r":\)"),),
        "comment",
        name="comment.block",
    ),
    "pragma": span(
        (("punctuation.definition.pragma.begin", r"\(#"), r"\s*", ("keyword.other.pragma", QNAME)),
        (("punctuation.definition.pragma.end", r"#\)"),),
        name="meta.pragma",
    ),
}

STRINGS: dict[str, Rule] = {
    "string": {"patterns": include("string-double", "string-single")},
    "string-double": _quoted('"', "double"),
    "string-single": _quoted("'", "single"),
    "doubled-double": match(_escape('""')),
    "doubled-single": match(_escape("''")),
    "entity": match(
        (("constant.character.entity", r"&(?:lt|gt|amp|quot|apos|#\d+|#x[0-9A-Fa-f]+);"),),
        (("invalid.illegal.bare-ampersand", "&"),),
    ),
    "string-constructor": span(
        ((f"{STRING}.begin", r"``\["),),
        ((f"{STRING}.end", r"\]``"),),
        "string-interpolation",
        name="string.interpolated",
    ),
    "string-interpolation": _enclosed(r"`\{", r"\}`"),
}

# The name and the rest of an element are two nested spans, so that its `>`s can be told apart:
# element is `<` … `>` (or `/>`), in it element-inside is NAME … `</NAME`, in that element-content is `>` … .
CONSTRUCTORS: dict[str, Rule] = {
    "constructor": {"patterns": include("element", "xml-comment", "processing-instruction")},
    "element": span(
        ((f"{TAG}.begin", r"<(?=[\p{L}_])"),),
        ((f"{TAG}.end", "/?>"),),
        "element-inside",
        name="meta.element",
    ),
    "element-inside": span(
        (("entity.name.tag", QNAME),),
        ("(?=/>)|", (f"{TAG}.begin", "</"), r"\s*(?:", ("entity.name.tag", QNAME), ")?"),
        "attribute-name",
        "attribute-double",
        "attribute-single",
        "element-content",
    ),
    "element-content": span(
        ((f"{TAG}.end", ">"),),
        ("(?=</)",),
        "cdata",
        "constructor",
        "escaped-brace",
        "enclosed",
        "stray-brace",
        "entity",
        content="meta.content",
    ),
    "attribute-name": match((("entity.other.attribute-name", QNAME),), (("punctuation.separator.key-value", "="),)),
    "attribute-double": _quoted('"', "double", "escaped-brace", "enclosed", "stray-brace"),
    "attribute-single": _quoted("'", "single", "escaped-brace", "enclosed", "stray-brace"),
    "escaped-brace": match(_escape(r"\{\{|\}\}")),
    "enclosed": _enclosed(r"\{", r"\}"),
    "stray-brace": match((("invalid.illegal.stray-brace", r"\}"),)),
    "cdata": span(
        (("punctuation.definition.cdata.begin", r"<!\[CDATA\["),),
        (("punctuation.definition.cdata.end", r"\]\]>"),),
        name="string.unquoted.cdata",
    ),
    "xml-comment": span(
        (("punctuation.definition.comment.begin", "<!--"),),
        (("punctuation.definition.comment.end", "-->"),),
        name="comment.block.xml",
    ),
    "processing-instruction": span(
        ((f"{TAG}.begin", r"<\?"), ("entity.name.tag", NCNAME)),
        ((f"{TAG}.end", r"\?>"),),
        name="meta.processing-instruction",
    ),
}

REPOSITORY: dict[str, Rule] = COMMENTS | STRINGS | CONSTRUCTORS
