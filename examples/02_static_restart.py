"""A static member that restarts within its session causes no rebalance; its old self is fenced."""

from freezegun import freeze_time

from coordinator import LocalCoordinator

with freeze_time("2026-01-01") as clock:
    broker = LocalCoordinator(group_initial_rebalance_delay_ms=0)
    (before,) = broker.stable_group("orders", "pod", group_instance_id="pod-1")

    clock.tick(20)  # the pod is replaced; its new process knows no member id
    after = broker.member_of(broker.join("orders", client_id="pod", group_instance_id="pod-1"))

    print("same generation:", before.generation_id == after.generation_id)
    print("another member id:", before.member_id != after.member_id)
    print("state:", broker.describe("orders").state)
    print("the old process hears:", broker.heartbeat(before).error.name)
    print("the new one hears:", broker.heartbeat(after).error.name)
