"""`demaq completion`"""

import click
from click.shell_completion import get_completion_class


@click.command(
    epilog="Examples:\n\n"
    "\b\n"
    '  eval "$(demaq completion bash)"                                    in ~/.bashrc\n'
    '  eval "$(demaq completion zsh)"                                     in ~/.zshrc\n'
    "  demaq completion fish > ~/.config/fish/completions/demaq.fish      for fish"
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes demaq's commands in SHELL."""
    kind = get_completion_class(shell)
    assert kind is not None  # click has one for each of the choices
    root = context.find_root().command
    click.echo(kind(root, {}, "demaq", "_DEMAQ_COMPLETE").source())
