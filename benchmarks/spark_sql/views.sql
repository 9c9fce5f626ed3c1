-- What several questions are asked of. DuckDB puts a view's text where its name stands, so every
-- question still begins at the Parquet files; only `events` is made by the benchmark itself.

-- One row per run: the time of its last row.
CREATE VIEW run_ends AS
SELECT run, max(at_ms) AS until_ms FROM events GROUP BY run;

-- One row per run: the consumers behind its member ids.
CREATE VIEW names AS
SELECT run, map_from_entries(list({'k': member, 'v': client})) AS names
FROM (
    SELECT run, member, arg_max(client, seq) AS client
    FROM events
    WHERE kind IN ('member_id_given', 'member_added', 'member_replaced')
      AND member IS NOT NULL AND client IS NOT NULL
    GROUP BY run, member
)
GROUP BY run;

CREATE MACRO name_of(names, member) AS coalesce(names[member], member, 'nobody');
CREATE MACRO in_names(names, words) AS array_to_string(
    list_transform(
        regexp_extract_all(words, '[^\s,;]+|[\s,;]'), lambda word: coalesce(names[word], word)
    ),
    ''
);
CREATE MACRO before_mark(words, mark) AS split_part(words, mark, 1);
CREATE MACRO after_mark(words, mark) AS
CASE WHEN contains(words, mark) THEN words[length(split_part(words, mark, 1)) + length(mark) + 1:]
     ELSE '' END;

-- One row per topic that was ever deleted: when.
CREATE VIEW deletions AS
SELECT run, topic, list({'seq': seq, 'at_ms': at_ms} ORDER BY seq) AS deletions
FROM events WHERE kind = 'topic_deleted' GROUP BY run, topic;

CREATE MACRO life_of(deletions, seq) AS
coalesce(len(list_filter(deletions, lambda d: d.seq <= seq)), 0);
CREATE MACRO life_ended(deletions, seq) AS list_filter(deletions, lambda d: d.seq > seq)[1];

-- One row per stretch in which a group counted on a member, and why it ended.
CREATE VIEW member_sessions AS
WITH starts AS (
    SELECT DISTINCT run, "group", cause, true AS starts FROM events
    WHERE kind = 'state_changed' AND state = 'PreparingRebalance' AND cause IS NOT NULL
),
-- Static members that are back: the log has it at once if the group is at rest and stays so.
changed AS (
    SELECT e.*, e.kind = 'member_replaced' AND coalesce(e.state = 'Stable', false)
        AND starts IS NULL AS is_written
    FROM events e LEFT JOIN starts USING (run, "group", cause)
    WHERE e.kind IN ('member_added', 'member_replaced', 'member_removed')
),
own AS (
    SELECT run, "group", member, client, instance, seq, at_ms, kind, detail, is_written,
        true AS is_in
    FROM changed WHERE kind IN ('member_added', 'member_replaced')
    UNION ALL
    SELECT run, "group",
        if(kind = 'member_replaced', regexp_replace(detail, '^it replaced ', ''), member),
        client, instance, seq, at_ms, kind, detail, is_written, false
    FROM changed WHERE kind IN ('member_removed', 'member_replaced')
),
loads AS (
    SELECT run, "group", list({'load_seq': seq, 'rest_seq': rest, 'at_ms': at_ms} ORDER BY seq) AS loads
    FROM (
        SELECT *, coalesce(last_value(if(kind = 'state_changed', seq, NULL) IGNORE NULLS) OVER (
            PARTITION BY run, "group" ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0) AS rest
        FROM events
        WHERE (kind = 'state_changed' AND state IN ('Stable', 'Empty')) OR kind = 'group_loaded'
    )
    WHERE kind = 'group_loaded' GROUP BY run, "group"
),
voided AS (
    SELECT own.*,
        list_filter(loads, lambda l: l.rest_seq < own.seq AND own.seq < l.load_seq)[1] AS voided_by
    FROM own JOIN loads USING (run, "group")
    WHERE NOT is_written
),
undone AS (
    SELECT run, "group", member, client, instance, voided_by.load_seq AS seq,
        voided_by.at_ms AS at_ms, 'group_loaded' AS kind,
        'the coordinator moved before it was written down' AS detail, NOT is_in AS is_in
    FROM voided WHERE voided_by IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY run, "group", member, voided_by ORDER BY seq) = 1
),
changes AS (
    SELECT * FROM (FROM own UNION ALL BY NAME FROM undone)
    QUALIFY is_in != coalesce(
        lag(is_in) OVER (PARTITION BY run, "group", member ORDER BY seq), false)
)
SELECT run, "group", member, client, instance, seq AS from_seq, ending.seq AS to_seq,
    at_ms AS joined_ms, ending.at_ms AS left_ms, ending.kind AS ended_by, ending.detail AS reason
FROM (
    SELECT *, lead({'seq': seq, 'at_ms': at_ms, 'kind': kind, 'detail': detail}) OVER (
        PARTITION BY run, "group", member ORDER BY seq) AS ending
    FROM changes
)
WHERE is_in;

-- One row per stretch in which a member owned a partition.
CREATE VIEW intervals AS
SELECT * EXCLUDE kind FROM (
    SELECT run, "group", topic, "partition", seq, client, member, generation, kind,
        at_ms AS owned_from_ms, lead(at_ms) OVER w AS owned_until_ms, lead(kind) OVER w AS ended_by
    FROM events WHERE kind IN ('partition_assigned', 'partition_revoked', 'partition_lost')
    WINDOW w AS (PARTITION BY run, "group", topic, "partition", client ORDER BY seq)
)
WHERE kind = 'partition_assigned';

-- The commits whose write did not fail, nor was under way when the coordinator changed.
CREATE VIEW kept_commits AS
WITH written AS (
    SELECT run, cause, min(seq) AS written_seq
    FROM events WHERE kind = 'write_committed' GROUP BY run, cause
),
failures AS (
    SELECT run, list({'seq': seq, 'cause': coalesce(cause, 0)}) AS failures
    FROM events WHERE kind = 'write_failed' GROUP BY run
),
loads AS (
    SELECT run, "group", list(seq) AS loads
    FROM events WHERE kind = 'group_loaded' GROUP BY run, "group"
)
SELECT c.*
FROM events c
LEFT JOIN written w ON c.run = w.run AND c.cause = w.cause
LEFT JOIN failures f ON c.run = f.run
LEFT JOIN loads l ON c.run = l.run AND c."group" = l."group"
WHERE c.kind = 'offset_committed'
  AND NOT coalesce(len(list_filter(failures, lambda x: x.seq > c.seq
      AND (written_seq IS NULL OR x.seq < written_seq) AND x.cause <= c.cause)) > 0, false)
  AND NOT coalesce(c.cause IS NOT NULL AND len(list_filter(loads, lambda x: x > c.seq
      AND (written_seq IS NULL OR x < written_seq))) > 0, false);

-- One row per partition for which a group has an offset when the run ends.
CREATE VIEW committed_offsets AS
WITH said AS (
    SELECT run, "group", topic, "partition", seq, "offset" FROM kept_commits
    UNION ALL
    SELECT run, "group", topic, "partition", seq, NULL FROM events WHERE kind = 'offset_removed'
)
SELECT run, "group", topic, "partition", arg_max_null("offset", seq) AS committed
FROM said LEFT JOIN deletions USING (run, topic)
WHERE life_ended(deletions, seq) IS NULL
GROUP BY run, "group", topic, "partition"
HAVING committed IS NOT NULL;

-- One row per look at a partition: where its reader stood, and how far behind that was.
CREATE VIEW looks_at_lag AS
WITH moves AS (
    SELECT e.run, e."group", e.topic, e."partition", life_of(deletions, e.seq) AS life,
        life_ended(deletions, e.seq) AS ended, e.client, e.kind, e.seq, e.at_ms,
        if(e.kind = 'records_returned', e.end_offset, e."offset") AS position
    FROM events e LEFT JOIN deletions USING (run, topic)
    WHERE e.kind IN ('fetch_started', 'records_returned', 'position_set') AND e."group" IS NOT NULL
      AND position IS NOT NULL
),
begun AS (
    SELECT *, if(kind = 'fetch_started' OR row_number() OVER (
        PARTITION BY run, "group", topic, "partition", life ORDER BY seq) = 1, client, NULL) AS began
    FROM moves
),
read AS (
    SELECT * FROM begun
    QUALIFY client = last_value(began IGNORE NULLS) OVER (
        PARTITION BY run, "group", topic, "partition", life ORDER BY seq
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
followed AS (
    SELECT *, coalesce(
        lead({'seq': seq, 'at_ms': at_ms}) OVER (
            PARTITION BY run, "group", topic, "partition", life ORDER BY seq),
        {'seq': ended.seq, 'at_ms': ended.at_ms}) AS following
    FROM read
),
looks AS (
    SELECT run, "group", topic, "partition", life, position, seq, at_ms FROM followed
    UNION ALL
    SELECT run, "group", topic, "partition", life, position,
        coalesce(following.seq, 9223372036854775807), coalesce(following.at_ms, until_ms)
    FROM followed JOIN run_ends USING (run)
),
growths AS (
    SELECT run, topic, "partition", life, seq, at_ms, "offset" AS position,
        {'at_ms': at_ms, 'offset': "offset", 'count': count, 'duration_ms': duration_ms,
         'next_ms': lead(at_ms) OVER (PARTITION BY run, topic, "partition", life ORDER BY seq)}
            AS growth
    FROM (
        SELECT e.*, life_of(deletions, seq) AS life
        FROM events e LEFT JOIN deletions USING (run, topic) WHERE kind = 'log_rate_changed'
    )
),
beside AS (
    SELECT run, topic, "partition", life, "group", position, seq, at_ms, 1 AS is_look,
        NULL AS growth
    FROM looks
    UNION ALL BY NAME
    SELECT *, 0 AS is_look FROM growths
),
known AS (
    SELECT *,
        last_value(growth IGNORE NULLS) OVER by_time AS latest,
        last_value(growth IGNORE NULLS) OVER by_offset AS writer,
        first_value(growth IGNORE NULLS) OVER by_time AS oldest
    FROM beside
    WINDOW by_time AS (PARTITION BY run, topic, "partition", life ORDER BY seq, is_look
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
        by_offset AS (PARTITION BY run, topic, "partition", life ORDER BY position, is_look, seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
measured AS (
    SELECT *,
        latest."offset" + ((at_ms - latest.at_ms) * latest.count) // latest.duration_ms AS log_end,
        coalesce(least(if(writer.count > 0, writer.at_ms + ((position + 1 - writer."offset")
            * writer.duration_ms + writer.count - 1) // writer.count, NULL), writer.next_ms),
            oldest.at_ms) AS written_ms
    FROM known WHERE is_look = 1
)
SELECT run, "group", topic, "partition", at_ms, position, log_end,
    if(log_end > position, log_end - position, 0) AS lag,
    if(log_end > position, at_ms - written_ms, 0) AS lag_ms
FROM measured;

-- One row per event about a partition's records or readers, with what the reader is then.
CREATE VIEW readers AS
WITH places AS (
    SELECT DISTINCT run, "group", topic, "partition", client FROM events
    WHERE kind = 'partition_assigned'
      AND "group" IS NOT NULL AND topic IS NOT NULL AND "partition" IS NOT NULL
),
concerning AS (
    SELECT run, "group", topic, "partition", client, seq, at_ms, kind, "offset", end_offset, error,
        detail
    FROM events
    WHERE kind IN ('partition_assigned', 'position_set', 'records_returned', 'records_processed',
        'partition_revoked', 'partition_lost', 'commit_failed', 'offset_committed',
        'offset_removed')
      AND "group" IS NOT NULL AND topic IS NOT NULL AND "partition" IS NOT NULL
    UNION ALL
    SELECT e.run, p."group", p.topic, p."partition", client, e.seq, e.at_ms, e.kind, e."offset",
        e.end_offset, e.error, e.detail
    FROM events e JOIN places p USING (run, client)
    WHERE e.kind IN ('consumer_crashed', 'consumer_stopped')
),
living AS (
    SELECT c.*, life_of(deletions, seq) AS life, life_ended(deletions, seq) AS ended,
        kind = 'records_returned' AND "offset" IS NOT NULL AND end_offset IS NOT NULL AS is_handed
    FROM concerning c LEFT JOIN deletions USING (run, topic)
),
tenures AS (
    SELECT *, coalesce(count_if(kind IN ('consumer_crashed', 'consumer_stopped')) OVER (
        PARTITION BY run, "group", topic, "partition", life, client ORDER BY seq
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS tenure
    FROM living
),
stays AS (
    SELECT *, count_if(kind = 'partition_assigned') OVER so_far AS stay,
        stay > 0 AS is_reader, count_if(is_handed) OVER so_far AS handed
    FROM tenures
    WINDOW so_far AS (PARTITION BY run, "group", topic, "partition", life, client, tenure
        ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
polls AS (
    SELECT *,
        bool_or(is_handed) OVER of_stay AS has_read,
        NOT bool_or(kind IN ('partition_revoked', 'partition_lost')) OVER of_stay AS is_reading,
        first_value(if(kind = 'records_returned', end_offset, NULL)) OVER of_poll AS in_hand_end,
        max(if(kind = 'records_processed', end_offset, NULL)) OVER whole_poll AS done_to,
        is_reader AND kind = 'records_returned' AND row_number() OVER of_poll = 1 AS is_new
    FROM stays
    WINDOW of_stay AS (PARTITION BY run, "group", topic, "partition", life, client, tenure, stay
            ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
        of_poll AS (PARTITION BY run, "group", topic, "partition", life, client, tenure, handed
            ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
        whole_poll AS (PARTITION BY run, "group", topic, "partition", life, client, tenure, handed)
),
finished AS (
    SELECT *,
        lag({'at_ms': at_ms, 'finished': coalesce(done_to >= in_hand_end, false)}) OVER (
            PARTITION BY run, "group", topic, "partition", life, client, tenure, is_new
            ORDER BY seq) AS last
    FROM polls
),
batches AS (
    SELECT *, count_if(is_new AND (last IS NULL OR last.at_ms != at_ms OR last.finished)) OVER (
        PARTITION BY run, "group", topic, "partition", life, client, tenure ORDER BY seq
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS batch
    FROM finished
),
in_hand AS (
    SELECT *, greatest(
        min(if(is_new, "offset", NULL)) OVER so_far,
        max(if(kind = 'records_processed', end_offset, NULL)) OVER so_far) AS in_hand_from
    FROM batches
    WINDOW so_far AS (PARTITION BY run, "group", topic, "partition", life, client, tenure, batch
        ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)
SELECT run, "group", topic, "partition", life, ended, client, tenure, seq, at_ms, kind, "offset",
    end_offset, error, detail, is_reader, has_read, is_reading, in_hand_from, in_hand_end,
    is_reader AND batch > 0 AND coalesce(in_hand_from < in_hand_end, false) AS has_in_hand,
    coalesce(max(CASE WHEN NOT is_reader THEN NULL
                      WHEN kind = 'position_set' THEN coalesce("offset", 0)
                      WHEN kind = 'records_returned' AND "offset" IS NOT NULL THEN end_offset END
        ) OVER (PARTITION BY run, "group", topic, "partition", life ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS reached
FROM in_hand;

-- One row per range that was processed, with how far anybody had come before. `rows` is the name of
-- what a question has kept of `readers`, so that it is computed once for it; so it is below.
CREATE MACRO ranges_of(rows) AS TABLE
SELECT run, "group", topic, "partition", life, seq, "offset", end_offset,
    coalesce(max(end_offset) OVER (
        PARTITION BY run, "group", topic, "partition", life ORDER BY seq
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS reached
FROM query_table(rows) WHERE kind = 'records_processed' AND "offset" < end_offset;

-- What ranges cover below the highest end before them, and what they leave out above it.
CREATE MACRO rewinds_of(ranges) AS TABLE
SELECT run, "group", topic, "partition", life, seq, "offset" AS low,
    least(end_offset, reached) AS high
FROM query_table(ranges) WHERE "offset" < reached;

CREATE MACRO gaps_of(ranges) AS TABLE
SELECT run, "group", topic, "partition", life, seq AS gap, reached AS low, "offset" AS high
FROM query_table(ranges) WHERE "offset" > reached;

-- Gaps, cut wherever any of these pieces begins or ends.
CREATE MACRO stretches_of(pieces) AS TABLE
WITH ends AS (
    SELECT run, "group", topic, "partition", life, gap, low FROM query_table(pieces)
    UNION
    SELECT run, "group", topic, "partition", life, gap, high FROM query_table(pieces)
)
SELECT *, lead(low) OVER (
    PARTITION BY run, "group", topic, "partition", life, gap ORDER BY low) AS high
FROM ends;

CREATE MACRO how_it_ended(kind) AS CASE kind
    WHEN 'partition_revoked' THEN 'gave the partition up'
    WHEN 'partition_lost' THEN 'lost the partition'
    WHEN 'consumer_crashed' THEN 'crashed'
    WHEN 'consumer_stopped' THEN 'stopped' END;

-- One row per group that waits for joins at the end: who is late, and who is pending.
CREATE VIEW late_members AS
WITH waiting AS (
    SELECT run, "group" FROM events
    WHERE kind IN ('state_changed', 'group_loaded', 'group_removed')
    GROUP BY run, "group"
    HAVING arg_max(kind, seq) = 'state_changed'
       AND arg_max_null(state, seq) = 'PreparingRebalance'
),
began AS (
    SELECT run, "group", max(seq) AS began FROM events
    WHERE (kind = 'state_changed' AND state = 'CompletingRebalance')
       OR kind IN ('group_loaded', 'group_created')
    GROUP BY run, "group"
),
steps AS (
    SELECT e.run, e."group", e.member,
        max(if(e.kind IN ('member_added', 'member_rejoined'), e.seq, NULL)) AS came,
        max(if(e.kind = 'member_id_given', e.seq, NULL)) AS given,
        max(if(e.kind = 'timer_fired', e.seq, NULL)) AS expired
    FROM events e JOIN waiting USING (run, "group")
    WHERE e.member IS NOT NULL GROUP BY e.run, e."group", e.member
),
present AS (
    SELECT run, "group", member, true AS is_in FROM member_sessions WHERE to_seq IS NULL
)
SELECT s.run, s."group",
    list_sort(list(name_of(names, s.member))
        FILTER (coalesce(is_in, false) AND coalesce(came, 0) < coalesce(began, 0))) AS late,
    list_sort(list(name_of(names, s.member))
        FILTER (given > greatest(coalesce(came, 0), coalesce(expired, 0)))) AS pending
FROM steps s
LEFT JOIN began USING (run, "group")
LEFT JOIN present USING (run, "group", member)
LEFT JOIN names ON s.run = names.run
GROUP BY s.run, s."group";

-- The rows that rebalances are told from, with the numbers of their rebalance and phase.
CREATE VIEW courses AS
WITH moving AS (
    SELECT e.*, until_ms, kind IN ('state_changed', 'group_loaded', 'group_removed') AS is_move,
        coalesce(kind = 'state_changed'
            AND state IN ('PreparingRebalance', 'CompletingRebalance'), false) AS is_moving
    FROM events e JOIN run_ends USING (run)
    WHERE kind IN ('state_changed', 'group_loaded', 'group_removed', 'member_added',
            'member_rejoined', 'member_replaced', 'member_removed', 'leader_elected',
            'join_phase_extended', 'join_phase_ended', 'partition_assigned')
       OR (kind = 'request_received' AND request = 'SyncGroup')
),
turning AS (
    SELECT *,
        coalesce(last_value(if(is_move, is_moving, NULL) IGNORE NULLS) OVER (
            PARTITION BY run, "group" ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), false) AS was_under_way,
        is_moving AND NOT was_under_way AS starts,
        is_moving OR (is_move AND was_under_way) AS turns,
        last_value(if(kind = 'leader_elected', member, NULL) IGNORE NULLS) OVER (
            PARTITION BY run, "group" ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS leader
    FROM moving
)
SELECT *, sum(starts::INT) OVER so_far AS course, sum(turns::INT) OVER so_far AS turn
FROM turning
WINDOW so_far AS (PARTITION BY run, "group" ORDER BY seq
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW);

-- One row per rebalance: cause, phases, who held it, what it moved.
CREATE VIEW all_rebalances AS
WITH numbered AS MATERIALIZED (FROM courses),
phased AS (
    SELECT *,
        first_value({'state': state, 'at_ms': at_ms, 'starts': starts, 'leader': leader})
            OVER so_far AS opened,
        last_value(CASE WHEN kind IN ('member_added', 'member_rejoined', 'member_replaced')
                THEN {'member': member, 'why': 'which joined last'}
            WHEN kind = 'member_removed' AND starts_with(detail, 'it left')
                THEN {'member': member, 'why': 'which left'} END IGNORE NULLS)
            OVER so_far AS last_note,
        lead({'seq': seq, 'at_ms': at_ms, 'kind': kind, 'state': state, 'detail': detail}) OVER (
            PARTITION BY run, "group", course, turns ORDER BY seq) AS ending
    FROM numbered WHERE course > 0
    WINDOW so_far AS (PARTITION BY run, "group", turn ORDER BY seq
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
synced AS (
    SELECT *, min(if(kind = 'request_received' AND member = opened.leader, at_ms, NULL))
        OVER (PARTITION BY run, "group", turn) AS synced_ms
    FROM phased
),
named AS (
    SELECT s.*, names,
        before_mark(detail, '; still awaited: ') AS told,
        after_mark(detail, '; still awaited: ') AS awaited,
        opened.state = 'PreparingRebalance' AND last_note IS NOT NULL
            AND starts_with(told, 'everyone') AS is_noted,
        if(NOT opened.starts AND opened.leader IS NOT NULL,
            concat('leader ', name_of(names, opened.leader)), 'the leader') AS its_leader,
        coalesce(ending.at_ms, until_ms) AS phase_ended_ms,
        turns AND is_moving AS is_phase
    FROM synced s LEFT JOIN names USING (run)
),
held AS (
    SELECT *, CASE
        WHEN kind = 'join_phase_ended'
                AND (is_noted OR awaited != '' OR NOT starts_with(told, 'everyone')) THEN {
            'duration_ms': at_ms - opened.at_ms, 'seq': -seq,
            'held_by': CASE
                WHEN starts_with(told, 'pending member ')
                    THEN in_names(names, regexp_replace(told, ' never came back$', ''))
                WHEN starts_with(told, 'session of ')
                    THEN in_names(names, regexp_replace(told, '^session of | expired$', '', 'g'))
                WHEN awaited != '' THEN in_names(names, awaited)
                WHEN is_noted THEN name_of(names, last_note.member)
                ELSE 'the initial delay' END,
            'held_why': CASE
                WHEN starts_with(told, 'pending member ') THEN 'which never came back'
                WHEN starts_with(told, 'session of ') THEN 'whose session expired'
                WHEN awaited != '' THEN 'awaited in vain'
                WHEN is_noted THEN last_note.why
                ELSE 'which gathers the first members' END,
            'held_from_ms': opened.at_ms, 'held_until_ms': at_ms}
        WHEN is_phase AND (ending.kind = 'group_loaded' OR ending.state = 'Dead') THEN {
            'duration_ms': ending.at_ms - opened.at_ms, 'seq': -ending.seq,
            'held_by': if(state = 'PreparingRebalance', 'the wait for joins',
                'the wait for the assignment'),
            'held_why': 'until the coordinator was another',
            'held_from_ms': opened.at_ms, 'held_until_ms': ending.at_ms}
        WHEN is_phase AND state = 'CompletingRebalance' AND ending IS NOT NULL THEN {
            'duration_ms': ending.at_ms - opened.at_ms, 'seq': -ending.seq,
            'held_by': its_leader,
            'held_why': CASE
                WHEN ending.state = 'PreparingRebalance' THEN concat(
                    'until ', in_names(names, before_mark(ending.detail, '; client reason: ')))
                ELSE 'which assigned' END,
            'held_from_ms': opened.at_ms, 'held_until_ms': ending.at_ms}
        END AS hold
    FROM named
),
told AS (
    SELECT run, "group", course,
        max(seq) FILTER (starts) AS seq,
        arg_max(cause, seq) FILTER (starts) AS cause,
        arg_max(in_names(names, before_mark(coalesce(detail, ''), '; client reason: ')), seq)
            FILTER (starts) AS reason,
        arg_max(after_mark(coalesce(detail, ''), '; client reason: '), seq) FILTER (starts)
            AS client_reason,
        arg_max(at_ms, seq) FILTER (starts) AS started_ms,
        arg_max(at_ms, seq) FILTER (turns AND NOT is_moving) AS ended_ms,
        arg_max(coalesce(state, 'Dead'), seq) FILTER (turns AND NOT is_moving) AS ended_in,
        max(until_ms) AS until_ms,
        arg_max_null(generation, seq) FILTER (turns) AS generation,
        arg_max_null(if(coalesce(starts OR state = 'PreparingRebalance', false), NULL, protocol),
            seq) FILTER (turns) AS protocol,
        arg_max_null(if(starts OR kind = 'state_changed', coalesce(count, 0), NULL), seq)
            FILTER (starts OR (turns AND NOT is_moving AND kind = 'state_changed')) AS members,
        list({'state': state, 'started_ms': at_ms, 'ended_ms': phase_ended_ms} ORDER BY seq)
            FILTER (is_phase) AS phases,
        coalesce(sum(phase_ended_ms - at_ms)
            FILTER (is_phase AND state = 'PreparingRebalance'), 0) AS awaiting_joins_ms,
        coalesce(sum(least(synced_ms, phase_ended_ms) - at_ms)
            FILTER (is_phase AND state = 'CompletingRebalance'), 0) AS awaiting_leader_ms,
        coalesce(sum(phase_ended_ms - least(synced_ms, phase_ended_ms))
            FILTER (is_phase AND state = 'CompletingRebalance'), 0) AS syncing_ms,
        max(hold) AS hold,
        arg_max_null(if(opened.state = 'CompletingRebalance', its_leader, NULL), seq) AS its_leader,
        arg_max_null(at_ms + duration_ms, seq) FILTER (starts OR kind = 'join_phase_extended'
            OR (is_phase AND state = 'PreparingRebalance')) AS deadline_ms
    FROM held GROUP BY run, "group", course
),
owners AS (
    SELECT *, lag(client) OVER (
        PARTITION BY run, "group", topic, "partition" ORDER BY seq) AS last_owner
    FROM numbered WHERE kind = 'partition_assigned' AND client IS NOT NULL
),
moved AS (
    SELECT run, "group", course, count_if(last_owner != next_owner) AS moved
    FROM (
        SELECT run, "group", topic, "partition", course, arg_min(last_owner, seq) AS last_owner,
            arg_max(client, seq) AS next_owner
        FROM owners GROUP BY run, "group", topic, "partition", course
    )
    GROUP BY run, "group", course
),
triggers AS (
    SELECT run, seq AS cause, coalesce(request, detail || ' timer', kind) AS trigger
    FROM events WHERE kind IN ('request_received', 'timer_fired', 'write_committed')
)
SELECT t.run, t."group", t.seq, trigger, reason,
    if(client_reason IN ('', 'not provided'), NULL, client_reason) AS client_reason,
    started_ms, ended_ms, ended_in,
    CASE WHEN ended_in IS NULL THEN CASE
        WHEN its_leader IS NOT NULL THEN concat(its_leader, ' to assign')
        WHEN array_to_string(late, ', ') != '' THEN array_to_string(late, ', ') || ' to join'
        WHEN array_to_string(pending, ', ') != '' THEN concat('pending ',
            array_to_string(pending, ', '), ' to come back with the member id')
        ELSE 'the initial delay, which gathers the first members' END END AS awaited,
    coalesce(ended_ms, until_ms) - started_ms AS duration_ms, generation, protocol, members,
    phases, awaiting_joins_ms, awaiting_leader_ms, syncing_ms, hold.held_by AS held_by,
    hold.held_why AS held_why, hold.held_from_ms AS held_from_ms,
    hold.held_until_ms AS held_until_ms, deadline_ms, coalesce(moved, 0) AS moved
FROM told t
LEFT JOIN moved USING (run, "group", course)
LEFT JOIN triggers g ON t.run = g.run AND t.cause = g.cause
LEFT JOIN late_members l ON t.run = l.run AND t."group" = l."group";
