SELECT run, "group", seq, state, generation, at_ms AS entered_ms,
    lead(at_ms) OVER (PARTITION BY run, "group" ORDER BY seq) AS left_ms, detail AS reason
FROM events WHERE kind IN ('group_created', 'group_loaded', 'state_changed')
