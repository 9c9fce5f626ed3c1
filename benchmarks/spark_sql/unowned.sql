WITH owners AS (
    SELECT DISTINCT run, "group", topic, "partition", client
    FROM events WHERE kind = 'partition_assigned' AND client IS NOT NULL
),
as_members AS (
    SELECT DISTINCT run, "group", topic, "partition", client, member
    FROM events WHERE kind = 'partition_assigned' AND client IS NOT NULL
),
concerning AS (
    SELECT run, "group", topic, "partition", client, seq, at_ms, kind, member, end_offset
    FROM events
    WHERE kind IN ('partition_assigned', 'fetch_started', 'records_returned', 'records_processed',
                   'partition_revoked', 'partition_lost')
      AND "group" IS NOT NULL AND topic IS NOT NULL AND "partition" IS NOT NULL
    UNION ALL
    SELECT e.run, o."group", o.topic, o."partition", e.client, e.seq, e.at_ms, e.kind, e.member,
        e.end_offset
    FROM events e JOIN owners o USING (run, client)
    WHERE e.kind IN ('consumer_started', 'consumer_stopped', 'consumer_crashed', 'consumer_paused',
                     'consumer_resumed')
    UNION ALL
    SELECT e.run, o."group", o.topic, o."partition", e.client, e.seq, e.at_ms, e.kind, e.member,
        e.end_offset
    FROM events e JOIN as_members o USING (run, client, member)
    WHERE e.kind = 'member_removed'
    UNION ALL
    SELECT e.run, e."group", o.topic, o."partition", o.client, e.seq, e.at_ms, e.kind, o.member,
        e.end_offset
    FROM events e JOIN as_members o ON e.run = o.run AND e."group" = o."group"
        AND o.member = regexp_replace(e.detail, '^it replaced ', '')
    WHERE e.kind = 'member_replaced'
    UNION ALL
    SELECT e.run, o."group", e.topic, o."partition", o.client, e.seq, e.at_ms, e.kind, e.member,
        e.end_offset
    FROM events e JOIN owners o USING (run, topic)
    WHERE e.kind = 'topic_deleted'
),
stints AS (
    SELECT *,
        count_if(kind = 'partition_assigned') OVER so_far AS stint,
        coalesce(last_value(CASE WHEN kind IN ('consumer_paused', 'consumer_resumed',
                'consumer_started', 'consumer_stopped', 'consumer_crashed')
            THEN kind = 'consumer_paused' END IGNORE NULLS) OVER so_far, false) AS is_paused
    FROM concerning
    WINDOW so_far AS (PARTITION BY run, "group", topic, "partition", client ORDER BY seq
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
owned AS (
    SELECT *,
        first_value(member) OVER so_far AS owner,
        bool_or(kind IN ('partition_revoked', 'partition_lost', 'consumer_started',
            'consumer_stopped', 'consumer_crashed', 'topic_deleted')) OVER so_far AS is_over,
        coalesce(bool_or(kind IN ('partition_revoked', 'partition_lost', 'consumer_started',
            'consumer_stopped', 'consumer_crashed', 'topic_deleted')) OVER earlier, false)
            AS was_over,
        bool_or(kind = 'fetch_started') OVER so_far AS is_fetching,
        count_if(kind = 'records_returned') OVER so_far AS batch
    FROM stints
    WINDOW so_far AS (PARTITION BY run, "group", topic, "partition", client, stint ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
        earlier AS (PARTITION BY run, "group", topic, "partition", client, stint ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
fenced AS (
    SELECT *,
        coalesce(kind IN ('member_removed', 'member_replaced') AND member = owner, false)
            AS is_fence,
        first_value(if(kind = 'records_returned', end_offset, NULL)) OVER (
            PARTITION BY run, "group", topic, "partition", client, stint, batch ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS in_hand_end
    FROM owned
),
done AS (
    SELECT *,
        bool_or(is_fence) OVER so_far AS is_fenced,
        coalesce(bool_or(is_fence) OVER earlier, false) AS was_fenced,
        coalesce(bool_or(kind = 'records_processed' AND end_offset >= in_hand_end)
            OVER of_batch, false) AS is_done,
        coalesce(bool_or(kind = 'records_processed' AND end_offset >= in_hand_end)
            OVER of_batch_earlier, false) AS was_done
    FROM fenced
    WINDOW so_far AS (PARTITION BY run, "group", topic, "partition", client, stint ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
        earlier AS (PARTITION BY run, "group", topic, "partition", client, stint ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
        of_batch AS (PARTITION BY run, "group", topic, "partition", client, stint, batch
            ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
        of_batch_earlier AS (PARTITION BY run, "group", topic, "partition", client, stint, batch
            ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
active AS (
    SELECT *, stint > 0 AND NOT is_over AND if(is_fenced,
        in_hand_end IS NOT NULL AND NOT is_done AND NOT is_paused, is_fetching) AS is_active
    FROM done
),
changes AS (
    SELECT *,
        is_active::INT - coalesce(lag(is_active::INT) OVER w, 0) AS active_change,
        (is_active AND NOT is_paused)::INT
            - coalesce(lag((is_active AND NOT is_paused)::INT) OVER w, 0) AS working_change
    FROM active
    WINDOW w AS (PARTITION BY run, "group", topic, "partition", client ORDER BY seq)
),
counted AS (
    -- A deleted topic concerns all its owners in one row, so rows of one `seq` count together.
    SELECT *, sum(active_change) OVER by_now AS active, sum(working_change) OVER by_now AS working,
        count_if(kind = 'topic_deleted') OVER by_now AS life
    FROM changes
    WINDOW by_now AS (PARTITION BY run, "group", topic, "partition" ORDER BY seq
        RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
steps AS (
    SELECT *,
        coalesce(bool_or(active > 0) OVER (
            PARTITION BY run, "group", topic, "partition", life ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), false) AS was_owned,
        lead(at_ms) OVER (PARTITION BY run, "group", topic, "partition" ORDER BY seq) AS next_ms
    FROM counted
    WHERE kind = 'topic_deleted' OR (stint > 0 AND NOT was_over AND (
        kind IN ('partition_assigned', 'fetch_started', 'partition_revoked', 'partition_lost',
            'consumer_started', 'consumer_stopped', 'consumer_crashed', 'consumer_paused',
            'consumer_resumed')
        OR (kind = 'records_processed' AND is_fenced AND is_done AND NOT was_done)
        OR (is_fence AND NOT was_fenced)))
)
SELECT run, "group", topic, "partition",
    sum(if(active = 0 AND was_owned, coalesce(next_ms, until_ms) - at_ms, 0)) AS unowned_ms,
    sum(if(working > 1, coalesce(next_ms, until_ms) - at_ms, 0)) AS dual_ms
FROM steps JOIN run_ends USING (run)
GROUP BY run, "group", topic, "partition"
