SELECT run, "group", topic, "partition", unowned_from_ms, unowned_until_ms, last_owner, next_owner
FROM (
    SELECT *, if(NOT is_open, last.owned_until_ms, NULL) AS unowned_from_ms,
        last.client AS last_owner
    FROM (
        SELECT *,
            max(owned_until_ms IS NULL) OVER so_far AS is_open,
            max(CASE WHEN owned_until_ms IS NOT NULL
                THEN {'owned_until_ms': owned_until_ms, 'client': client} END) OVER so_far AS last,
            lead(owned_from_ms) OVER in_order AS unowned_until_ms,
            lead(client) OVER in_order AS next_owner
        FROM intervals
        WINDOW in_order AS (PARTITION BY run, "group", topic, "partition" ORDER BY seq),
            so_far AS (PARTITION BY run, "group", topic, "partition" ORDER BY seq
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
    )
)
WHERE unowned_until_ms > unowned_from_ms
   OR (unowned_until_ms IS NULL AND unowned_from_ms IS NOT NULL)
