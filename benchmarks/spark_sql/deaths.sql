WITH died AS (
    SELECT run, client, seq, at_ms FROM events
    WHERE kind = 'consumer_crashed' OR (kind = 'consumer_stopped'
        AND (error IS NOT NULL OR detail = 'without closing'))
)
SELECT s.run, s."group", s.client, s.member, min(d.at_ms) AS crashed_ms,
    max(s.left_ms) AS removed_ms, max(s.reason) AS reason
FROM member_sessions s JOIN died d USING (run, client)
WHERE d.seq > s.from_seq AND (s.to_seq IS NULL OR d.seq < s.to_seq)
  AND (s.ended_by IS NULL OR s.ended_by != 'member_replaced')
GROUP BY s.run, s."group", s.client, s.member, s.from_seq
