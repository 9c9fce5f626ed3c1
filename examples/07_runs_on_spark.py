"""What a death costs under two session timeouts, asked of Spark: in frames, then in SQL."""

from pathlib import Path
from tempfile import TemporaryDirectory

from simulation.recording import record
from simulation.scenarios import Cluster, Crash, Group, Scenario, Topic, at
from spark_bridge import Timeline
from spark_bridge.session import local_session

# %% Play the same death twice, and keep the recordings.
scenario = Scenario(
    name="a_death",
    title="A consumer dies",
    cluster=Cluster(topics={"orders": Topic(partitions=6, records="6/s")}),
    groups={"checkout": Group(members=["ada", "bea", "cat"], subscribe="orders")},
    script=[at("20s", Crash("ada"))],
    run_for="2m",
)
folder = TemporaryDirectory()
for timeout in ("10s", "45s"):
    changed = scenario.with_overrides({"groups.checkout.settings.session_timeout_ms": timeout})
    record(changed, Path(folder.name, timeout), run=f"session of {timeout}")

# %% Read both, and look at their rebalances.
spark = local_session()
timeline = Timeline.read(spark, folder.name)
for row in timeline.rebalances().orderBy("run", "seq").collect():
    print(
        f"{row.run}: {row.reason}; {row.duration_ms} ms, held by {row.held_by}; moved {row.moved}"
    )

# %% The same runs in SQL.
timeline.create_views()
answer = spark.sql("""
    SELECT r.settings['groups.checkout.settings.session_timeout_ms'] AS timeout,
           max(u.unowned_ms) AS unowned_ms, max(g.lag) AS lag
    FROM runs r JOIN unowned u USING (run) JOIN greatest_lag g USING (run)
    GROUP BY timeout ORDER BY timeout
""")
for row in answer.collect():
    print(f"{row.timeout}: a partition unowned for {row.unowned_ms} ms, {row.lag} records behind")
folder.cleanup()
