"""The command line: one file a command, each of which parses arguments, calls the rest of Demaq, and prints."""

import click

from demaq._version import __version__
from demaq.cli.check import check
from demaq.cli.completion import completion
from demaq.cli.deploy import deploy
from demaq.cli.errors import errors
from demaq.cli.explain import explain
from demaq.cli.init import init
from demaq.cli.messages import messages
from demaq.cli.pipeline import pipeline
from demaq.cli.run import run
from demaq.cli.send import send
from demaq.cli.slices import slices
from demaq.cli.sql import sql
from demaq.cli.status import status
from demaq.cli.test import test
from demaq.cli.timers import timers
from demaq.cli.trace import trace
from demaq.cli.upkeep import compact, migrate

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
      demaq run shop          run it
    """


_COMMANDS = (
    *(check, explain, test, init),
    *(run, send, deploy),
    *(messages, slices, timers, errors, trace, status, sql),
    *(pipeline, migrate, compact, completion),
)
for _command in _COMMANDS:
    main.add_command(_command)
