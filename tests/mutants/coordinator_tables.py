"""Planted faults in the coordinator's tables: a wrong row must be noticed like a wrong line."""

from __future__ import annotations

from tests.mutants.faults import Fault

TABLE_FAULTS: tuple[Fault, ...] = (
    Fault(
        file="coordinator/states.py",
        line="STABLE:               (Rejoin.REBALANCE, Rejoin.CURRENT_GENERATION),",
        faulty="STABLE:               (Rejoin.PARK, Rejoin.CURRENT_GENERATION),",
        says="A leader that rejoins a Stable group is parked without a rebalance.",
    ),
    Fault(
        file="coordinator/states.py",
        line="COMPLETING_REBALANCE: Rejoin.REBALANCE,",
        faulty="COMPLETING_REBALANCE: Rejoin.PARK,",
        says="A change of protocols between join and sync starts no rebalance.",
    ),
    Fault(
        file="coordinator/states.py",
        line="STABLE:               Rejoin.REBALANCE,",
        faulty="STABLE:               Rejoin.PARK,",
        says="A change of protocols in a Stable group starts no rebalance.",
    ),
    Fault(
        file="coordinator/states.py",
        line="DEAD:                 Rejoin.COORDINATOR_NOT_AVAILABLE,",
        faulty="DEAD:                 Rejoin.UNKNOWN_MEMBER_ID,",
        says="A Dead group tells a member that it is unknown.",
    ),
    Fault(
        file="coordinator/states.py",
        line="DEAD:                 SyncAnswer.COORDINATOR_NOT_AVAILABLE,",
        faulty="DEAD:                 SyncAnswer.UNKNOWN_MEMBER_ID,",
        says="A Dead group tells a syncing member that it is unknown.",
    ),
    Fault(
        file="coordinator/states.py",
        line="EMPTY:                SyncAnswer.UNKNOWN_MEMBER_ID,",
        faulty="EMPTY:                SyncAnswer.REBALANCE_IN_PROGRESS,",
        says="An Empty group tells a syncing member to rejoin.",
    ),
)
