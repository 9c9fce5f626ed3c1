from __future__ import annotations

from simulation.events import Row, WorldEventKind
from simulation.recorder import MemorySink, NoSink, Recorder


def test_events_are_numbered_from_one_and_can_name_each_other_as_cause():
    sink = MemorySink()
    recorder = Recorder(run="a-run", sink=sink)

    crash = recorder.record(WorldEventKind.CONSUMER_CRASHED, 20, None, client="ada")
    recorder.record(WorldEventKind.PARTITION_LOST, 20, crash, topic="orders", partition=3)

    assert sink.rows == [
        Row(seq=1, at_ms=20, kind="consumer_crashed", run="a-run", client="ada"),
        Row(
            seq=2,
            at_ms=20,
            kind="partition_lost",
            cause=1,
            run="a-run",
            topic="orders",
            partition=3,
        ),
    ]


def test_without_a_sink_events_are_still_numbered():
    recorder = Recorder(run="a-run", sink=NoSink())

    numbers = [recorder.record(WorldEventKind.RUN_STARTED, 0, None) for _ in range(3)]

    assert numbers == [1, 2, 3]
