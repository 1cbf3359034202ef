"""Pipelines in Demaq against what people would use instead: the same files in, the same facts out, one run.

    .venv/bin/python -m bench.pipelines [--short] [--facts 1000,10000,100000,1000000] [--only …] [--tasks …]

The tasks are patterns of integration, over messages with one fact each and over one message with all facts, and the
soccer scenario. All contenders are started, and do each task with a few facts, before times are taken. They take turns;
of several times, the median counts. A time is printed only if the facts are those that plain Python writes.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.pipelines.catalogue import CONTENDERS, PYTHON
from bench.pipelines.contender import Contender
from bench.pipelines.measure import Measured, Run
from bench.pipelines.tables import report
from bench.pipelines.tasks import TASKS, Task


def main() -> None:
    options = _options()
    tasks = [task for task in TASKS if not options.tasks or task.key in options.tasks]
    contenders = [each for each in CONTENDERS if not options.only or each.key in {*options.only, PYTHON}]
    contenders = [contender for contender in contenders if _is_possible(contender)]
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        run = Run(contenders, Path(folder), options.limit, options.repeat)
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
        with run.started():
            for task in tasks:
                run.measure(task, options.facts)
    print(report(tasks, options.facts, contenders, run.measured))
    if options.json is not None:
        options.json.write_text(json.dumps(_data(tasks, options.facts, run.measured), indent=2) + "\n")
    sys.exit(1 if run.measured.failures else 0)


def _options() -> argparse.Namespace:
    keys, tasks = [contender.key for contender in CONTENDERS], [task.key for task in TASKS]
    parser = argparse.ArgumentParser(
        description="Measure pipelines against what people would use instead.",
        epilog=f"Contenders: {', '.join(keys)}. Tasks: {', '.join(tasks)}.",
    )
    parser.add_argument("--short", action="store_true", help="as --facts 1000 --repeat 1, for a first look")
    parser.add_argument("--facts", type=_numbers, default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--repeat", type=int, help="how often each is measured; if not given, what is small more often")
    parser.add_argument("--limit", type=float, default=600, help="seconds after which none goes on with more facts")
    parser.add_argument("--only", type=_words, default=[], help="such contenders, beside Python")
    parser.add_argument("--tasks", type=_words, default=[], help="such tasks")
    parser.add_argument("--folder", type=Path, help="where files are made, if not where temporary ones are")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write down what was measured")
    options = parser.parse_args()
    if options.short:
        options.facts, options.repeat = [1_000], 1
    unknown = sorted({*options.only, *options.tasks} - {*keys, *tasks})
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}: there are {', '.join((*keys, *tasks))}")
    if min(options.facts) < 1_000 or (options.repeat is not None and options.repeat < 1):
        parser.error("--facts are 1000 or more, and --repeat 1 or more")
    return options


def _numbers(text: str) -> list[int]:
    return sorted(int(number) for number in text.split(","))


def _words(text: str) -> list[str]:
    return text.split(",")


def _is_possible(contender: Contender) -> bool:
    if contender.missing is not None:
        print(f"left out: {contender.name}, which needs: {contender.missing}", file=sys.stderr)
    return contender.missing is None


def _data(tasks: Sequence[Task], sizes: Sequence[int], measured: Measured) -> dict[str, object]:
    return {
        "starts": measured.starts,
        "tasks": {task.key: {str(facts): dict(measured.of(task, facts)) for facts in sizes} for task in tasks},
        "notes": measured.notes,
        "failures": measured.failures,
    }


if __name__ == "__main__":
    main()
