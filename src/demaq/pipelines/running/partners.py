"""Messages that found no partner, where messages of several channels meet: see `program.Relation.channels`."""

from collections.abc import Iterator, Mapping

from demaq.pipelines.program import Program
from demaq.pipelines.running.report import Unmet


def unmet(program: Program, numbers: Mapping[str, int]) -> list[Unmet]:
    """Where channels meet, given how many messages they have, as far as that is known."""
    meeting = [relation.channels for relation in program.relations.values()]
    meeting += [sink.channels for sink in program.sinks]
    known = (channels for channels in meeting if all(channel in numbers for channel in channels))
    return list(dict.fromkeys(found for channels in known for found in _left(channels, numbers)))


def _left(channels: tuple[str, ...], numbers: Mapping[str, int]) -> Iterator[Unmet]:
    """As many messages meet as the channel has that has the fewest."""
    least = min((numbers[channel] for channel in channels), default=0)
    fewest = tuple(channel for channel in channels if numbers[channel] == least)
    for channel in channels:
        if numbers[channel] > least:
            yield Unmet(channel, fewest, numbers[channel] - least)
