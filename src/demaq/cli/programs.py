"""Applications that are to run: checked first, with everything that is wrong shown."""

import sys

from demaq.cli.output import FINDINGS, checked, print_report
from demaq.diagnostics import Severity
from demaq.engine.plan import Plan, plan_of
from demaq.language import Checked


def checked_plan(app: str) -> Plan:
    """The plan of an application without errors. Warnings are for `demaq check`."""
    return plan_of(checked_application(app))


def checked_application(app: str) -> Checked:
    result = checked(app)
    if result.program is None:
        print_report(result.report, err=True)
        sys.exit(FINDINGS)
    assert not result.report.count(Severity.ERROR)
    return result
