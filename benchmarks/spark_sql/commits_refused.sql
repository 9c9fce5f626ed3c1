SELECT e.run, e."group", coalesce(e.client, name_of(names, e.member)) AS client,
    coalesce(e.error, 'UNKNOWN') AS error, count(*) AS count
FROM events e LEFT JOIN names USING (run)
WHERE e.kind = 'commit_refused'
GROUP BY ALL
