SELECT run, "partition", seq, broker, at_ms AS moved_ms,
    if(following.kind = 'shard_loaded', following.at_ms, NULL) AS loaded_ms,
    if(following.kind = 'shard_loaded', following.count, NULL) AS groups
FROM (
    SELECT *, lead({'kind': kind, 'at_ms': at_ms, 'count': count}) OVER (
        PARTITION BY run, "partition" ORDER BY seq) AS following
    FROM events WHERE kind IN ('coordinator_moved', 'shard_loaded')
)
WHERE kind = 'coordinator_moved'
