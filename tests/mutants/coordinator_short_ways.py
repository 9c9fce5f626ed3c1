"""Faults for what a group in order makes of a heartbeat or a commit in one go."""

from __future__ import annotations

from tests.mutants.faults import Fault

SHORT_WAY_FAULTS: tuple[Fault, ...] = (
    Fault(
        file="coordinator/shard.py",
        line="for change in self.journal.take_after(mark):",
        faulty="for change in ():",
        says="A failed write is not taken back.",
    ),
    Fault(
        file="coordinator/shard.py",
        line="mark = kept[-1].mark if kept else self.journal.dropped",
        faulty="mark = self.journal.dropped",
        says="A failed write takes back what earlier writes under way have changed.",
    ),
    Fault(
        file="coordinator/shard.py",
        line="for change in reversed(self.journal.changes):",
        faulty="for change in self.journal.changes:",
        says="Readers see an offset that a later write under way has replaced.",
    ),
    Fault(
        file="coordinator/shard.py",
        line="return evolve(value, leader_epoch=NO_PARTITION_LEADER_EPOCH, topic_id=ZERO_TOPIC_ID)",
        faulty="return value",
        says="An offset with an expiry of its own keeps its topic id when it is loaded.",
    ),
    Fault(
        file="coordinator/shard.py",
        inside="_still_has",
        line="or known.get((each.topic, each.partition)) is not value",
        faulty="",
        says="A commit that is sent again undoes what another has committed.",
    ),
    Fault(
        file="coordinator/shard.py",
        inside="_still_has",
        line="or found.topic_id != value.topic_id",
        faulty="",
        says="A commit that is sent again is of a topic that is gone.",
    ),
    Fault(
        file="coordinator/shard.py",
        inside="take_again",
        line="if self._standing.get(standing) is not topics:",
        faulty="if standing not in self._standing:",
        says="A commit that stands is not told when its topic goes.",
    ),
    Fault(
        file="coordinator/shard.py",
        inside="take_again",
        line="self._standing[standing] = topics",
        faulty="pass",
        says="A commit that stands is never written down.",
    ),
    Fault(
        file="coordinator/shard.py",
        inside="offsets",
        line="if self._standing:",
        faulty="if False:",
        says="Whoever looks at offsets does not see when they were committed again.",
    ),
)
