"""The rebalances of each group: why, how long, in which phases, who held them, what they moved.

A rebalance lasts from the group's leaving Stable or Empty to its next Stable or Empty, or until its
coordinator gives the group up. The rows of a group are numbered once, by the rebalance they follow
(`course`) and by the phase they fall into (`turn`); everything else is told from these numbers.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from simulation.events import EventKind, WorldEventKind
from spark_bridge import columns as c
from spark_bridge.late_members import late_members
from spark_bridge.names import in_names, name_of, with_names
from spark_bridge.timeline import until_the_end
from spark_bridge.values import or_false, said
from spark_bridge.windows import all_of, before, in_order, so_far

_PREPARING, _COMPLETING, _DEAD = "PreparingRebalance", "CompletingRebalance", "Dead"
_CHANGED = EventKind.STATE_CHANGED.value
#: What may begin, turn or end a rebalance.
_LOADED, _REMOVED = EventKind.GROUP_LOADED.value, EventKind.GROUP_REMOVED.value
_MOVES = (_CHANGED, _LOADED, _REMOVED)
_ARRIVALS = (
    EventKind.MEMBER_ADDED.value,
    EventKind.MEMBER_REJOINED.value,
    EventKind.MEMBER_REPLACED.value,
)
_DEPARTURE = EventKind.MEMBER_REMOVED.value
_ELECTION = EventKind.LEADER_ELECTED.value
_EXTENSION = EventKind.JOIN_PHASE_EXTENDED.value
_JOINS_OVER = EventKind.JOIN_PHASE_ENDED.value
_ASSIGNMENT = WorldEventKind.PARTITION_ASSIGNED.value
_REQUEST = WorldEventKind.REQUEST_RECEIVED.value
#: Whatever the coordinator does is caused by one of these.
_TRIGGERS = (_REQUEST, WorldEventKind.TIMER_FIRED.value, WorldEventKind.WRITE_COMMITTED.value)
_CLIENT_REASON, _STILL_AWAITED = "; client reason: ", "; still awaited: "

_A_GROUP, _A_TURN = (c.RUN, c.GROUP), (c.RUN, c.GROUP, c.TURN)
_A_COURSE = (c.RUN, c.GROUP, c.COURSE)


def rebalances(events: DataFrame) -> DataFrame:
    """One row per rebalance of a group: cause, phases, who held it, what it moved.

    `seq` is the row in which the group left its rest. A rebalance that the run's end cut off is
    open: `ended_ms` and `ended_in` are null, its phases and `duration_ms` count up to the end, and
    `awaited` says whom it waits for.
    """
    courses = events.transform(_courses)
    return (
        courses.where(F.col(c.COURSE) > 0)
        .transform(_with_phases)
        .withColumn(c.HOLD, F.coalesce(_hold_of_joins(), _hold_of_given_up(), _hold_of_sync()))
        .groupBy(*_A_COURSE)
        .agg(*_told())
        # Not before: a map of names is a burden to each of the many rows.
        .transform(with_names, events)
        .join(courses.transform(_moved), on=list(_A_COURSE), how="left")
        .transform(_with_triggers, events)
        .join(F.broadcast(events.transform(late_members)), on=list(_A_GROUP), how="left")
        .select(*_shown())
    )


def rebalance_phases(rebalances: DataFrame) -> DataFrame:
    """One row per phase of a rebalance: the group's state, from when to when."""
    return rebalances.select(
        *(c.RUN, c.GROUP, c.SEQ), F.inline(c.PHASES).alias(c.STATE, c.STARTED_MS, c.ENDED_MS)
    )


def rebalance_ends(events: DataFrame) -> DataFrame:
    """One row per rebalance: the rows it began and ended with, or had come to at the end."""
    belongs = F.col(c.TURNS) | (F.col(c.KIND) == _JOINS_OVER)
    return (
        events.transform(_courses)
        .where(F.col(c.COURSE) > 0)
        .groupBy(*_A_COURSE)
        .agg(
            F.min(F.when(F.col(c.STARTS), F.col(c.SEQ))).alias(c.START_SEQ),
            F.max(F.when(belongs, F.col(c.SEQ))).alias(c.END_SEQ),
        )
        .drop(c.COURSE)
    )


def _courses(events: DataFrame) -> DataFrame:
    """The rows that rebalances are told from, with the numbers of their rebalance and phase."""
    kind = F.col(c.KIND)
    is_sync = (kind == _REQUEST) & (F.col(c.REQUEST) == "SyncGroup")
    kinds = (*_MOVES, *_ARRIVALS, _DEPARTURE, _ELECTION, _EXTENSION, _JOINS_OVER, _ASSIGNMENT)
    is_move = kind.isin(*_MOVES)
    is_moving = (kind == _CHANGED) & F.col(c.STATE).isin(_PREPARING, _COMPLETING)
    was_moving = F.last(F.when(is_move, is_moving), ignorenulls=True).over(before(*_A_GROUP))
    was_under_way = or_false(was_moving)
    leader = F.last(F.when(kind == _ELECTION, F.col(c.MEMBER)), ignorenulls=True)
    return (
        until_the_end(events)
        .where(kind.isin(*kinds) | is_sync)
        .withColumns(
            {
                c.IS_MOVING: is_moving,
                c.STARTS: is_moving & ~was_under_way,
                c.TURNS: is_moving | (is_move & was_under_way),
                c.LEADER: leader.over(so_far(*_A_GROUP)),
            }
        )
        .withColumns(
            {
                c.COURSE: F.sum(F.col(c.STARTS).cast("int")).over(so_far(*_A_GROUP)),
                c.TURN: F.sum(F.col(c.TURNS).cast("int")).over(so_far(*_A_GROUP)),
            }
        )
    )


def _with_phases(courses: DataFrame) -> DataFrame:
    """The rows with what opened their phase, who did something last in it, and what ended it."""
    kind = F.col(c.KIND)
    opened = F.struct(c.STATE, c.AT_MS, c.STARTS, c.LEADER)
    is_join = kind.isin(*_ARRIVALS)
    is_leave = (kind == _DEPARTURE) & F.col(c.DETAIL).startswith("it left")
    note = F.struct(
        c.MEMBER, F.when(is_join, "which joined last").otherwise("which left").alias(c.HELD_WHY)
    )
    is_awaited = (kind == _REQUEST) & (F.col(c.MEMBER) == F.col(c.OPENED)[c.LEADER])
    # A phase begins with a turn, and nobody has done anything in it then. Asked so, and not by
    # turn, it needs no other order of the rows than the group's.
    is_note = is_join | is_leave
    last_note = F.when(is_note | F.col(c.TURNS), F.struct(F.when(is_note, note).alias(c.VALUE)))
    return (
        courses.withColumns(
            {
                c.OPENED: F.last(F.when(F.col(c.TURNS), opened), ignorenulls=True).over(
                    so_far(*_A_GROUP)
                ),
                c.LAST_NOTE: F.last(last_note, ignorenulls=True).over(so_far(*_A_GROUP))[c.VALUE],
            }
        )
        .withColumn(c.SYNCED_MS, F.min(F.when(is_awaited, F.col(c.AT_MS))).over(all_of(*_A_TURN)))
        .withColumn(
            c.ENDING,
            F.lead(F.struct(c.SEQ, c.AT_MS, c.KIND, c.STATE, c.DETAIL)).over(
                in_order(*_A_COURSE, c.TURNS)
            ),
        )
    )


# --- who held it ---


def _hold(who: Column, why: Column, until_ms: Column, seq: Column) -> Column:
    """Whom a phase waited for last, and from when to when, from what is known at its end."""
    from_ms = F.col(c.OPENED)[c.AT_MS]
    return F.struct(
        (until_ms - from_ms).alias(c.DURATION_MS),
        # Of two that took as long, the first held it.
        (-seq).alias(c.SEQ),
        who.alias(c.WHO),
        why.alias(c.HELD_WHY),
        from_ms.alias(c.HELD_FROM_MS),
        until_ms.alias(c.HELD_UNTIL_MS),
    )


def _hold_of_joins() -> Column:
    """The wait for joins says itself, at its end, whom it waited for."""
    said = F.col(c.DETAIL)
    reason, awaited = _before(said, _STILL_AWAITED), _after(said, _STILL_AWAITED)
    is_pending, is_expired = reason.startswith("pending member "), reason.startswith("session of ")
    note = F.when(F.col(c.OPENED)[c.STATE] == _PREPARING, F.col(c.LAST_NOTE))
    is_noted = note.isNotNull() & reason.startswith("everyone")
    who = (
        F.when(is_pending, _one(F.regexp_replace(reason, " never came back$", "")))
        .when(is_expired, _one(F.regexp_replace(reason, "^session of | expired$", "")))
        .when(awaited != "", _one(awaited))
        .when(is_noted, _one(F.lit(""), note[c.MEMBER]))
        .otherwise(_one(F.lit("the initial delay")))
    )
    why = (
        F.when(is_pending, "which never came back")
        .when(is_expired, "whose session expired")
        .when(awaited != "", "awaited in vain")
        .when(is_noted, note[c.HELD_WHY])
        .otherwise("which gathers the first members")
    )
    hold = _hold(who, why, F.col(c.AT_MS), F.col(c.SEQ))
    waits_for_nobody = reason.startswith("everyone") & (awaited == "") & note.isNull()
    return F.when((F.col(c.KIND) == _JOINS_OVER) & ~waits_for_nobody, hold)


def _hold_of_sync() -> Column:
    """The phase of assignments waits for the leader, unless somebody ends it first."""
    ending = F.col(c.ENDING)
    until = F.concat(F.lit("until "), _before(ending[c.DETAIL], _CLIENT_REASON))
    why = F.when(ending[c.STATE] == _PREPARING, until).otherwise("which assigned")
    hold = _hold(_leader(), why, ending[c.AT_MS], ending[c.SEQ])
    is_sync = F.col(c.TURNS) & (F.col(c.STATE) == _COMPLETING) & F.col(c.IS_MOVING)
    return F.when(is_sync & ending.isNotNull(), hold)


def _hold_of_given_up() -> Column:
    """A phase that ends because its coordinator is gone."""
    ending = F.col(c.ENDING)
    is_gone = (ending[c.KIND] == _LOADED) | (ending[c.STATE] == _DEAD)
    is_joining = F.col(c.STATE) == _PREPARING
    what = F.when(is_joining, "the wait for joins").otherwise("the wait for the assignment")
    why = F.lit("until the coordinator was another")
    hold = _hold(_one(what), why, ending[c.AT_MS], ending[c.SEQ])
    return F.when(F.col(c.TURNS) & F.col(c.IS_MOVING) & or_false(is_gone), hold)


def _leader() -> Column:
    """Who led the group when the present phase began."""
    opened = F.col(c.OPENED)
    is_known = ~opened[c.STARTS] & opened[c.LEADER].isNotNull()
    leader = _one(F.lit("leader "), opened[c.LEADER])
    return F.when(is_known, leader).otherwise(_one(F.lit("the leader")))


def _one(text: Column, member: Column | None = None) -> Column:
    """Somebody as rows speak of them: a text with member ids in it, and a member behind it."""
    return F.struct(
        text.alias(c.DETAIL),
        (F.lit(None).cast("string") if member is None else member).alias(c.MEMBER),
    )


def _named(one: Column) -> Column:
    """The same by name."""
    name = F.when(one[c.MEMBER].isNotNull(), name_of(one[c.MEMBER])).otherwise("")
    return F.concat(in_names(one[c.DETAIL]), name)


# --- the whole of it ---


def _told() -> list[Column]:
    """What the rows of one rebalance come to."""
    starts, is_end = F.col(c.STARTS), F.col(c.TURNS) & ~F.col(c.IS_MOVING)
    is_phase, kind = F.col(c.TURNS) & F.col(c.IS_MOVING), F.col(c.KIND)
    says_deadline = starts | (kind == _EXTENSION) | (is_phase & (F.col(c.STATE) == _PREPARING))
    has_no_vote = or_false(starts | (F.col(c.STATE) == _PREPARING))
    cause = F.coalesce(F.col(c.DETAIL), F.lit(""))
    reason = _after(cause, _CLIENT_REASON)
    ended_ms = F.coalesce(F.col(c.ENDING)[c.AT_MS], F.col(c.UNTIL_MS))
    synced_ms = F.least(F.col(c.SYNCED_MS), ended_ms)  # null is left out
    is_join, is_sync = F.col(c.STATE) == _PREPARING, F.col(c.STATE) == _COMPLETING
    phase = F.struct(c.SEQ, c.STATE, F.col(c.AT_MS).alias(c.STARTED_MS), ended_ms.alias(c.ENDED_MS))
    members = F.when(starts | (kind == _CHANGED), F.coalesce(F.col(c.COUNT), F.lit(0)))
    return [
        _of(starts, F.col(c.SEQ)).alias(c.SEQ),
        _of(starts, F.col(c.CAUSE)).alias(c.CAUSE),
        _of(starts, _before(cause, _CLIENT_REASON)).alias(c.REASON),
        _of(starts, F.when(~reason.isin("", "not provided"), reason)).alias(c.CLIENT_REASON),
        _of(starts, F.col(c.AT_MS)).alias(c.STARTED_MS),
        _of(is_end, F.col(c.AT_MS)).alias(c.ENDED_MS),
        _of(is_end, F.coalesce(F.col(c.STATE), F.lit(_DEAD))).alias(c.ENDED_IN),
        F.max(c.UNTIL_MS).alias(c.UNTIL_MS),
        _of(F.col(c.TURNS), F.col(c.GENERATION)).alias(c.GENERATION),
        _of(F.col(c.TURNS), F.when(~has_no_vote, F.col(c.PROTOCOL))).alias(c.PROTOCOL),
        _of(starts | (is_end & (kind == _CHANGED)), members).alias(c.MEMBERS),
        F.transform(
            F.array_sort(F.collect_list(F.when(is_phase, phase))),
            lambda each: F.struct(each[c.STATE], each[c.STARTED_MS], each[c.ENDED_MS]),
        ).alias(c.PHASES),
        _sum(is_phase & is_join, ended_ms - F.col(c.AT_MS)).alias(c.AWAITING_JOINS_MS),
        _sum(is_phase & is_sync, synced_ms - F.col(c.AT_MS)).alias(c.AWAITING_LEADER_MS),
        _sum(is_phase & is_sync, ended_ms - synced_ms).alias(c.SYNCING_MS),
        F.max(c.HOLD).alias(c.HOLD),
        F.max_by(F.when(F.col(c.OPENED)[c.STATE] == _COMPLETING, _leader()), c.SEQ).alias(c.LEADER),
        _of(says_deadline, F.col(c.AT_MS) + F.col(c.DURATION_MS)).alias(c.DEADLINE_MS),
    ]


def _shown() -> list[Column]:
    hold = F.col(c.HOLD)
    duration_ms = F.coalesce(F.col(c.ENDED_MS), F.col(c.UNTIL_MS)) - F.col(c.STARTED_MS)
    phases = (c.PHASES, c.AWAITING_JOINS_MS, c.AWAITING_LEADER_MS, c.SYNCING_MS)
    return [
        *map(F.col, (c.RUN, c.GROUP, c.SEQ, c.TRIGGER)),
        in_names(F.col(c.REASON)).alias(c.REASON),
        *map(F.col, (c.CLIENT_REASON, c.STARTED_MS, c.ENDED_MS, c.ENDED_IN)),
        F.when(F.col(c.ENDED_IN).isNull(), _awaited()).alias(c.AWAITED),
        duration_ms.alias(c.DURATION_MS),
        *map(F.col, (c.GENERATION, c.PROTOCOL, c.MEMBERS, *phases)),
        _named(hold[c.WHO]).alias(c.HELD_BY),
        in_names(hold[c.HELD_WHY]).alias(c.HELD_WHY),
        *(hold[name].alias(name) for name in (c.HELD_FROM_MS, c.HELD_UNTIL_MS)),
        F.col(c.DEADLINE_MS),
        F.coalesce(F.col(c.MOVED), F.lit(0).cast("bigint")).alias(c.MOVED),
    ]


def _awaited() -> Column:
    """Whom a rebalance that goes on waits for, as far as rows tell."""
    late, pending = (F.array_join(c.LATE, ", "), F.array_join(c.PENDING, ", "))
    return (
        F.when(F.col(c.LEADER).isNotNull(), said(_named(F.col(c.LEADER)), " to assign"))
        .when(late != "", said(late, " to join"))
        .when(pending != "", said("pending ", pending, " to come back with the member id"))
        .otherwise("the initial delay, which gathers the first members")
    )


def _with_triggers(told: DataFrame, events: DataFrame) -> DataFrame:
    """The rebalances with what made the coordinator begin: a kind of request, or of timer."""
    kind, timer = F.col(c.KIND), F.concat(F.col(c.DETAIL), F.lit(" timer"))
    # Few of the many requests begin a rebalance; only these are put in order for the join.
    is_start = (kind == _CHANGED) & (F.col(c.STATE) == _PREPARING)
    causes = events.where(is_start).select(c.RUN, F.col(c.CAUSE).alias(c.SEQ)).distinct()
    triggers = (
        events.where(kind.isin(*_TRIGGERS))
        .join(F.broadcast(causes), on=[c.RUN, c.SEQ], how="left_semi")
        .select(
            c.RUN,
            F.col(c.SEQ).alias(c.CAUSE),
            F.coalesce(F.col(c.REQUEST), timer, kind).alias(c.TRIGGER),
        )
    )
    return told.join(triggers, on=[c.RUN, c.CAUSE], how="left")


def _moved(courses: DataFrame) -> DataFrame:
    """One row per rebalance that anything was assigned after: partitions that changed hands."""
    place = (c.RUN, c.GROUP, c.TOPIC, c.PARTITION)
    last_owner = F.lag(c.CLIENT).over(in_order(*place))
    by_place = (
        courses.where((F.col(c.KIND) == _ASSIGNMENT) & F.col(c.CLIENT).isNotNull())
        .withColumn(c.LAST_OWNER, last_owner)
        .groupBy(*place, c.COURSE)
        .agg(
            F.min_by(c.LAST_OWNER, F.when(F.col(c.LAST_OWNER).isNotNull(), F.col(c.SEQ))).alias(
                c.LAST_OWNER
            ),
            F.max_by(c.CLIENT, c.SEQ).alias(c.NEXT_OWNER),
        )
    )
    has_moved = F.col(c.LAST_OWNER) != F.col(c.NEXT_OWNER)
    return by_place.groupBy(*_A_COURSE).agg(F.count_if(has_moved).alias(c.MOVED))


def _of(condition: Column, value: Column) -> Column:
    """The value in the last row of a rebalance for which this is so."""
    return F.max_by(value, F.when(condition, F.col(c.SEQ)))


def _sum(condition: Column, value: Column) -> Column:
    return F.coalesce(F.sum(F.when(condition, value)), F.lit(0).cast("bigint"))


def _before(text: Column, mark: str) -> Column:
    return F.substring_index(text, mark, 1)


def _after(text: Column, mark: str) -> Column:
    """What follows the mark, if it is there."""
    return F.coalesce(F.get(F.split(text, mark, 2), 1), F.lit(""))
