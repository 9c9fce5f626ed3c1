WITH counts AS (
    SELECT run, "group", client,
        sum(CASE WHEN kind = 'heartbeats_answered' THEN count
                 WHEN kind = 'reply_received' THEN 1 END) AS beats,
        count_if(kind = 'reply_received' AND error != 'NONE') AS refused,
        count_if(kind = 'timer_fired') AS expired
    FROM events
    WHERE (kind = 'heartbeats_answered' OR (kind = 'reply_received' AND request = 'Heartbeat')
        OR (kind = 'timer_fired' AND detail = 'session'))
      AND "group" IS NOT NULL AND client IS NOT NULL
    GROUP BY ALL
),
signs AS (
    SELECT run, "group", member, client, seq, at_ms, kind, detail, duration_ms, count,
        kind = 'timer_fired' AS is_expiry, kind = 'member_removed' AS is_over,
        if(kind IN ('heartbeats_answered', 'commits_repeated'), coalesce(
            try_cast(regexp_extract(detail, '(\d+) ms$', 1) AS BIGINT), at_ms), at_ms) AS to_ms,
        to_ms - if(kind IN ('reply_sent', 'heartbeats_answered', 'commits_repeated'), duration_ms,
            0) AS from_ms
    FROM events
    WHERE ((kind = 'reply_sent' AND (
            (request IN ('JoinGroup', 'SyncGroup', 'Heartbeat', 'OffsetCommit') AND error = 'NONE')
            OR (request = 'Heartbeat' AND error = 'REBALANCE_IN_PROGRESS')))
        OR kind IN ('heartbeats_answered', 'commits_repeated', 'member_added', 'member_rejoined',
            'member_removed', 'member_replaced')
        OR (kind = 'timer_fired' AND detail = 'session'))
      AND "group" IS NOT NULL AND member IS NOT NULL
),
all_signs AS (
    FROM signs
    UNION ALL BY NAME
    SELECT * REPLACE (regexp_replace(detail, '^it replaced ', '') AS member, NULL AS client,
        true AS is_over)
    FROM signs WHERE kind = 'member_replaced'
),
loads AS (
    SELECT run, "group", list({'seq': seq, 'at_ms': at_ms}) AS loads
    FROM events WHERE kind = 'group_loaded' GROUP BY run, "group"
),
silences AS (
    SELECT s.run, s."group", seq, is_expiry,
        first_value(client IGNORE NULLS) OVER so_far AS client,
        last_value(if(kind IN ('member_added', 'member_rejoined', 'member_replaced')
            AND NOT is_over, duration_ms, NULL) IGNORE NULLS) OVER so_far AS timeout_ms,
        list_filter([
            if(is_expiry, duration_ms, greatest(from_ms - if(max(to_ms) OVER earlier IS NULL, NULL,
                greatest(max(to_ms) OVER earlier, list_max(list_transform(
                    list_filter(loads, lambda l: l.seq < s.seq), lambda l: l.at_ms)))), 0)),
            if(kind = 'heartbeats_answered' AND count > 1, duration_ms // (count - 1), NULL),
            if(lead(seq) OVER (PARTITION BY s.run, s."group", member ORDER BY seq) IS NULL
                    AND NOT is_over AND NOT is_expiry
                    AND kind NOT IN ('member_added', 'member_rejoined'),
                until_ms - greatest(max(to_ms) OVER so_far,
                    list_max(list_transform(loads, lambda l: l.at_ms))), NULL)
        ], lambda silence: silence IS NOT NULL) AS silences
    FROM all_signs s
    JOIN run_ends USING (run)
    LEFT JOIN loads l ON s.run = l.run AND s."group" = l."group"
    WINDOW so_far AS (PARTITION BY s.run, s."group", member ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
        earlier AS (PARTITION BY s.run, s."group", member ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
worst AS (
    SELECT run, "group", client, arg_max_null(timeout_ms, seq) AS session_timeout_ms,
        max(list_max(silences)) AS longest_silence_ms,
        min(timeout_ms - list_max(silences)) AS margin_ms,
        sum(if(is_expiry, NULL, len(list_filter(silences,
            lambda silence: silence * 3 >= timeout_ms * 2)))) AS near_misses
    FROM silences WHERE timeout_ms IS NOT NULL GROUP BY ALL
)
SELECT run, "group", client, coalesce(beats, 0) AS beats, coalesce(refused, 0) AS refused,
    coalesce(expired, 0) AS expired, session_timeout_ms, longest_silence_ms, margin_ms,
    coalesce(near_misses, 0) AS near_misses
FROM counts FULL JOIN worst USING (run, "group", client)
