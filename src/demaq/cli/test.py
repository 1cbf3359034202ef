"""`demaq test`"""

import sys
import time
from pathlib import Path

import click

from demaq.cli.output import FINDINGS, count, fail, paint, print_json
from demaq.cli.programs import checked_plan
from demaq.cli.stores import errors_told, json_option
from demaq.testing import Result, run_scenario, scenarios_of
from demaq.testing.scenario import FOLDER


@click.command(
    epilog="Example: demaq test examples/procurement\n\n"
    "Exit status: 0 if all scenarios pass, 1 if some fail, 2 if there are none."
)
@click.argument("app", type=click.Path())
@click.option("-k", "pattern", metavar="TEXT", default="", help="Only scenarios with this in their name.")
@json_option
def test(app: str, pattern: str, as_json: bool) -> None:
    """Run the scenarios of the application APP: the files in its folder `scenarios`."""
    checked_plan(app)
    with errors_told():
        found = scenarios_of(Path(app))
        chosen = [scenario for scenario in found if pattern.lower() in scenario.name.lower()]
        if not chosen:
            why = (
                f"no scenario has `{pattern}` in its name" if found else f"there are no files {FOLDER}/*.xml beside it"
            )
            fail(f"there is nothing to test in {app}: {why}")
        results = []
        for scenario in chosen:
            began = time.perf_counter()
            results.append(run_scenario(Path(app), scenario))
            if not as_json:
                _print(results[-1], time.perf_counter() - began)
    failed = [result for result in results if not result.passed]
    if as_json:
        print_json([_to_json(result) for result in results])
    else:
        total = f"{count(len(results), 'scenario')}: {len(results) - len(failed)} passed"
        click.echo(f"\n{total}{f', {len(failed)} failed' if failed else ''}")
    sys.exit(FINDINGS if failed else 0)


def _print(result: Result, seconds: float) -> None:
    mark = click.style("✓", fg="green") if result.passed else paint("✗", "error")
    click.echo(f"{mark} {result.scenario.name}  ({count(result.processed, 'message')}, {seconds:.2f} s)")
    for problem in result.problems:
        click.echo(f"  {result.scenario.file}:{problem.line}: " + problem.message.replace("\n", "\n    "))


def _to_json(result: Result) -> dict[str, object]:
    return {
        "name": result.scenario.name,
        "file": str(result.scenario.file),
        "passed": result.passed,
        "problems": [{"line": problem.line, "message": problem.message} for problem in result.problems],
    }
