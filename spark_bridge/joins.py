"""Which rows tell that a member has joined the generation to come."""

from simulation.events import EventKind

#: A static member that is back joins nothing by that: it may be handed its old assignment.
JOINS = (EventKind.MEMBER_ADDED.value, EventKind.MEMBER_REJOINED.value)
