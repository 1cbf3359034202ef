"""Texts made wrong by chance, as people and attackers do it."""

import re
from collections.abc import Callable, Sequence
from random import Random

Mutation = Callable[[Random, str, Sequence[str]], str]

_PIECE = re.compile(r"""[\w.:$-]+ | \s+ | "[^"]*" | '[^']*' | \(: | :\) | </? | /?> | . """, re.VERBOSE | re.DOTALL)
_TOKENS = tuple(
    "for let return if then else do enqueue reset raise event into with value key create queue rule slicing property"
    " collection declare function variable namespace element attribute map array typeswitch switch case default some"
    " every satisfies try catch order by group where count in as at := = != < > << >> <= >= ( ) [ ] { } , ; : :: . .."
    " / // @ * + - | || ! => ? $ $x # % & ` ``[ ]`` `{ }` (: :) (# #) <!-- --> <? ?> <![CDATA[ ]]> <a> </a> <a/> ' \""
    " '' \"\" 0 1 1.5 1e3 div mod to and or eq is instance of treat cast castable union xs:string() item() text()"
    " Q{} Q{u}a p:a *:a a:* &amp; &lt; &#10; &#x0; &x; module errorqueue kind mode fixed inherited on from".split()
)
_HOSTILE = (
    "\x00",
    "\x01",
    "\x7f",
    "\u0085",
    "\u00a0",
    "\u200b",
    "\u202e",
    "\u2028",
    "\ufeff",
    "\ufffe",
    "\uffff",
    "\ud800",
    "\udfff",
    "\U0001f600",
    "e\u0301",
    "\u0663",
    "\r",
    "\r\n",
    "\x0b",
    "\x0c",
    "\x1b[31m",
    "9" * 400,
    "1e" + "9" * 30,
    "0" * 5000 + "1",
    "&#" + "9" * 50 + ";",
    "&#x" + "F" * 50 + ";",
    "a" * 3000,
    "%s%n{0}",
    "\\",
    "../../../../etc/passwd",
)
_NESTING = (
    "(",
    "[",
    "{",
    "<a>",
    "-",
    "if (1) then ",
    "not(",
    "(:",
    "a[",
    "<a b='{",
    "``[`{",
    "map{1:",
    "/",
    "//",
    "f(",
)


def mutate(random: Random, text: str, others: Sequence[str]) -> str:
    """The text with one to three things wrong with it."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        text = random.choice(MUTATIONS)(random, text, others)
    return text


def mutate_tokens(random: Random, text: str, others: Sequence[str]) -> str:
    """The text with one token deleted, doubled, moved, replaced or added: often still a query."""
    return random.choice(_OF_TOKENS)(random, text, others)


def _pieces(text: str) -> list[str]:
    return _PIECE.findall(text) or [""]


def delete_token(random: Random, text: str, others: Sequence[str]) -> str:  # noqa: ARG001 (one signature for all)
    pieces = _pieces(text)
    del pieces[random.randrange(len(pieces))]
    return "".join(pieces)


def double_token(random: Random, text: str, others: Sequence[str]) -> str:  # noqa: ARG001
    pieces = _pieces(text)
    place = random.randrange(len(pieces))
    return "".join([*pieces[: place + 1], random.choice(("", " ")), *pieces[place:]])


def swap_tokens(random: Random, text: str, others: Sequence[str]) -> str:  # noqa: ARG001
    pieces = _pieces(text)
    one, other = random.randrange(len(pieces)), random.randrange(len(pieces))
    pieces[one], pieces[other] = pieces[other], pieces[one]
    return "".join(pieces)


def replace_token(random: Random, text: str, others: Sequence[str]) -> str:  # noqa: ARG001
    pieces = _pieces(text)
    pieces[random.randrange(len(pieces))] = random.choice(_TOKENS)
    return "".join(pieces)


def insert_token(random: Random, text: str, others: Sequence[str]) -> str:  # noqa: ARG001
    pieces = _pieces(text)
    pieces.insert(random.randrange(len(pieces) + 1), f"{random.choice(_TOKENS)}{random.choice(('', ' '))}")
    return "".join(pieces)


def delete_characters(random: Random, text: str, others: Sequence[str]) -> str:  # noqa: ARG001
    start = random.randrange(len(text) + 1)
    return text[:start] + text[start + random.choice((1, 1, 1, 2, 5, 50)) :]


def insert_characters(random: Random, text: str, others: Sequence[str]) -> str:  # noqa: ARG001
    place = random.randrange(len(text) + 1)
    return text[:place] + random.choice("(){}[]<>\"'`$&;:,./@*#%!?=|+-0aZ_ \t\n") + text[place:]


def insert_hostile(random: Random, text: str, others: Sequence[str]) -> str:  # noqa: ARG001
    place = random.randrange(len(text) + 1)
    return text[:place] + random.choice(_HOSTILE) + text[place:]


def nest(random: Random, text: str, others: Sequence[str]) -> str:  # noqa: ARG001
    place = random.randrange(len(text) + 1)
    return text[:place] + random.choice(_NESTING) * random.choice((2, 30, 310, 2000)) + text[place:]


def shuffle_lines(random: Random, text: str, others: Sequence[str]) -> str:  # noqa: ARG001
    lines = text.splitlines(keepends=True) or [""]
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    form = random.choice(("delete", "double", "swap"))
    if form == "delete":
        del lines[one]
    elif form == "double":
        lines.insert(other, lines[one])
    else:
        lines[one], lines[other] = lines[other], lines[one]
    return "".join(lines)


def splice(random: Random, text: str, others: Sequence[str]) -> str:
    other = random.choice(others)
    start, end = sorted(random.randrange(len(other) + 1) for _ in range(2))
    place = random.randrange(len(text) + 1)
    return text[:place] + other[start : min(end, start + 400)] + text[place + random.choice((0, 0, 10, 100)) :]


def truncate(random: Random, text: str, others: Sequence[str]) -> str:  # noqa: ARG001
    place = random.randrange(len(text) + 1)
    return text[:place] if random.random() < 0.7 else text[place:]


def unbalance(random: Random, text: str, others: Sequence[str]) -> str:  # noqa: ARG001
    """Take away or double one bracket, quote or tag."""
    places = [match.start() for match in re.finditer(r"[(){}\[\]<>\"'`]", text)]
    if not places:
        return text + "("
    place = random.choice(places)
    return text[:place] + random.choice(("", text[place] * 2)) + text[place + 1 :]


_OF_TOKENS: tuple[Mutation, ...] = (delete_token, double_token, swap_tokens, replace_token, insert_token)
MUTATIONS: tuple[Mutation, ...] = (
    *_OF_TOKENS,
    delete_characters,
    insert_characters,
    insert_hostile,
    nest,
    shuffle_lines,
    splice,
    truncate,
    unbalance,
)
