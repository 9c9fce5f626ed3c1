WITH rows AS MATERIALIZED (FROM readers),
ranges AS (FROM ranges_of('rows')),
rewinds AS (FROM rewinds_of('ranges')),
gaps AS (FROM gaps_of('ranges')),
pieces AS (
    SELECT r.run, r."group", r.topic, r."partition", r.life, gap, seq,
        greatest(g.low, r.low) AS low, least(g.high, r.high) AS high
    FROM rewinds r JOIN gaps g USING (run, "group", topic, "partition", life)
    WHERE greatest(g.low, r.low) < least(g.high, r.high)
),
stretches AS (FROM stretches_of('pieces')),
in_gaps AS (
    SELECT run, "group", topic, "partition", life, seq, sum(fresh) AS fresh
    FROM (
        SELECT p.*, if(p.seq > min(p.seq) OVER (
            PARTITION BY run, "group", topic, "partition", life, gap, s.low), 0, s.high - s.low)
            AS fresh
        FROM pieces p JOIN stretches s USING (run, "group", topic, "partition", life, gap)
        WHERE s.low >= p.low AND s.high <= p.high
    )
    GROUP BY ALL
),
again AS (
    SELECT run, "group", topic, "partition", life, seq, high - low - coalesce(fresh, 0) AS records
    FROM rewinds LEFT JOIN in_gaps USING (run, "group", topic, "partition", life, seq)
    WHERE records > 0
),
failing AS (
    SELECT *,
        last_value(CASE WHEN kind = 'position_set' AND is_reader THEN {
            'detail': coalesce(detail, ''), 'offset': coalesce("offset", 0), 'reached': reached}
            END IGNORE NULLS) OVER of_tenure AS began,
        last_value(CASE WHEN kind IN ('offset_committed', 'offset_removed') THEN {'detail':
            if(kind = 'offset_removed', coalesce(detail, 'forgotten'), NULL)} END IGNORE NULLS)
            OVER of_place AS forgotten,
        count_if(kind = 'commit_failed' AND "offset" IS NOT NULL) OVER of_life AS failures,
        is_reader AND kind IN ('partition_revoked', 'partition_lost', 'consumer_crashed',
            'consumer_stopped') AS is_candidate
    FROM rows
    WINDOW of_tenure AS (PARTITION BY run, "group", topic, "partition", life, client, tenure
            ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
        of_place AS (PARTITION BY run, "group", topic, "partition"
            ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
        of_life AS (PARTITION BY run, "group", topic, "partition", life
            ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
strong AS (
    SELECT *,
        first_value(CASE WHEN kind = 'commit_failed' AND "offset" IS NOT NULL
            THEN {'client': client, 'offset': "offset", 'error': error} END) OVER of_failure
            AS failed,
        is_candidate AND (
            if(kind IN ('consumer_crashed', 'consumer_stopped'),
                has_in_hand OR (is_reading AND has_read), has_read)
            OR count_if(is_candidate) OVER of_life = 1) AS is_strong
    FROM failing
    WINDOW of_failure AS (PARTITION BY run, "group", topic, "partition", life, failures
            ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
        of_life AS (PARTITION BY run, "group", topic, "partition", life
            ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
last_readers AS (
    SELECT *,
        bool_or(kind = 'offset_committed' AND "offset" >= failed."offset") OVER of_failure
            AS is_cleared,
        last_value(if(is_strong, client, NULL) IGNORE NULLS) OVER of_life AS last_reader
    FROM strong
    WINDOW of_failure AS (PARTITION BY run, "group", topic, "partition", life, failures
            ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
        of_life AS (PARTITION BY run, "group", topic, "partition", life
            ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
reasons AS (
    SELECT *,
        last_value(CASE WHEN is_strong OR (is_candidate AND client = last_reader
                AND kind IN ('consumer_crashed', 'consumer_stopped'))
            THEN {'client': client, 'how': how_it_ended(kind)} END IGNORE NULLS) OVER (
            PARTITION BY run, "group", topic, "partition", life ORDER BY seq
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS ending
    FROM last_readers
),
blamed AS (
    SELECT r.*, a.records
    FROM reasons r JOIN again a USING (run, "group", topic, "partition", life, seq)
),
readings AS (
    SELECT run, "group", topic, "partition", life, client AS other, came, seq AS from_seq, to_seq
    FROM (
        SELECT *,
            min(if(kind = 'partition_assigned', seq, NULL)) OVER (
                PARTITION BY run, "group", topic, "partition", life, client, tenure ORDER BY seq
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS came,
            lead(seq) OVER (
                PARTITION BY run, "group", topic, "partition", life, client ORDER BY seq) AS to_seq
        FROM rows
        WHERE kind IN ('partition_assigned', 'partition_revoked', 'partition_lost',
            'consumer_crashed', 'consumer_stopped')
    )
    WHERE kind = 'partition_assigned'
),
others AS (
    SELECT b.run, b."group", b.topic, b."partition", b.life, b.seq,
        arg_min({'other': other, 'from_seq': from_seq}, came) FILTER (other != b.client) AS first,
        max(from_seq) FILTER (other = b.client) AS came
    FROM blamed b JOIN readings USING (run, "group", topic, "partition", life)
    WHERE from_seq < b.seq AND (to_seq IS NULL OR b.seq < to_seq)
    GROUP BY ALL
)
SELECT b.run, b."group", b.topic, b."partition",
    CASE
        WHEN is_reader AND (starts_with(began.detail, 'seek') OR starts_with(began.detail, 'reset'))
            AND "offset" < began.reached
            THEN concat(client, ' went to ', began."offset", ': ', began.detail)
        WHEN forgotten.detail IS NOT NULL
            THEN concat('the committed offset was removed: ', forgotten.detail)
        WHEN NOT is_cleared AND failed."offset" > "offset"
            THEN concat('the commit of offset ', failed."offset", ' by ', failed.client, ' failed: ',
                failed.error)
        WHEN first.other IS NOT NULL THEN if(coalesce(came > first.from_seq, false),
            concat(first.other, ' had not committed them when ', client, ' took over'),
            concat(client, ' went on with them after ', first.other, ' had taken over'))
        WHEN ending IS NULL THEN concat(client, ' read them again')
        ELSE concat(ending.client, ' ', ending.how, ' before it had committed them')
    END AS reason,
    sum(records) AS records
FROM blamed b LEFT JOIN others USING (run, "group", topic, "partition", life, seq)
GROUP BY ALL
