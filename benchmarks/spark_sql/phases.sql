SELECT run, "group", seq, phase.state AS state, phase.started_ms AS started_ms,
    phase.ended_ms AS ended_ms
FROM (SELECT run, "group", seq, unnest(phases) AS phase FROM all_rebalances)
