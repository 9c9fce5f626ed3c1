"""Faults in the consumer that its tests, or the random worlds, must notice."""

from __future__ import annotations

from tests.mutants.faults import Fault

CLIENT_FAULTS: tuple[Fault, ...] = (
    Fault(
        file="client/applications.py",
        line="partition: self._unfinished.get(partition, position)",
        faulty="partition: position",
        says="An application that was cut short commits its position, not what it processed.",
    ),
    Fault(
        file="client/applications.py",
        inside="keep",
        line="if self.next_offsets.get(partition) != after:",
        faulty="if False:",
        says="Results are kept although another member has written results since.",
    ),
    Fault(
        file="client/rebalancing.py",
        line="if commits.is_auto_commit and commits.before_rebalance is None:",
        faulty="if False:",
        says="The automatic commit before a revocation is forgotten.",
    ),
    Fault(
        file="client/rebalancing.py",
        line="dropped = [tp for tp in owned if tp.topic not in self.subscriptions.group_topics]",
        faulty="dropped = list(owned)",
        says="A cooperative member gives everything up before it joins.",
    ),
    Fault(
        file="client/rebalancing.py",
        line='self.membership.request_rejoin("need to revoke partitions and re-join")',
        faulty="pass",
        says="A cooperative member that has given something up does not join again.",
    ),
    Fault(
        file="client/rebalancing.py",
        line='error = await self._call("on_partitions_lost", owned)',
        faulty='error = await self._call("on_partitions_revoked", owned)',
        says="Partitions that are lost are told to the application as revoked.",
    ),
    Fault(
        file="client/joining.py",
        line="membership.generation = Generation(member_id=reply.member_id)",
        faulty="pass",
        says="The second join goes without the member id that the first was given.",
    ),
    Fault(
        file="client/joining.py",
        line="if action.reset is not Reset.NOTHING and self.membership.generation == sent:",
        faulty="if False:",
        says="A member whose generation is over goes on as if nothing had been said.",
    ),
    Fault(
        file="client/joining.py",
        line="elif generation.is_reset or membership.state is not",
        faulty="elif False and membership.state is not",
        says="An assignment is taken over although the generation was given up meanwhile.",
    ),
    Fault(
        file="client/membership.py",
        inside="reset_and_rejoin",
        line="self.needs_join_prepare = True",
        faulty="pass",
        says="A member that is thrown out keeps what it owned until the next assignment.",
    ),
    Fault(
        file="client/membership.py",
        line="return operation == CloseOperation.DEFAULT and not self.config.is_static",
        faulty="return operation == CloseOperation.DEFAULT",
        says="A static member leaves its group when it is closed.",
    ),
    Fault(
        file="client/heartbeats.py",
        inside="_turn",
        line="elif heartbeat.poll_expired(now_ms):",
        faulty="elif False:",
        says="A member whose application does not poll stays in its group.",
    ),
    Fault(
        file="client/heartbeats.py",
        inside="_turn",
        line="await membership.client.poll_no_wakeup()",
        faulty="pass",
        says="While the application is in a callback, nobody reads the answers to heartbeats.",
    ),
    Fault(
        file="client/heartbeats.py",
        inside="_turn",
        line="membership.discovery.mark_unknown(is_disconnected=False)",
        faulty="pass",
        says="A coordinator that has been silent for a whole session is still believed in.",
    ),
    Fault(
        file="client/commits.py",
        inside="_send",
        line="sent, instance_id = stable, self.config.group_instance_id",
        faulty="sent, instance_id = stable, None",
        says="A static member commits without saying which instance it is.",
    ),
    Fault(
        file="client/commits.py",
        inside="_send",
        line="stable = self.membership.generation_if_stable",
        faulty="stable = self.membership.generation",
        says="A member commits in the middle of a rebalance.",
    ),
    Fault(
        file="client/commits.py",
        inside="close",
        line="if self.is_auto_commit:",
        faulty="if False:",
        says="Closing forgets the last automatic commit.",
    ),
    Fault(
        file="client/committed.py",
        line="FetchPosition(committed.offset, committed.leader_epoch, leader)",
        faulty="FetchPosition(committed.offset + 1, committed.leader_epoch, leader)",
        says="Reading begins one record after what was committed.",
    ),
    Fault(
        file="client/committed.py",
        line="pending.partitions != wanted or pending.generation != generation",
        faulty="pending.partitions != wanted",
        says="Committed offsets that were asked for in an earlier generation are believed.",
    ),
    Fault(
        file="client/collecting.py",
        inside="_take",
        line="if fetch.next_fetch_offset != position.offset:",
        faulty="if False:",
        says="Records that were fetched before a seek are handed out after it.",
    ),
    Fault(
        file="client/subscription.py",
        line="or state.is_pending_revocation",
        faulty="",
        says="Partitions are read on while they are being given up.",
    ),
    Fault(
        file="client/positions.py",
        line="if not is_undefined and end.end_offset >= asked.offset:",
        faulty="if not is_undefined and end.end_offset > asked.offset:",
        says="A position at the very end of an epoch is taken for one that was cut off.",
    ),
    Fault(
        file="client/leading.py",
        line="return self._assigned_for is not None and not self._assigned_for.matches(self._seen)",
        faulty="return False",
        says="A leader does not notice that its topics have new partitions.",
    ),
)
