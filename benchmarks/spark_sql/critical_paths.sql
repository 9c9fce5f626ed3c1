WITH RECURSIVE ends AS (
    SELECT run, "group", max(if(starts, seq, NULL)) AS start_seq,
        max(if(turns OR kind = 'join_phase_ended', seq, NULL)) AS end_seq
    FROM courses WHERE course > 0 GROUP BY run, "group", course
),
-- Rebalances are short: they are held against the rows nearby only, not all of their run.
near AS (
    SELECT *, unnest(generate_series(start_seq // 256, end_seq // 256)) AS stretch FROM ends
),
rows AS MATERIALIZED (
    SELECT n.run, n."group", start_seq, end_seq, e.seq, e.cause, e.at_ms, e.kind, e.client
    FROM near n JOIN events e ON n.run = e.run AND n.stretch = e.seq // 256
    WHERE e.seq BETWEEN start_seq AND end_seq
),
path AS (
    SELECT * FROM rows WHERE seq = end_seq
    UNION ALL
    SELECT r.* FROM path p JOIN rows r
        ON p.run = r.run AND p."group" = r."group" AND p.start_seq = r.start_seq AND p.cause = r.seq
),
steps AS (
    FROM path UNION FROM rows WHERE seq = start_seq
)
SELECT run, "group", start_seq, row_number() OVER w AS step, seq, at_ms, kind, client,
    coalesce(at_ms - lag(at_ms) OVER w, 0) AS waited_ms
FROM steps
WINDOW w AS (PARTITION BY run, "group", start_seq ORDER BY seq)
