SELECT run, "group", topic, "partition", max(lag) AS lag, max(lag_ms) AS lag_ms
FROM looks_at_lag GROUP BY ALL
