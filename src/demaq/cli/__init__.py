"""The command line: one file a command, each of which parses arguments, calls the rest of Demaq, and prints."""

import click

from demaq._version import __version__
from demaq.cli.check import check
from demaq.cli.completion import completion
from demaq.cli.explain import explain
from demaq.cli.init import init

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="demaq")
def main() -> None:
    """Declarative messaging and queuing: applications as queues, slices and rules.

    \b
    Start here:
      demaq init shop         make a small application in the folder shop
      demaq check shop        check it
      demaq explain shop      see how its messages flow
    """


for _command in (check, explain, init, completion):
    main.add_command(_command)
