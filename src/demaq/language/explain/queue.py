"""The plan of a queue or a slicing, in words: how its rules are evaluated together."""

from collections.abc import Iterable, Iterator, Sequence

from demaq.diagnostics import Paint, plain
from demaq.language.analysis.condition import ALWAYS, NEVER
from demaq.language.explain.functions import Apart, Function, Shared, functions
from demaq.language.explain.lines import headed, listed
from demaq.language.explain.names import Names, names_of
from demaq.language.program import Program, Rule
from demaq.language.rewrite.shareable import Use
from demaq.language.rewrite.sharing import MOST_RULES
from demaq.model import Queue, Slicing

FETCHED = "fetched together for up to 1,000 messages of a batch"  # as the evaluator does
_VALUES = {Use.ITEMS: "{}", Use.TRUTH: "boolean({})", Use.DATA: "data({})"}
_REASONS = {
    Apart.MODULE: "of another module",
    Apart.SLICING: "with another slicing",
    Apart.NUMBER: f"a function has at most {MOST_RULES} rules",
}


def queue_plan(of: Queue | Slicing, program: Program, paint: Paint = plain) -> str:
    """The rules that run for messages of a queue, or of a slicing; what they look up; and their functions."""
    names = names_of(program)
    rules, every = rules_and_functions(of, program)
    blocks = [
        "\n".join(_function(function, number, len(every), of, names, paint)) for number, function in enumerate(every, 1)
    ]
    rows: list[tuple[str, list[str]]] = [
        ("rules", [names(text) for text in _rules(rules, of, names)] or ["none runs for its messages"]),
        ("index", [names(text) for text in _lookups(rules)]),
        ("documents", [names(_documents(program))]),
    ]
    meanings = names.meanings()  # when it is known which were used
    rows.append(("prefixes", [meanings] if meanings else []))
    return "\n\n".join([names(_heading(of, program, paint)), "\n".join(headed(rows, paint)), *blocks])


def rules_and_functions(of: Queue | Slicing, program: Program) -> tuple[Sequence[Rule], Sequence[Function]]:
    """Those that concern messages of a queue, or that have rules on a slicing."""
    if isinstance(of, Queue):
        return program.rules_for(of.name), functions(program, [of.name])
    rules = [rule for rule in program.rules if rule.slicing is not None and rule.target == of.name]
    return rules, [function for function in functions(program, of.queues) if function.slicing == of.name]


def lookups(rules: Iterable[Rule]) -> dict[tuple[str, str], list[str]]:
    """The queues that rules read by index and the paths of the indexes, with the rules that do."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for rule in rules:
        for read in rule.reads.queues:
            if read.queue is not None and read.path is not None:
                found.setdefault((read.queue, read.path), {})[rule.name] = None
    return {index: list(readers) for index, readers in found.items()}


def shown(shared: Shared) -> str:
    """An expression as XQuery, with what of its value counts."""
    return _VALUES[shared.use].format(shared.expression)


def _heading(of: Queue | Slicing, program: Program, paint: Paint) -> str:
    if isinstance(of, Slicing):
        return paint(f"slicing {of.name}", "bold") + paint(f"  by {of.property}, of {', '.join(of.queues)}", "frame")
    slicings = ", ".join(slicing.name for slicing in program.slicings_of(of.name))
    facts = f"  {of.kind.value}, {of.mode.value}" + (f", in slices of {slicings}" if slicings else "")
    return paint(f"queue {of.name}", "bold") + paint(facts, "frame")


def _rules(rules: Sequence[Rule], of: Queue | Slicing, names: Names) -> Iterator[str]:
    width = max((len(names(rule.name)) for rule in rules), default=0)
    for rule in rules:
        where = f"on {rule.target}, " if rule.target != of.name else ""
        yield f"{names(rule.name).ljust(width)}  {where}{_skip(rule)}"


def _skip(rule: Rule) -> str:
    if rule.skip == ALWAYS:
        return "never skipped"
    return "always skipped" if rule.skip == NEVER else f"skipped unless the message has {rule.skip.describe()}"


def _lookups(rules: Iterable[Rule]) -> Iterator[str]:
    for (queue, path), readers in lookups(rules).items():
        yield f"{path} of the queue {queue}, for {listed(readers)}: {FETCHED}"


def _documents(program: Program) -> str:
    telling = program.telling_origin
    if telling:
        return f"every message is parsed, since {listed(telling)} may tell documents that were built from parsed ones"
    return "of messages that rules build, kept by the worker that evaluated the rule, and not parsed there"


def _function(
    function: Function, number: int, count: int, of: Queue | Slicing, names: Names, paint: Paint
) -> Iterator[str]:
    yield paint(f"function {number} of {count}", "bold") + names(f"  {', '.join(function.rules)}")
    rows = (
        ("messages", [_messages(function, of)]),
        ("once", [_once(shared) for shared in function.once]),
        ("apart", _apart(function)),
    )
    yield ""
    yield from headed(((heading, map(names, texts)) for heading, texts in rows), paint)
    if len(function.rules) > 1:
        yield f"\n{paint('XQuery', 'hint')}\n\n{function.text}"


def _messages(function: Function, of: Queue | Slicing) -> str:
    where = "" if isinstance(of, Queue) else f"in {listed(function.queues)}, "
    if function.roots is None:
        return f"{where}with any root element"
    roots = listed([f"`{root}`" for root in function.roots], "or")
    others = "" if len(function.rules) == 1 else "; for others without the rules that are skipped"
    return f"{where}with root element {roots}{others}"


def _once(shared: Shared) -> str:
    if len(shared.rules) == 1:
        return f"{shown(shared)}, which may be needed several times in {shared.rules[0]}"
    return f"{shown(shared)}, in {listed(shared.rules)}"


def _apart(function: Function) -> Iterator[str]:
    for reason, text in _REASONS.items():
        rules = [rule for rule, why in function.apart if why is reason]
        if rules:
            yield f"{listed(rules)}: {text}"
