"""The words of the language, and how a rule of a TextMate grammar is put together from them."""

from typing import Any

Rule = dict[str, Any]
Part = str | tuple[str, str]  # plain regex, or (scope, regex)
Token = tuple[Part, ...]

NCNAME = r"[\p{L}_][\p{L}\p{M}\p{N}_.\-]*"
QNAME = rf"(?>Q\{{[^{{}}]*\}}{NCNAME}|{NCNAME}(?::{NCNAME})?)"  # atomic: half a name is no name
WILDCARD = rf"(?:Q\{{[^{{}}]*\}}\*|{NCNAME}:\*|\*:{NCNAME}|\*)"
NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+\-]?\d+)?(?![\p{L}_])"
FILE = r"[\p{L}\p{N}_][\p{L}\p{N}_.\-/]*"
WORD_END = r"(?![\p{L}\p{M}\p{N}_.\-]|:[\p{L}_*])"
GAP = r"\s+"
CALL = r"(?=\s*\((?!:)|#\d)"  # an argument list or an arity follows; a comment does not make a call

CREATED = "queue|property|slicing|collection|pipeline|rule"


def word(*words: str) -> str:
    """Any of the words, whole: `for` is not the start of `for-each`."""
    return rf"(?:{'|'.join(words)}){WORD_END}"


def one_of(*tokens: Token) -> tuple[str, Rule]:
    """One regular expression for all tokens, and the captures that give their scoped parts a scope.

    >>> one_of((("a", "x+"), " ", ("b", "y")), (("c", "z"),))
    ('(x+) (y)|(z)', {'1': {'name': 'a.demaq'}, '2': {'name': 'b.demaq'}, '3': {'name': 'c.demaq'}})
    """
    captures: Rule = {}
    alternatives = []
    for token in tokens:
        regex = ""
        for part in token:
            if isinstance(part, str):
                regex += part
            else:
                scope, scoped = part
                captures[str(len(captures) + 1)] = {"name": scope + ".demaq"}
                regex += f"({scoped})"
        alternatives.append(regex)
    return "|".join(alternatives), captures


def match(*tokens: Token) -> Rule:
    regex, captures = one_of(*tokens)
    return {"match": regex, "captures": captures}


def span(begin: Token, end: Token, *patterns: str, name: str | None = None, content: str | None = None) -> Rule:
    """Everything from one token to another, with what may stand between; patterns name repository entries."""
    begin_regex, begin_captures = one_of(begin)
    end_regex, end_captures = one_of(end)
    rule: Rule = {
        "begin": begin_regex,
        "beginCaptures": begin_captures,
        "end": end_regex,
        "endCaptures": end_captures,
    }
    if name:
        rule["name"] = name + ".demaq"
    if content:
        rule["contentName"] = content + ".demaq"
    return rule | {"patterns": include(*patterns)}


def include(*names: str) -> list[Rule]:
    return [{"include": f"#{name}"} for name in names]
