"""`demaq init`"""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import click

from demaq.cli.output import fail


@click.command(epilog="Example: demaq init shop && demaq check shop")
@click.argument("folder", type=click.Path(file_okay=False))
def init(folder: str) -> None:
    """Make a small application in FOLDER, with comments that teach."""
    target = Path(folder)
    template = files("demaq.cli") / "template"
    names = [entry for entry in template.iterdir() if not entry.name.startswith("__")]
    taken = [entry.name for entry in names if (target / entry.name).exists()]
    if taken:
        fail(f"`{target}` already has {', '.join(sorted(taken))}: nothing was changed")
    try:
        target.mkdir(parents=True, exist_ok=True)
        for entry in names:
            _copy(entry, target / entry.name)
    except OSError as error:
        fail(f"cannot write into `{target}`: {error.strerror}")
    click.echo(f"made {', '.join(sorted(entry.name for entry in names))} in {target}")
    click.echo(f"next: demaq check {target}, then demaq explain {target}")


def _copy(entry: Traversable, target: Path) -> None:
    if entry.is_dir():
        target.mkdir(exist_ok=True)
        for inner in entry.iterdir():
            _copy(inner, target / inner.name)
    else:
        target.write_bytes(entry.read_bytes())
