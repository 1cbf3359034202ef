"""Applications that are to run: checked first, with everything that is wrong shown."""

import os
import sys
from dataclasses import replace

from demaq.cli.output import FINDINGS, checked, print_report
from demaq.diagnostics import Severity
from demaq.engine.plan import Plan, plan_of
from demaq.language import Checked
from demaq.model import EdgeSettings

_TOKEN = "DEMAQ_TOKEN"


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


def edge_settings(app: str, host: str | None, port: int | None) -> EdgeSettings:
    """How a node is connected: by demaq.toml, by the environment, and by what the command says, which goes before."""
    edge = checked_application(app).application.configuration.edge
    server = edge.server
    return replace(
        edge,
        server=replace(
            server,
            host=server.host if host is None else host,
            port=server.port if port is None else port,
            token=os.environ.get(_TOKEN) or server.token,
        ),
    )
