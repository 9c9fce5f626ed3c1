WITH told AS (
    SELECT *,
        last_value(if(kind = 'leader_elected', member, NULL) IGNORE NULLS) OVER so_far AS its_leader,
        last_value(CASE WHEN kind = 'protocol_selected' THEN
            {'generation': generation, 'detail': detail} END IGNORE NULLS) OVER so_far AS vote
    FROM events
    WHERE kind IN ('state_changed', 'group_loaded', 'group_removed', 'leader_elected',
        'protocol_selected')
    WINDOW so_far AS (PARTITION BY run, "group" ORDER BY seq
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
moves AS (
    SELECT *, lead({'kind': kind, 'state': state, 'at_ms': at_ms}) OVER (
        PARTITION BY run, "group" ORDER BY seq) AS following
    FROM told WHERE kind IN ('state_changed', 'group_loaded', 'group_removed')
)
SELECT m.run, m."group", m.seq, m.generation, name_of(names, its_leader) AS leader, m.protocol,
    CASE WHEN vote.generation = m.generation THEN map_from_entries(list_transform(
        string_split(vote.detail, '; '), lambda part: {
            'k': split_part(part, ': ', 1),
            'v': list_sort(list_transform(string_split(split_part(part, ': ', 2), ', '),
                lambda member: name_of(names, member)))})) END AS votes,
    m.count AS members, m.at_ms AS started_ms,
    if(following.kind = 'state_changed' AND following.state = 'Stable', following.at_ms, NULL)
        AS stable_ms
FROM moves m LEFT JOIN names USING (run)
WHERE m.kind = 'state_changed' AND m.state = 'CompletingRebalance'
