"""Partition assignors: who of a group gets which partitions, decided as Kafka decides it.

`new_assignor("sticky")` makes a consumer's own instance; `custom.FunctionAssignor` turns a function
into one, and `register_assignor` makes it known by name. Read `interface.py` for the values that
go in and come out, then the module named after an assignor.
"""

from client.assignors.custom import FunctionAssignor
from client.assignors.interface import (
    Assignment,
    AssignmentError,
    Assignor,
    Cluster,
    ConsumerGroupMetadata,
    GroupAssignment,
    GroupSubscription,
    RebalanceProtocol,
    Subscription,
    TopicPartition,
)
from client.assignors.registry import (
    AssignorFactory,
    assignor_names,
    new_assignor,
    register_assignor,
)

__all__ = [
    "Assignment",
    "AssignmentError",
    "Assignor",
    "AssignorFactory",
    "Cluster",
    "ConsumerGroupMetadata",
    "FunctionAssignor",
    "GroupAssignment",
    "GroupSubscription",
    "RebalanceProtocol",
    "Subscription",
    "TopicPartition",
    "assignor_names",
    "new_assignor",
    "register_assignor",
]
