"""Tables in text."""

from collections.abc import Iterable, Sequence

import click

from demaq.cli.output import paint


def print_table(heading: Sequence[str], rows: Iterable[Sequence[object]], right: Iterable[int] = ()) -> None:
    """Columns as wide as they need be; those in `right` are numbers."""
    texts = [[str(cell) for cell in row] for row in rows]
    numbers = set(right)
    widths = [max(len(row[column]) for row in (list(heading), *texts)) for column in range(len(heading))]

    def line(cells: Sequence[str]) -> str:
        aligned = (
            cell.rjust(widths[column]) if column in numbers else cell.ljust(widths[column])
            for column, cell in enumerate(cells)
        )
        return "  ".join(aligned).rstrip()

    click.echo(paint(line(list(heading)), "bold"))
    for row in texts:
        click.echo(line(row))
