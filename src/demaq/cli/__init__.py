"""The command line: one file a command, each of which parses arguments, calls the rest of Demaq, and prints."""

import click

from demaq._version import __version__
from demaq.cli.lazy import LazyGroup

__all__ = ["main"]

_COMMANDS = (
    *("check", "explain", "test", "init"),
    *("run", "send", "deploy"),
    *("messages", "slices", "timers", "errors", "trace", "status", "sql"),
    *("pipeline", "migrate", "compact", "completion"),
)
_MODULES = {"migrate": "upkeep", "compact": "upkeep"}  # where the module is not called like the command


@click.group(
    cls=LazyGroup,
    commands_in={name: f"demaq.cli.{_MODULES.get(name, name)}" for name in _COMMANDS},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="demaq")
def main() -> None:
    """Declarative messaging and queuing: applications as queues, slices and rules.

    \b
    Start here:
      demaq init shop         make a small application in the folder shop
      demaq check shop        check it
      demaq explain shop      see how its messages flow
      demaq run shop          run it
    """
