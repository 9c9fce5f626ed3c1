WITH counts AS (
    SELECT e.run, e."group", coalesce(e.client, name_of(names, e.member)) AS client,
        count_if(e.kind = 'reply_sent')
            + coalesce(sum(if(e.kind = 'commits_repeated', e.count, NULL)), 0) AS accepted,
        coalesce(sum(if(e.kind = 'commits_repeated', e.count, NULL)), 0) AS repeated,
        count_if(e.kind = 'commit_refused') AS refused,
        count(DISTINCT if(e.kind = 'commit_failed' AND ends_with(e.error, 'Exception'), e.cause,
            NULL)) AS unanswered
    FROM events e LEFT JOIN names USING (run)
    WHERE (e.kind = 'reply_sent' AND e.request = 'OffsetCommit' AND e.error = 'NONE')
       OR e.kind IN ('commits_repeated', 'commit_refused', 'commit_failed')
    GROUP BY ALL
),
work AS (
    SELECT e.run, e."group", e.topic, e."partition", e.client, e.seq, e.at_ms, e.kind, e."offset",
        e.end_offset, life_of(deletions, e.seq) AS life, life_ended(deletions, e.seq) AS ended,
        if(e.kind = 'offset_committed', e."offset", e.end_offset) AS reached
    FROM (
        FROM events
        WHERE (kind = 'records_processed' AND client IS NOT NULL) OR kind = 'offset_removed'
        UNION ALL BY NAME FROM kept_commits
    ) e LEFT JOIN deletions USING (run, topic)
    WHERE e."group" IS NOT NULL AND e."partition" IS NOT NULL
),
known AS (
    SELECT *, last_value(CASE WHEN kind != 'records_processed' THEN {
        'offset': if(kind = 'offset_committed', "offset", NULL)} END IGNORE NULLS) OVER (
        PARTITION BY run, "group", topic, "partition", life ORDER BY seq
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last
    FROM work
),
broken AS (
    SELECT *, kind = 'offset_removed' OR coalesce(
        kind = 'offset_committed' AND "offset" < last."offset", false) AS is_break
    FROM known
),
rounds AS (
    SELECT *,
        count_if(is_break) OVER (PARTITION BY run, "group", topic, "partition", life ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS round,
        min(if(is_break, at_ms, NULL)) OVER (
            PARTITION BY run, "group", topic, "partition", life ORDER BY seq
            ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS broken_ms
    FROM broken
),
covered AS (
    SELECT *,
        first_value(if(kind = 'records_processed', "offset", NULL) IGNORE NULLS) OVER (
            PARTITION BY run, "group", topic, "partition", life, round ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS first,
        min(if(kind = 'offset_committed', at_ms, NULL)) OVER (
            PARTITION BY run, "group", topic, "partition", life, round ORDER BY reached NULLS FIRST
            RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS covered_ms
    FROM rounds
),
behind AS (
    SELECT run, "group", client,
        greatest(max(reached - coalesce(last."offset", first)), 0) AS uncommitted,
        greatest(max(least(coalesce(covered_ms, broken_ms, ended.at_ms), until_ms) - at_ms), 0)
            AS uncommitted_ms
    FROM covered JOIN run_ends USING (run)
    WHERE kind = 'records_processed' GROUP BY run, "group", client
)
SELECT run, "group", client, coalesce(accepted, 0) AS accepted, coalesce(repeated, 0) AS repeated,
    coalesce(refused, 0) AS refused, coalesce(unanswered, 0) AS unanswered,
    coalesce(accepted, 0) * 1000 / until_ms AS per_s, coalesce(uncommitted, 0) AS uncommitted,
    coalesce(uncommitted_ms, 0) AS uncommitted_ms
FROM counts FULL JOIN behind USING (run, "group", client) JOIN run_ends USING (run)
