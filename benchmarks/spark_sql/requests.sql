SELECT run, "group", request, if(kind = 'reply_received', error, 'LOST') AS error,
    count(*) AS requests,
    quantile_cont(if(kind = 'reply_received', duration_ms, NULL), 0.5) AS p50_ms,
    quantile_cont(if(kind = 'reply_received', duration_ms, NULL), 0.99) AS p99_ms,
    max(if(kind = 'reply_received', duration_ms, NULL)) AS max_ms
FROM events WHERE kind IN ('reply_received', 'request_lost', 'reply_lost')
GROUP BY ALL
