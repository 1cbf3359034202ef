"""Testing applications: scenarios with a clock that they move, and a fixture for pytest."""

from demaq.testing.compare import difference, matches
from demaq.testing.runner import Problem, Result, pass_time, run_scenario
from demaq.testing.scenario import Expect, Scenario, ScenarioInvalid, Send, Wait, read_scenarios, scenarios_of

__all__ = [
    "Expect",
    "Problem",
    "Result",
    "Scenario",
    "ScenarioInvalid",
    "Send",
    "Wait",
    "difference",
    "matches",
    "pass_time",
    "read_scenarios",
    "run_scenario",
    "scenarios_of",
]
