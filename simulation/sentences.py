"""Rows in words: one clause for each kind of event, for whoever tells a run to people.

Nothing here knows of terminals or pages. `Names` puts consumers' names where rows have member ids;
`clause_of` tells one row, or several that differ in their partitions only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from attrs import define, field

from simulation.events import EventKind, Kind, Row, WorldEventKind

__all__ = [
    "Names",
    "clause_of",
    "counted",
    "in_column",
    "in_time",
    "lasting",
    "listed",
    "worth_saying",
]

_WORD = re.compile(r"[^\s,;:]+")
_CLIENT_REASON = "; client reason: "
#: What a client says of itself when it has nothing to say.
_NO_REASONS = ("not provided", "need to re-join with the given member-id")
#: More partitions than this are counted, not listed.
_LISTED_MAX = 6
_SECOND_MS, _MINUTE_MS, _HOUR_MS = 1_000, 60_000, 3_600_000
#: Nobody reads so long a time in seconds.
_LONG_MS = 10 * _HOUR_MS
#: The states of a group that has chosen its assignor.
_VOTED = ("CompletingRebalance", "Stable")
#: How a consumer closes unless it is told otherwise: a dynamic member leaves, a static one stays.
_USUAL_CLOSE = "DEFAULT"


@define(eq=False)
class Names:
    """The consumers behind member ids, as rows tell."""

    _clients: dict[str, str] = field(factory=dict)

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Names:
        """All names of a run."""
        names = cls()
        for row in rows:
            names.learn(row)
        return names

    def learn(self, row: Row) -> None:
        """A row that has both says who is who."""
        if row.member is not None and row.client is not None:
            self._clients.setdefault(row.member, row.client)

    def of_member(self, row: Row) -> str:
        """Whom a row is about: the consumer's name, or else the member id."""
        return row.client or self._clients.get(row.member or "", row.member or "somebody")

    def into(self, text: str) -> str:
        """The text with consumers' names in it."""
        return _WORD.sub(lambda word: self._clients.get(word[0], word[0]), text)


def in_time(ms: int) -> str:
    """A point in time: "12.1 s", "1,102.009 s"; of a long run "62 h 5 m 0.003 s"."""
    whole, _, rest = in_column(ms).removesuffix(" s").rpartition(".")
    return f"{whole}.{rest.rstrip('0') or '0'} s"


def in_column(ms: int) -> str:
    """A point in time above and below others, point under point: "12.100 s"."""
    hours, rest_ms = divmod(ms, _HOUR_MS)
    minutes, rest_ms = divmod(rest_ms, _MINUTE_MS) if hours else (0, rest_ms)
    seconds = f"{rest_ms / _SECOND_MS:,.3f} s"
    return f"{hours} h {minutes} m {seconds}" if hours else seconds


def lasting(ms: int) -> str:
    """A length of time: "44.9 s", "14 ms", "62.0 h"."""
    if ms >= _LONG_MS:
        return f"{ms / _HOUR_MS:,.1f} h"
    return f"{ms / _SECOND_MS:,.1f} s" if ms >= _SECOND_MS else f"{ms} ms"


def counted(count: int, noun: str) -> str:
    """So many of them: "1 member", "3 members", "1,200 records"."""
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s"


def worth_saying(reason: str | None) -> str:
    """What a client said of itself, if it is not what every client says."""
    return "" if reason is None or reason.startswith(_NO_REASONS) else reason.rstrip(".")


def listed(words: Sequence[str]) -> str:
    """Words as a person lists them: "ada", "ada and bea", "ada, bea and cat"."""
    if len(words) < 2:  # noqa: PLR2004 - nothing to join
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


# fmt: off

#: What each kind of row says; the words in braces are those of `_words_of`.
CLAUSES: Mapping[Kind, str] = {
    WorldEventKind.RUN_STARTED:         "the run begins{because}",
    WorldEventKind.RUN_ENDED:           "the run ends",
    WorldEventKind.TOPIC_CREATED:       "topic {topic} is created with {partitions}{keeping}",
    WorldEventKind.PARTITIONS_ADDED:    "topic {topic} has {partitions} from now on",
    WorldEventKind.TOPIC_DELETED:       "topic {topic} is deleted",
    WorldEventKind.LOG_RATE_CHANGED:    "{place} ends at {offset}, grows by {count} in {lasting}",
    WorldEventKind.LOG_START_MOVED:     "{place} has nothing before {offset} any more{because}",
    WorldEventKind.CONSUMER_STARTED:    "{client} starts",
    WorldEventKind.CONSUMER_STOPPING:   "{client} is asked to close{how}",
    WorldEventKind.CONSUMER_STOPPED:    "{client} has stopped{failing}",
    WorldEventKind.CONSUMER_CRASHED:    "{client} crashes",
    WorldEventKind.CONSUMER_PAUSED:     "{client} stands still",
    WorldEventKind.CONSUMER_RESUMED:    "{client} goes on",
    WorldEventKind.FAULT_STARTED:       "a fault begins{because}",
    WorldEventKind.FAULT_HEALED:        "a fault is healed{because}",
    WorldEventKind.LINK_CHANGED:        "messages between {client} and broker {broker} take "
                                        "{detail} from now on",
    WorldEventKind.BROKER_CRASHED:      "broker {broker} crashes",
    WorldEventKind.BROKER_RESTARTED:    "broker {broker} is back",
    WorldEventKind.COORDINATOR_MOVED:   "broker {broker} leads {place} from now on{because}",
    WorldEventKind.CONNECTION_OPENED:   "{client} connects to broker {broker}",
    WorldEventKind.CONNECTION_FAILED:   "{client} cannot connect to broker {broker}{because}",
    WorldEventKind.CONNECTION_CLOSED:   "{client} closes its connection to broker "
                                        "{broker}{because}",
    WorldEventKind.CONNECTION_RESET:    "a connection of {client} to broker {broker} "
                                        "breaks{because}",
    WorldEventKind.REQUEST_SENT:        "{client} sends {request} to broker {broker}",
    WorldEventKind.REQUEST_RECEIVED:    "broker {broker} handles {request} of {client}",
    WorldEventKind.REQUEST_LOST:        "{request} of {client} is lost{because}",
    WorldEventKind.REPLY_SENT:          "broker {broker} answers {request} of {client}{failing}",
    WorldEventKind.REPLY_RECEIVED:      "{client} hears the answer to its {request}{failing}",
    WorldEventKind.REPLY_LOST:          "the answer to {request} of {client} finds nobody",
    WorldEventKind.HEARTBEATS_ANSWERED: "{beats} of {client} in {lasting} found no news",
    WorldEventKind.COMMITS_REPEATED:    "{commits} of {client} in {lasting} repeated the last",
    WorldEventKind.TIMER_FIRED:         "the {detail} timer{of_client} fires, {lasting} after it "
                                        "was set",
    WorldEventKind.WRITE_COMMITTED:     "the log of broker {broker} has {more_records}",
    WorldEventKind.PARTITION_ASSIGNED:  "{client} takes {place} over",
    WorldEventKind.PARTITION_REVOKED:   "{client} gives {place} up",
    WorldEventKind.PARTITION_LOST:      "{client} loses {place}{because}",
    WorldEventKind.POSITION_SET:        "{client} reads {place} from {offset} on{because}",
    WorldEventKind.FETCH_STARTED:       "{client} begins to fetch {place} at {offset}",
    WorldEventKind.RECORDS_RETURNED:    "{client} is handed {records} of {place}",
    WorldEventKind.RECORDS_PROCESSED:   "{client} has processed {records} of {place} in {lasting}",
    WorldEventKind.OFFSET_GIVEN:        "{client} commits {offset} of {place} by hand",
    WorldEventKind.COMMIT_ACKNOWLEDGED: "{client} hears that {offset} of {place} is committed",
    WorldEventKind.COMMIT_FAILED:       "{client} fails to commit {offset} of {place}{failing}",

    EventKind.GROUP_CREATED:       "the group comes into being",
    EventKind.GROUP_REMOVED:       "the group is gone{because}",
    EventKind.GROUP_LOADED:        "the group is rebuilt from the log: {state}, generation "
                                   "{generation}, {members}",
    EventKind.STATE_CHANGED:       "the group is {state} in generation {generation}, with "
                                   "{members}{by_protocol}{because}",
    EventKind.MEMBER_ID_GIVEN:     "{client} is told its member id and is to come back",
    EventKind.MEMBER_ADDED:        "{client} is a member now",
    EventKind.MEMBER_REJOINED:     "{client} rejoins",
    EventKind.MEMBER_REPLACED:     "{client} is back under a new member id",
    EventKind.MEMBER_REMOVED:      "{client} is out of the group{because}",
    EventKind.LEADER_ELECTED:      "{client} leads the group{because}",
    EventKind.JOIN_PHASE_EXTENDED: "the wait for joins goes on{because}",
    EventKind.JOIN_PHASE_ENDED:    "the wait for joins is over{because}",
    EventKind.PROTOCOL_SELECTED:   "the members vote for {protocol}{because}",
    EventKind.ASSIGNMENT_STORED:   "the assignment of leader {client} is in the log",
    EventKind.OFFSET_COMMITTED:    "{client} commits {offset} of {place}",
    EventKind.COMMIT_REFUSED:      "a commit of {client} is refused{failing}",
    EventKind.OFFSET_REMOVED:      "the committed offset of {place} is forgotten{because}",
    EventKind.WRITE_FAILED:        "the log refuses a write{failing}",
    EventKind.SHARD_LOADING:       "broker {broker} begins to load {place}",
    EventKind.SHARD_LOADED:        "broker {broker} coordinates {groups} of {place}",
    EventKind.SHARD_UNLOADED:      "broker {broker} gives {place} up",
    EventKind.INTERNAL_FAULT:      "Kafka's coordinator would fail here{because}",
}

# fmt: on

_BY_WORD = {kind.value: clause for kind, clause in CLAUSES.items()}


def clause_of(names: Names, row: Row, *alike: Row) -> str:
    """What a row says, with the places of those that are like it but for their partition."""
    clause = _BY_WORD.get(row.kind)
    if clause is None:
        return row.kind.replace("_", " ")
    return clause.format_map(_words_of(names, row, alike))


def _words_of(names: Names, row: Row, alike: Sequence[Row]) -> dict[str, object]:
    detail, _, reason = names.into(row.detail or "").partition(_CLIENT_REASON)
    if worth_saying(reason):
        detail = f"{detail} ({reason})"
    is_failing = row.error not in (None, "NONE")
    has_client = row.client is not None or row.member is not None
    rows, ms = (row, *alike), row.duration_ms
    return {
        "topic": row.topic,
        "count": row.count,
        "members": counted(row.count or 0, "member"),
        "partitions": counted(row.count or 0, "partition"),
        "groups": counted(row.count or 0, "group"),
        "more_records": counted(row.count or 0, "more record"),
        "protocol": row.protocol,
        "by_protocol": f", by {row.protocol}" if row.protocol and row.state in _VOTED else "",
        "how": "" if detail in ("", _USUAL_CLOSE) else f": {detail}",
        "beats": counted(row.count or 0, "heartbeat"),
        "commits": counted(row.count or 0, "commit"),
        "place": _places(rows),
        "offset": row.offset if not alike else "its place in each",
        "records": _records(rows),
        "client": names.of_member(row),
        "of_client": f" of {names.of_member(row)}" if has_client else "",
        "broker": row.broker,
        "request": row.request,
        "state": row.state,
        "generation": row.generation,
        "lasting": lasting(ms or 0),
        "keeping": "" if ms is None else f", its records kept for {lasting(ms)}",
        "detail": detail,
        "because": f": {detail}" if detail else "",
        "failing": f": {row.error}" if is_failing else "",
    }


def _places(rows: Sequence[Row]) -> str:
    if len(rows) > _LISTED_MAX:
        return f"{len(rows)} partitions"
    return listed([f"{row.topic}-{row.partition}" for row in rows])


def _records(rows: Sequence[Row]) -> str:
    if len(rows) == 1:
        return f"{rows[0].offset} to {(rows[0].end_offset or 1) - 1}"
    count = sum((row.end_offset or 0) - (row.offset or 0) for row in rows)
    return counted(count, "record")
