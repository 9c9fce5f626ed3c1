"""`Timeline`: every table of some runs, under one roof, for notebooks, SQL and the command.

    timeline = Timeline.read(spark, "runs/")
    timeline.rebalances().show()

The events are laid out by run once and kept, so that the tables share them. What each table's row
is, its method says; docs/spark.md shows them in SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from attrs import field, frozen
from pyspark.sql import DataFrame, SparkSession

from spark_bridge import schemas
from spark_bridge.commits import commits, commits_refused
from spark_bridge.coordinators import coordinator_moves
from spark_bridge.coverage import odd_ranges
from spark_bridge.critical_path import critical_paths
from spark_bridge.deaths import detections
from spark_bridge.deliveries import delivery_rows, duplicates_among, losses_among
from spark_bridge.errors import UnknownTable
from spark_bridge.generations import generations
from spark_bridge.heartbeats import heartbeats
from spark_bridge.ingest import LeftOut, find_runs, read_events, read_runs
from spark_bridge.lag import greatest_lags, lag_over_time
from spark_bridge.layout import laid_out, partitions_for
from spark_bridge.ownership import ownership_clocks, ownership_gaps, ownership_intervals
from spark_bridge.rebalances import rebalance_phases, rebalances
from spark_bridge.requests import request_latency
from spark_bridge.sessions import member_sessions
from spark_bridge.timeline import state_intervals
from spark_bridge.violations import violations

__all__ = ["TABLES", "Timeline"]

# fmt: off

#: Every table by its name, which is also the method's and the view's: what one row of it is.
TABLES: Mapping[str, str] = {
    "runs":              "a run: scenario, variant, seed, settings, whether it held",
    "events":            "an event, as docs/events.md has it",
    "states":            "a stay of a group in a state",
    "sessions":          "a stretch in which a group counted on a member, and why it ended",
    "generations":       "a generation of a group: leader, protocol, who voted for what, members",
    "rebalances":        "a rebalance: cause, phases, who held it, what it moved",
    "phases":            "a phase of a rebalance",
    "critical_paths":    "a step of a rebalance's critical path: what it waited for, how long",
    "ownership":         "a stretch in which a member owned a partition, and what ended it",
    "gaps":              "a stretch in which nobody owned a partition",
    "unowned":           "a partition: how long it was nobody's, and how long two's",
    "requests":          "a kind of request and its answer: how many, how long",
    "heartbeats":        "a member: its heartbeats, its expiries, and how near it came to them",
    "commits":           "a member: how its commits fared, and how far they were behind its work",
    "commits_refused":   "a member and an error: how many commits were refused with it",
    "lag":               "a look at a partition: position, log end, lag in records and time",
    "greatest_lag":      "a partition: how far behind it was at worst",
    "duplicates":        "a partition and a cause: records processed again",
    "losses":            "a partition and a cause: records committed past and never processed",
    "deaths":            "a death of a member, and when its group was without it",
    "coordinator_moves": "a move of a partition of the offsets topic to another broker",
    "violations":        "a row that shows what must never be, beside the row it contradicts",
}

# fmt: on


@frozen(eq=False)
class Timeline:
    """The tables of some runs, each computed when it is asked for."""

    _events: DataFrame
    _runs: DataFrame
    #: What was at the path and is no complete run.
    left_out: tuple[LeftOut, ...] = ()
    _kept: dict[str, DataFrame] = field(factory=dict, init=False)

    @classmethod
    def read(cls, spark: SparkSession, path: str | Path) -> Self:
        """The runs at a path: a run directory, a folder with some in it, or a glob."""
        found = find_runs(path)
        partitions = partitions_for(
            events=sum(run.run_file.outcome.get("events") or 0 for run in found.runs),
            runs=len(found.runs),
            usual=int(spark.conf.get("spark.sql.shuffle.partitions") or 1),
        )
        events = read_events(spark, found).transform(laid_out, partitions)
        return cls(events, read_runs(spark, found), found.left_out)

    def table(self, name: str) -> DataFrame:
        """The table of this name, one of `TABLES`."""
        if name not in TABLES:
            raise UnknownTable(f"there is no table {name!r}, only {', '.join(TABLES)}")
        found: DataFrame = getattr(self, name)()
        return found

    def create_views(self, *names: str) -> None:
        """Make these tables temporary views of their names, for SQL; all of them unless told."""
        for name in names or TABLES:
            self.table(name).createOrReplaceTempView(name)

    def _keep(self, name: str, table: Callable[[DataFrame], DataFrame]) -> DataFrame:
        """A table that others are made of too: it is computed once, when it is first needed."""
        if name not in self._kept:
            self._kept[name] = self._events.transform(table).cache()
        return self._kept[name]

    def forget(self) -> None:
        """Give back the memory in which the events and what the tables share are kept."""
        for frame in (*self._kept.values(), self._events):
            frame.unpersist()
        self._kept.clear()

    def runs(self) -> DataFrame:
        """One row per run: what was played, with which seed and settings, and what held."""
        return self._runs

    def events(self) -> DataFrame:
        """One row per event, in the columns of docs/events.md."""
        return self._events.select(*schemas.EVENTS.names)

    def states(self) -> DataFrame:
        """One row per stay of a group in a state."""
        return self._events.transform(state_intervals)

    def sessions(self) -> DataFrame:
        """One row per stretch in which a group counted on a member, and why it ended."""
        return self._keep("sessions", member_sessions)

    def generations(self) -> DataFrame:
        """One row per generation of a group: its leader, its protocol, who voted for what."""
        return self._events.transform(generations)

    def rebalances(self) -> DataFrame:
        """One row per rebalance of a group: cause, phases, who held it, what it moved."""
        return self._keep("rebalances", rebalances)

    def phases(self) -> DataFrame:
        """One row per phase of a rebalance: the group's state, from when to when."""
        return self.rebalances().transform(rebalance_phases)

    def critical_paths(self) -> DataFrame:
        """One row per step of a rebalance's critical path: what it waited for, and how long."""
        return self._events.transform(critical_paths)

    def ownership(self) -> DataFrame:
        """One row per stretch in which a member owned a partition, and what ended it."""
        return self._keep("ownership", ownership_intervals)

    def gaps(self) -> DataFrame:
        """One row per stretch in which nobody owned a partition that had had an owner before."""
        return self.ownership().transform(ownership_gaps)

    def unowned(self) -> DataFrame:
        """One row per partition that was ever owned: how long it was nobody's, how long two's."""
        return self._events.transform(ownership_clocks)

    def requests(self) -> DataFrame:
        """One row per group, kind of request and error: how many there were, how long they took."""
        return self._events.transform(request_latency)

    def heartbeats(self) -> DataFrame:
        """One row per member: its heartbeats, its expiries, and how silent it was at worst."""
        return self._events.transform(heartbeats)

    def commits(self) -> DataFrame:
        """One row per member: how its commits fared, and how far they were behind its work."""
        return self._events.transform(commits)

    def commits_refused(self) -> DataFrame:
        """One row per member and error: how many of its commits were not accepted."""
        return self._events.transform(commits_refused)

    def lag(self) -> DataFrame:
        """One row per look at a partition: where its reader stood, and how far behind that was."""
        return self._keep("lag", lag_over_time)

    def greatest_lag(self) -> DataFrame:
        """One row per partition that a group ever read: how far behind it was at worst."""
        return self.lag().transform(greatest_lags)

    def duplicates(self) -> DataFrame:
        """One row per partition and cause: how many records were processed again because of it."""
        return self._deliveries().transform(duplicates_among, self._odd_ranges())

    def losses(self) -> DataFrame:
        """One row per partition and cause: records that nobody processed, though committed past."""
        return self._deliveries().transform(losses_among, self._odd_ranges(), self._events)

    def _deliveries(self) -> DataFrame:
        return self._keep("deliveries", delivery_rows)

    def _odd_ranges(self) -> DataFrame:
        return self._keep("odd_ranges", lambda _: self._deliveries().transform(odd_ranges))

    def deaths(self) -> DataFrame:
        """One row per death of a member: when, and when its group was without it (null: never)."""
        return self._events.transform(detections)

    def coordinator_moves(self) -> DataFrame:
        """One row per move of a partition of the offsets topic: to which broker, loaded when."""
        return self._events.transform(coordinator_moves)

    def violations(self) -> DataFrame:
        """One row per row of a run that shows what must never be, beside the row it contradicts."""
        return self._events.transform(violations)
