"""The head of `@aggregate`: a strategy, and when an aggregate is complete. That of `@split` is empty."""

from dataclasses import dataclass
from datetime import timedelta

from demaq.diagnostics import Report, did_you_mean
from demaq.pipelines import codes
from demaq.pipelines import tree as t
from demaq.pipelines.positions import Positions
from demaq.pipelines.vocabulary import COMPLETION, COMPLETION_SIZE, COMPLETION_TIME, COMPLETIONS, Strategy

_STRATEGIES = {strategy.value: strategy for strategy in Strategy}
_LARGEST = 2**31 - 1
_USAGE = {
    COMPLETION_TIME: "is a number of seconds above 0: `completionTime=3`",
    COMPLETION_SIZE: "is a number of messages from 1 on: `completionSize=5`",
    COMPLETION: "is a relation: `completion=lastEvent`",
}


@dataclass(slots=True)
class Completion:
    """How messages are aggregated: see `program.Aggregation`."""

    strategy: Strategy = Strategy.UNION
    time: timedelta | None = None
    size: int | None = None
    when: str | None = None


def completion(annotation: t.Aggregate, positions: Positions, report: Report) -> Completion:
    """What the head says. What is wrong with it is reported, and left out."""
    found = Completion()
    given: set[str] = set()
    for option in annotation.options:
        name = option.name.text
        if name in given:
            report.say(codes.OPTION_VALUE, option.span, f"`{name}` is given twice", help="give it once")
        elif name in COMPLETIONS:
            _take(option, found, positions, report)
        elif option.value is not None:
            report.say(
                codes.UNKNOWN_OPTION,
                option.name.span,
                f"there is no option `{name}`",
                help=did_you_mean(name, COMPLETIONS, "options of `@aggregate`"),
            )
        else:
            _strategy(option, found, report, is_second=not given.isdisjoint(_STRATEGIES))
        given.add(name)
    if given.isdisjoint(COMPLETIONS) and not _has_unknown(annotation):
        report.say(
            codes.COMPLETION_MISSING,
            annotation.name.span,
            "this `@aggregate` does not say when it is complete",
            help="write `completionSize=5`, `completionTime=3` (seconds) or `completion=rel` after the strategy",
        )
    return found


def refuse_options(annotation: t.Split, report: Report) -> None:
    for option in annotation.options:
        report.say(
            codes.UNKNOWN_OPTION,
            option.span,
            "`@split` has no options",
            help="what it splits by stands in its queries: `@split() { ?-rel(x, _). }`",
        )


def _has_unknown(annotation: t.Aggregate) -> bool:
    """A misspelt option is said; that it is missing is not said as well."""
    return any(option.value is not None for option in annotation.options)


def _strategy(option: t.Option, found: Completion, report: Report, *, is_second: bool) -> None:
    name = option.name.text
    if name not in _STRATEGIES:
        report.say(
            codes.UNKNOWN_STRATEGY,
            option.name.span,
            f"there is no strategy `{name}`",
            help=did_you_mean(name, _STRATEGIES, "strategies"),
        )
    elif is_second:
        report.say(codes.OPTION_VALUE, option.span, "there are two strategies", help="an aggregation has one strategy")
    else:
        found.strategy = _STRATEGIES[name]


def _take(option: t.Option, found: Completion, positions: Positions, report: Report) -> None:
    name, value = option.name.text, option.value
    if name == COMPLETION and isinstance(value, t.Name):
        found.when = value.text if positions.is_known(value) else None
        return
    number = value.value if isinstance(value, t.Literal) and value.type.is_number else None
    seconds = float(number) if number is not None else 0.0  # type: ignore[arg-type]  # of a number's type
    if name == COMPLETION_TIME and 0 < seconds <= _LARGEST:
        found.time = timedelta(seconds=seconds)
    elif name == COMPLETION_SIZE and isinstance(number, int) and 1 <= number <= _LARGEST:
        found.size = number
    else:
        report.say(codes.OPTION_VALUE, option.span, f"`{name}` {_USAGE[name]}", help="give it such a value")
