WITH rows AS MATERIALIZED (FROM readers),
ranges AS (FROM ranges_of('rows')),
rewinds AS (FROM rewinds_of('ranges')),
gaps AS (FROM gaps_of('ranges')),
pieces AS (
    SELECT run, "group", topic, "partition", life, gap, NULL AS seq, low, high FROM gaps
    UNION ALL
    SELECT r.run, r."group", r.topic, r."partition", r.life, gap, seq,
        greatest(g.low, r.low), least(g.high, r.high)
    FROM rewinds r JOIN gaps g USING (run, "group", topic, "partition", life)
    WHERE greatest(g.low, r.low) < least(g.high, r.high)
),
stretches AS (FROM stretches_of('pieces')),
never AS (
    SELECT run, "group", topic, "partition", life, s.low, s.high
    FROM pieces p JOIN stretches s USING (run, "group", topic, "partition", life, gap)
    WHERE s.low >= p.low AND s.high <= p.high
    GROUP BY run, "group", topic, "partition", life, gap, s.low, s.high
    HAVING max(p.seq) IS NULL
),
births AS (
    SELECT run, topic, life, list({'seq': seq, 'count': count}) AS partitions
    FROM (
        SELECT e.*, life_of(deletions, seq) AS life
        FROM events e LEFT JOIN deletions USING (run, topic)
        WHERE kind IN ('topic_created', 'partitions_added')
    )
    GROUP BY ALL
),
work AS (
    SELECT run, "group", min(seq) AS work_began
    FROM rows WHERE kind = 'partition_assigned' GROUP BY ALL
),
born AS (
    SELECT rows.*,
        list_min(list_transform(list_filter(partitions, lambda b: b.count > "partition"),
            lambda b: b.seq)) > work_began AS is_young
    FROM rows LEFT JOIN births USING (run, topic, life) LEFT JOIN work USING (run, "group")
),
bases AS (
    SELECT run, "group", topic, "partition", life,
        arg_min(CASE
            WHEN is_reader AND kind IN ('position_set', 'records_returned') AND "offset" IS NOT NULL
                THEN "offset"
            WHEN kind = 'partition_assigned' AND is_young THEN 0 END, seq) AS base,
        coalesce(max(CASE WHEN kind = 'records_processed' AND "offset" < end_offset
            THEN end_offset END), 0) AS reached,
        count(ended) AS ends
    FROM born GROUP BY ALL
    HAVING base IS NOT NULL AND ends = 0
),
known AS (
    SELECT b.*, committed
    FROM bases b JOIN committed_offsets USING (run, "group", topic, "partition")
),
missing AS (
    SELECT * FROM (
        SELECT run, "group", topic, "partition", life, greatest(low, base) AS low,
            least(high, committed) AS high
        FROM (
            FROM never
            UNION ALL
            SELECT run, "group", topic, "partition", life, reached, committed FROM known
        ) JOIN known USING (run, "group", topic, "partition", life)
    )
    WHERE low < high
),
based AS (
    SELECT *, coalesce(bool_or(
        (is_reader AND kind IN ('position_set', 'records_returned'))
        OR (kind = 'partition_assigned' AND coalesce(is_young, false))) OVER (
        PARTITION BY run, "group", topic, "partition", life ORDER BY seq
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), false) AS had_base
    FROM born
),
dropped AS (
    SELECT *, kind = 'position_set' AND is_reader AND "offset" > reached AND had_base
        AND NOT starts_with(coalesce(detail, ''), 'committed') AS is_jump
    FROM based
),
blames AS (
    SELECT run, "group", topic, "partition", life, list(blame) AS blames
    FROM (
        SELECT run, "group", topic, "partition", life, {'seq': seq, 'in_hand': false,
            'reason': if(is_jump,
                concat(client, ' went from ', reached, ' to ', "offset", ': ', detail),
                concat(client, ' ', how_it_ended(kind), ' with them in hand')),
            'low': if(is_jump, reached, in_hand_from),
            'high': if(is_jump, "offset", in_hand_end)} AS blame
        FROM dropped
        WHERE is_jump OR (kind IN ('consumer_crashed', 'consumer_stopped') AND has_in_hand)
        UNION ALL
        SELECT run, "group", topic, "partition", life, {'seq': 9223372036854775807,
            'in_hand': true, 'reason': NULL, 'low': last.low, 'high': last.high}
        FROM (
            SELECT run, "group", topic, "partition", life,
                arg_max({'kind': kind, 'has_in_hand': has_in_hand, 'low': in_hand_from,
                    'high': in_hand_end}, seq) AS last
            FROM rows GROUP BY run, "group", topic, "partition", life, client, tenure
        )
        WHERE last.has_in_hand AND last.kind NOT IN ('consumer_crashed', 'consumer_stopped')
    )
    GROUP BY ALL
),
cuts AS (
    SELECT run, "group", topic, "partition", life, blames, list_sort(list_distinct(list_concat(
        [low, high], list_filter(
            flatten(list_transform(blames, lambda b: [b.low, b.high])),
            lambda x: x > low AND x < high)))) AS cuts
    FROM missing LEFT JOIN blames USING (run, "group", topic, "partition", life)
),
cut AS (
    SELECT run, "group", topic, "partition", life, blames,
        unnest(list_zip(cuts[:-2], cuts[2:]), recursive := false) AS piece
    FROM cuts
),
last_blames AS (
    SELECT run, "group", topic, "partition", piece[1] AS low, piece[2] AS high,
        list_max(list_filter(blames, lambda b: b.low <= piece[1] AND b.high >= piece[2])) AS blame
    FROM cut
)
SELECT run, "group", topic, "partition",
    coalesce(blame.reason, 'committed before anyone had processed them') AS reason,
    sum(high - low) AS records
FROM last_blames
WHERE NOT coalesce(blame.in_hand, false)
GROUP BY ALL
