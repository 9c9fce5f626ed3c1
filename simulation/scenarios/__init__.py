"""Scenarios: who is there, what happens to them, how long, and what is expected of it.

Read scenario.py, then parts.py, actions.py and script.py for what a file can say. documents.py and
structuring.py read it, checking.py holds it against itself, playing.py lets it happen.
"""

from simulation.scenarios.actions import (
    Autoscale,
    Change,
    Crash,
    Pause,
    Raw,
    Restart,
    Resume,
    RollingRestart,
    Scale,
    Start,
    Stop,
)
from simulation.scenarios.disturbances import (
    AddPartitions,
    Append,
    CrashBroker,
    CreateTopic,
    DeleteTopic,
    FailAppend,
    HealAppend,
    Hold,
    MoveCoordinator,
    Normal,
    Partition,
    Produce,
    Release,
    Repair,
    ResetConnections,
    RestartBroker,
    Slow,
    SlowAppend,
    Truncate,
)
from simulation.scenarios.expectations import ExpectationResult
from simulation.scenarios.limits import Limits
from simulation.scenarios.mistakes import Mistake, ScenarioError
from simulation.scenarios.overrides import parse_override
from simulation.scenarios.parts import (
    App,
    Burst,
    Cluster,
    Group,
    Members,
    RateFrom,
    SlowRecord,
    StallAt,
    Topic,
)
from simulation.scenarios.playing import Progress, TooManyEvents, play
from simulation.scenarios.results import RunResult
from simulation.scenarios.scenario import Scenario, validate
from simulation.scenarios.script import Entry, On, at, on

__all__ = [
    "AddPartitions",
    "App",
    "Append",
    "Autoscale",
    "Burst",
    "Change",
    "Cluster",
    "Crash",
    "CrashBroker",
    "CreateTopic",
    "DeleteTopic",
    "Entry",
    "ExpectationResult",
    "FailAppend",
    "Group",
    "HealAppend",
    "Hold",
    "Limits",
    "Members",
    "Mistake",
    "MoveCoordinator",
    "Normal",
    "On",
    "Partition",
    "Pause",
    "Produce",
    "Progress",
    "RateFrom",
    "Raw",
    "Release",
    "Repair",
    "ResetConnections",
    "Restart",
    "RestartBroker",
    "Resume",
    "RollingRestart",
    "RunResult",
    "Scale",
    "Scenario",
    "ScenarioError",
    "Slow",
    "SlowAppend",
    "SlowRecord",
    "StallAt",
    "Start",
    "Stop",
    "TooManyEvents",
    "Topic",
    "Truncate",
    "at",
    "on",
    "parse_override",
    "play",
    "validate",
]
