"""Faults in the world, its measures and its checkers that the tests must notice."""

from __future__ import annotations

from tests.mutants.faults import Fault

SIMULATION_FAULTS: tuple[Fault, ...] = (
    # --- the world ---
    Fault(
        file="simulation/broker.py",
        line="free_ms = max(self._log_free_ms.get(shard, 0), now_ms + delay_ms)",
        faulty="free_ms = now_ms + delay_ms",
        says="A write overtakes an earlier one once the log is fast again.",
    ),
    Fault(
        file="simulation/broker.py",
        inside="_written",
        line="if life != self.life:",
        faulty="if False:",
        says="A broker that has crashed and come back answers for writes of its former life.",
    ),
    Fault(
        file="simulation/broker.py",
        inside="_log",
        line="log.append(records)",
        faulty="pass",
        says="What a coordinator writes is not in its log.",
    ),
    Fault(
        file="simulation/network.py",
        line="at_ms = connection.last_arrival_ms",
        faulty="pass",
        says="A request overtakes an earlier one of its connection.",
    ),
    Fault(
        file="simulation/network.py",
        line="if not broker.is_up or connection.broker_life != broker.life:",
        faulty="if not broker.is_up:",
        says="A request of a connection that was reset still reaches the broker.",
    ),
    Fault(
        file="simulation/consumer_host.py",
        inside="hear",
        line="is_heard = machine is not None and message.connection.is_open",
        faulty="is_heard = machine is not None",
        says="An answer is delivered after its connection was reset.",
    ),
    Fault(
        file="simulation/cluster.py",
        inside="broker_down",
        line="self._elect(now_ms)",
        faulty="pass",
        says="Nobody takes over the partitions of a broker that died.",
    ),
    Fault(
        file="simulation/cluster.py",
        inside="add_partitions",
        line="self.version += 1",
        faulty="pass",
        says="Consumers are shown a topic without its new partitions.",
    ),
    Fault(
        file="simulation/logs.py",
        line="return since_ms - (-(gained + 1) * every_ms // count)",
        faulty="return since_ms + (gained + 1) * every_ms // count",
        says="A record is delivered a millisecond before it is written.",
    ),
    Fault(
        file="simulation/logs.py",
        line="return max(self._start, self.end_at(now_ms - self.retention_ms))",
        faulty="return self.end_at(now_ms - self.retention_ms)",
        says="Records that were deleted come back when retention looks at the log.",
    ),
    Fault(
        file="simulation/offsets_log.py",
        line="latest.pop(key, None)",
        faulty="pass",
        says="Records of the offsets log are read in the order in which their keys first came.",
    ),
    Fault(
        file="simulation/faults.py",
        inside="_end",
        line="each.place.release()",
        faulty="pass",
        says="What waited on a link never arrives, though the link speaks again.",
    ),
    Fault(
        file="simulation/faults.py",
        inside="restart_broker",
        line="if leader is None:",
        faulty="if False:",
        says="A broker that comes back does not lead what nobody leads.",
    ),
    Fault(
        file="simulation/data_answers.py",
        line="if expected != epoch:",
        faulty="if False:",
        says="A fetch of a session that went on without it is answered as if it were the next.",
    ),
    Fault(
        file="simulation/producers.py",
        line="late_ms = int(partition * _MS_PER_S / Fraction(records_per_s)) if records_per_s",
        faulty="late_ms = 0 if records_per_s",
        says="A producer writes to all partitions in the same millisecond.",
    ),
    Fault(
        file="simulation/chance.py",
        inside="draw",
        line="z = (stream + k * _GOLDEN) & _MASK",
        faulty="z = (stream + k) & _MASK",
        says="Neighbouring draws of a stream begin next to each other.",
    ),
    # --- the record ---
    Fault(
        file="simulation/recorder.py",
        inside="close",
        line="self.before_closing(client)",
        faulty="pass",
        says="A row of heartbeats is written before those that were skipped are counted.",
    ),
    Fault(
        file="simulation/parquet_sink.py",
        inside="finish",
        line="if self._waiting:",
        faulty="if False:",
        says="The last rows of a run are not in its directory.",
    ),
    # --- quiet time ---
    Fault(
        file="simulation/lull.py",
        inside="due_before",
        line="return (before_ms - 1 - first_ms) // every_ms + 1",
        faulty="return (before_ms - 1 - first_ms) // every_ms",
        says="A calm forgets one automatic commit.",
    ),
    Fault(
        file="simulation/lull.py",
        inside="played",
        line="law.drawn(back, arrived_ms)",
        faulty="law.drawn(there, arrived_ms)",
        says="Answers in a calm take as long as requests would.",
    ),
    Fault(
        file="simulation/quiet.py",
        inside="_jump",
        line="self._tell_coordinator(lull, jump)",
        faulty="pass",
        says="After a calm the coordinator has not heard of the heartbeats in it.",
    ),
    Fault(
        file="simulation/quiet.py",
        inside="_move_consumer",
        line="heartbeat.received(jump.last_beat.heard_ms)",
        faulty="pass",
        says="After a calm a consumer believes that the coordinator was silent all the time.",
    ),
    Fault(
        file="simulation/quiet.py",
        line="and machine.calls.subscriptions.has_all_fetch_positions",
        faulty="and True",
        says="A member that still looks for a position is left alone.",
    ),
    # --- measures ---
    Fault(
        file="simulation/measures.py",
        line="return ordered[-(-len(ordered) * hundredths // 100) - 1]",
        faulty="return ordered[len(ordered) * hundredths // 100 - 1]",
        says="A percentile is the value below the one that it should be.",
    ),
    Fault(
        file="simulation/folds/ownership.py",
        inside="start",
        line="if self.since_ms is None:",
        faulty="if True:",
        says="A partition counts as unowned only since the last thing that happened to it.",
    ),
    Fault(
        file="simulation/folds/deliveries.py",
        inside="_on_processed",
        line="again = delivery.processed.add(row.offset, row.end_offset)",
        faulty="again = delivery.processed.add(row.offset + 1, row.end_offset)",
        says="The first record of what is processed together is not counted.",
    ),
    Fault(
        file="simulation/folds/lags.py",
        inside="_look",
        line="lag = log.end_at(now_ms) - progress.position",
        faulty="lag = log.end_at(now_ms) - progress.position - 1",
        says="A lag is one record too small.",
    ),
    Fault(
        file="simulation/folds/commits.py",
        inside="_on_failed",
        line="self._restore(self._unwritten.pop(cause))",
        faulty="self._unwritten.pop(cause)",
        says="A commit whose write failed counts as committed.",
    ),
    # --- checkers ---
    Fault(
        file="simulation/safety.py",
        inside="_on_processed",
        line="if who != self._who(stint.first) and who not in stint.blamed:",
        faulty="if False:",
        says="Nobody sees two members of one generation process the same partition.",
    ),
    Fault(
        file="simulation/safety.py",
        line="if before is None or row.offset >= (before.offset or 0):",
        faulty="if True:",
        says="Nobody sees a committed offset go back.",
    ),
    Fault(
        file="simulation/safety.py",
        line='if row.offset >= floor.offset or (row.detail or "").startswith("seek"):',
        faulty="if True:",
        says="Nobody sees that an acknowledged commit is gone.",
    ),
    Fault(
        file="simulation/liveness.py",
        inside="unrest",
        line="if state != GroupState.STABLE.value:",
        faulty="if state is None:",
        says="A group that rebalances for ever counts as being at rest.",
    ),
    Fault(
        file="simulation/liveness.py",
        line="if row.at_ms > self._due_ms or is_the_end:",
        faulty="if row.at_ms > self._due_ms:",
        says="Rest that is due with the end of a run is never asked for.",
    ),
    Fault(
        file="simulation/inspection.py",
        inside="check",
        line="check_all(broker.machine, had_fault=broker.id in self._faulty)",
        faulty="pass",
        says="A campaign does not look at the coordinators' own invariants.",
    ),
)
