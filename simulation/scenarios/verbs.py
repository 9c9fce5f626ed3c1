"""Every verb of a script, as a file spells it."""

from __future__ import annotations

from collections.abc import Mapping

from simulation.scenarios import actions, disturbances
from simulation.scenarios.actions import Action

#: Every verb of a script, as a file spells it.
ACTIONS: Mapping[str, type[Action]] = {
    "start": actions.Start,
    "stop": actions.Stop,
    "crash": actions.Crash,
    "restart": actions.Restart,
    "pause": actions.Pause,
    "resume": actions.Resume,
    "rolling_restart": actions.RollingRestart,
    "scale": actions.Scale,
    "change": actions.Change,
    "autoscale": actions.Autoscale,
    "partition": disturbances.Partition,
    "repair": disturbances.Repair,
    "hold": disturbances.Hold,
    "release": disturbances.Release,
    "slow": disturbances.Slow,
    "normal": disturbances.Normal,
    "reset_connections": disturbances.ResetConnections,
    "move_coordinator": disturbances.MoveCoordinator,
    "crash_broker": disturbances.CrashBroker,
    "restart_broker": disturbances.RestartBroker,
    "fail_append": disturbances.FailAppend,
    "slow_append": disturbances.SlowAppend,
    "heal_append": disturbances.HealAppend,
    "create_topic": disturbances.CreateTopic,
    "delete_topic": disturbances.DeleteTopic,
    "add_partitions": disturbances.AddPartitions,
    "produce": disturbances.Produce,
    "append": disturbances.Append,
    "truncate": disturbances.Truncate,
    "raw": actions.Raw,
}

#: The verbs that `for` can take back.
TAKEN_BACK: frozenset[str] = frozenset(
    {
        *("crash", "stop", "pause", "partition", "hold", "slow"),
        *("fail_append", "slow_append", "crash_broker", "produce"),
    }
)
