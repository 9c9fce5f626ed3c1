"""Which rows tell that a member has joined the generation to come."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from simulation.events import EventKind
from spark_bridge import columns as c

_COMING = (EventKind.MEMBER_ADDED.value, EventKind.MEMBER_REJOINED.value)
_BACK = EventKind.MEMBER_REPLACED.value
_REBALANCING = ("PreparingRebalance", "CompletingRebalance")
#: The kinds among which those rows are.
JOIN_KINDS = (*_COMING, _BACK)


def is_join() -> Column:
    """Whether a member came, came again, or came back, being static, while its group rebalances.

    A static member that comes back to a group that is Stable is handed its old assignment and joins
    nothing (KIP-345). Where its return changes the vote it does join; that is not told apart here.
    """
    is_return = (F.col(c.KIND) == _BACK) & F.col(c.STATE).isin(*_REBALANCING)
    return F.col(c.KIND).isin(*_COMING) | F.coalesce(is_return, F.lit(False))  # noqa: FBT003
