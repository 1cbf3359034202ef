"""Tries bad input on every endpoint of a node, and looks whether it refuses that well.

    PYTHONPATH=tests python tests/fuzz/campaign.py --minutes 10
    PYTHONPATH=tests python tests/fuzz/campaign.py --minutes 2 --groups soap mail

Each group of endpoints is tried for so long, on a node in a process of its own: the REST API by Schemathesis, by what
its OpenAPI document says; gateways with XML, JSON, envelopes of SOAP, WS-ReliableMessaging and WS-Security, mail and
files that are made wrong; and new versions with archives that are. At the end, nothing was answered with a failure of
the node or refused without a reason, no traceback was written, the node has not grown, and what was accepted is in the
store once.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from fuzz.groups import NAMES, Report, tried  # noqa: E402  # found there


def table(reports: Sequence[Report]) -> str:
    rows = [("group", "requests", "slowest", "memory before", "after", "answers")]
    for report in reports:
        tally = report.tally
        answers = ", ".join(f"{status}: {number:,}" for status, number in sorted(tally.statuses.items()))
        figures = (f"{tally.requests:,}", f"{tally.slowest:.2f} s", str(report.before), str(report.after))
        rows.append((report.group, *figures, answers))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="for each group (default: 10)")
    parser.add_argument("--groups", nargs="+", choices=NAMES, default=NAMES, help="all, unless some are named")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    reports = []
    with tempfile.TemporaryDirectory(prefix="demaq-fuzz-") as folder:
        for group in options.groups:
            print(f"{time.strftime('%H:%M:%S')} {group}, for {options.minutes:g} minutes", flush=True)
            report = tried(group, Path(folder) / group, options.minutes * 60, options.seed)
            found = "; ".join(report.problems[:1]) or "nothing wrong"
            print(f"{time.strftime('%H:%M:%S')} {group}: {report.tally.requests:,} requests, {found[:200]}", flush=True)
            reports.append(report)
    print(table(reports))
    problems = [f"{report.group}: {problem}" for report in reports for problem in report.problems]
    print("\n".join(problem[:3000] for problem in problems[:10]) or "nothing wrong")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
